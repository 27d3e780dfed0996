"""An example for each section of the reference; the tests of the pages read every one as a suite is read."""

from __future__ import annotations

from typing import Final

WHOLE: Final = """
version: 1
suite: billing
cases: [{path: cases/*.jsonl}]
target: {type: http, url: "http://127.0.0.1:8080/answer"}
judges: [{id: exact, type: exact}]
gates: [{id: quality, metric: exact, min: 0.85}]
"""
SECTIONS: Final = {
    "cases": """
cases:
  - {path: cases/main.jsonl}
  - {path: "cases/hard-*.csv", split: hard, fields: {id: key, input: question, expected: answer}}
""",
    "target": """
target:
  type: http
  url: http://127.0.0.1:${RELEASECHECK_PORT}/answer
  start: {run: [python, serve.py, "${RELEASECHECK_PORT}"], ready: /healthz}
  usage: {tokens: usage.total_tokens, cost_usd: usage.cost}
""",
    "judges": """
judges:
  - id: cites
    type: contains
    value: "[1]"
    input: text
    when: {tags: [sourced]}
    sentinels:
      - {id: with-source, output: {text: "So it is [1]."}, expect: pass}
      - {id: without, output: {text: "So it is."}, expect: fail}
""",
    "gates": """
gates:
  - {id: quality, metric: exact, min: 0.85}
  - {id: latency, metric: latency_ms, stat: p95, max: 2000}
  - {id: smoke, metric: exact, cases: {tags: [smoke]}, require: all}
  - {id: no-worse, metric: exact, no_regression: {max_drop: 0.02, decide: significant}}
""",
    "baseline": "baseline: {path: baseline, on_missing: bootstrap, anchor: last-release}",
    "settle": "settle: {interval: 30s, deadline: 1h, batch: 50, grace: 5m}",
    "budget": "budget: {cost_usd: 5.0, time: 45m}",
    "quarantine": """
quarantine:
  - {case: q17, owner: Ada, reason: "answers change from run to run", until: 2026-12-31}
""",
    "waivers": """
waivers:
  - {gate: quality, who: Ada, why: "the new wording was agreed on", until: 2026-12-31}
""",
    "together": """
extends: ../common.yaml
suite: billing
profiles:
  nightly: {trials: 5, budget: {cost_usd: 20}}
""",
}
TARGETS: Final = {
    "http": """
target:
  type: http
  url: http://127.0.0.1:8080/answer
  headers: {authorization: "Bearer ${API_TOKEN}"}
  body: {question: "{{ input }}"}
  output: answer.text
""",
    "command": """
target:
  type: command
  run: [node, answer.js]
  format: json
  memory_limit: 512MB
""",
    "python": """
target:
  type: python
  function: helpdesk.answering:answer
  interpreter: .venv/bin/python
""",
    "openai": """
target:
  type: openai
  base_url: https://api.openai.com/v1
  model: gpt-5
  api_key: ${OPENAI_API_KEY}
  messages:
    - {role: system, content: Answer in one sentence.}
    - {role: user, content: "{{ input }}"}
  params: {max_tokens: 300}
""",
    "plugin": """
target:
  type: plugin
  plugin: our-agent
  options: {model: large}
""",
}
JUDGES: Final = {
    "exact": "- {id: topic, type: exact, input: topic, normalize: [strip, casefold]}",
    "contains": '- {id: links, type: contains, input: text, value: "https://help.example/"}',
    "regex": "- {id: order-number, type: regex, pattern: 'A-\\d{6}', match: search}",
    "json-schema": "- {id: shape, type: json-schema, schema: {type: object, required: [topic]}}",
    "numeric": "- {id: total, type: numeric, tolerance: 0.1%, extract: true}",
    "similarity": "- {id: close, type: similarity, normalize: [casefold], pass_at: 0.8}",
    "recall": "- {id: finds, type: recall, k: 5, pass_at: 0.5}",
    "python": '- {id: polite, type: python, function: "judges:polite", scale: [0, 1]}',
    "command": "- {id: compiles, type: command, run: [python, compiles.py], timeout: 30s}",
    "http": """
- id: grounded
  type: http
  url: http://127.0.0.1:8090/score
  scale: [0, 1]
  pass_at: 0.7
  interval: 10s
  deadline: 30m
""",
    "langfuse": "- {id: helpful, type: langfuse, score: helpfulness, values: {good: 1, bad: 0}}",
    "llm": """
- id: correct
  type: llm
  base_url: https://api.openai.com/v1
  model: gpt-5-mini
  api_key: ${OPENAI_API_KEY}
  rubric: correctness
  votes: 3
  combine: majority
  pass_at: 0.5
""",
    "precomputed": "- {id: human, type: precomputed, path: scores.jsonl, wait: true, deadline: 2d}",
    "plugin": "- {id: brief, type: plugin, plugin: brief, options: {words: 40}}",
}
