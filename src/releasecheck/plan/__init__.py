"""Suite and cases to a frozen, sharded plan, and back: pure, everything comes as an argument."""

from releasecheck.plan.freeze import (
    PLAN_FILE,
    Circumstances,
    Frozen,
    case_file,
    freeze,
    plan_document,
)
from releasecheck.plan.identity import judge_identity, target_identity
from releasecheck.plan.lapsing import holding, over_by
from releasecheck.plan.revision import Revising, check_first, check_revision, revise
from releasecheck.plan.select import PREVIEW, Changed, Selected, select
from releasecheck.plan.shards import (
    MOST,
    ShardLimits,
    assign_shards,
    auto_shards,
    case_times,
    divide,
    whole_judge_concurrency,
)
from releasecheck.plan.verify import iterate_cases, read_plan, verify_plan

__all__ = [
    "MOST",
    "PLAN_FILE",
    "PREVIEW",
    "Changed",
    "Circumstances",
    "Frozen",
    "Revising",
    "Selected",
    "ShardLimits",
    "assign_shards",
    "auto_shards",
    "case_file",
    "case_times",
    "check_first",
    "check_revision",
    "divide",
    "freeze",
    "holding",
    "iterate_cases",
    "judge_identity",
    "over_by",
    "plan_document",
    "read_plan",
    "revise",
    "select",
    "target_identity",
    "verify_plan",
    "whole_judge_concurrency",
]
