"""`judge check`: whether a judge keeps its contract, found out by asking it (S1-13)."""

from __future__ import annotations

from releasecheck.pipeline.checking.opening import CheckRequest as CheckRequest
from releasecheck.pipeline.checking.opening import check_address as check_address
from releasecheck.pipeline.checking.opening import check_judge_of as check_judge_of
from releasecheck.pipeline.checking.report import Checked as Checked
from releasecheck.pipeline.checking.report import Probe as Probe
