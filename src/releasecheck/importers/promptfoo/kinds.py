"""The assertions of promptfoo: which are converted, and why the others are not."""

from __future__ import annotations

from typing import Final

IN_CASE: Final = (
    "equals", "contains", "icontains", "contains-all", "icontains-all", "contains-any",
    "icontains-any", "starts-with", "ends-with", "levenshtein", "word-count", "llm-rubric", "g-eval",
)  # fmt: skip
"""What they look for stands in the case, so that one judge serves all tests."""
OF_JUDGE: Final = ("regex", "is-json", "python")
"""What they look for stands in the judge: one judge for each different one."""
OF_RUN: Final = ("latency", "cost")
"""Become gates on what the runner measures itself."""
_OWN: Final = "write a judge of your own (type python, command or http) for what it checks"
_MODEL: Final = "its grading prompt is promptfoo's own"
REFUSED: Final = {
    "javascript": "nothing here runs JavaScript; turn it into a `python` assertion, or into a judge of type command that runs node",
    "webhook": "the webhook speaks another protocol; let it speak evaluator@2 and name it in a judge of type http",
    "ruby": "nothing here runs Ruby; a judge of type command can",
    "similar": "it compares embeddings, and the judge `similarity` compares characters, which is something else; write a judge of type python or http that embeds",
    "contains-json": "promptfoo finds JSON inside of prose in its own lenient way; ask for JSON alone and use is-json",
    "factuality": f"{_MODEL}; a judge `{{type: llm, rubric: correctness}}` asks a similar question",
    "model-graded-closedqa": f"{_MODEL}; write it as llm-rubric",
    "model-graded-factuality": f"{_MODEL}; a judge `{{type: llm, rubric: correctness}}` asks a similar question",
    "answer-relevance": "it compares embeddings of questions; a judge `{type: llm, rubric: relevance}` asks a similar question",
    "context-faithfulness": f"{_MODEL}; a judge `{{type: llm, rubric: faithfulness}}` asks a similar question",
    "context-recall": f"{_MODEL}; a judge `{{type: llm, rubric: context-recall}}` asks a similar question",
    "context-relevance": f"{_MODEL}; a judge `{{type: llm, rubric: context-precision}}` asks a similar question",
    "conversation-relevance": _MODEL,
    "select-best": "it compares several outputs with each other; a run here has one system under test",
    "max-score": "it compares several outputs with each other; a run here has one system under test",
} | dict.fromkeys(
    (
        "rouge-n", "bleu", "gleu", "meteor", "perplexity", "perplexity-score", "classifier", "moderation",
        "guardrails", "pi", "is-refusal", "is-sql", "contains-sql", "is-xml", "contains-xml", "is-html",
        "contains-html", "is-valid-function-call", "is-valid-openai-function-call",
        "is-valid-openai-tools-call", "tool-call-f1", "skill-used", "finish-reason", "trace-span-count",
        "trace-span-duration", "trace-error-spans", "search-rubric", "research-rubric", "agent-rubric",
        "video-rubric", "trajectory:tool-used", "trajectory:tool-args-match", "trajectory:tool-sequence",
        "trajectory:step-count", "trajectory:goal-success", "human",
    ),
    _OWN,
)  # fmt: skip
SET: Final = "assert-set"
KNOWN: Final = (*IN_CASE, *OF_JUDGE, *OF_RUN, SET, *REFUSED)
