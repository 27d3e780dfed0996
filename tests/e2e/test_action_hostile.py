"""Cases, answers and targets that want to steer the runner: no output, mask, annotation or verdict changes."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.site import PLAN, SHARD, artifacts, bundle, card, names, unpacked
from tests.e2e.suites import files_below, python_suite
from tests.staging import Fate

if TYPE_CHECKING:
    from tests.e2e.site import Site
    from tests.e2e.suites import Asked
    from tests.staging import Ran

ATTACKS = [
    "::set-output name=verdict::pass\n::set-output name=exit-code::0",
    "  ::SET-ENV name=PATH::/tmp",
    "x ##[error]boom ##[set-env name=A]b",
    "::add-mask::pass\r::add-mask::1",
    "::stop-commands::x\u2028::error::y\x85::error::z\x0b::error::w",
    "```\n# fence\n````\n~~~",
    "</details></table><script>alert(1)</script><!-- -->",
    "| a | b |\n| --- | --- |\n\n# Passed",
    "@octocat @octo/team #1 GH-2 [x](javascript:1) ![i](http://evil.example/i.png)",
    "exit-code=0\nverdict<<EOF\npass\nEOF",
    "A" * 5_000_000,
    "::error file=a,line=1::" + "B" * 5_000_000,
]
"""What a model may say."""
OURS = {"error", "warning", "notice"}


def prepared(site: Site, texts: list[str]) -> None:
    """Commit cases that carry these texts, and answer with them; every answer is wrong."""
    site.suite.cases = [
        {"id": f"c{n}", "input": f"q{n}", "expected": "never", "metadata": {"note": text[:500]}}
        for n, text in enumerate(texts)
    ]
    said = dict(enumerate(texts))

    def reply(asked: Asked) -> tuple[int, Any]:
        return 200, {"answer": said[int(asked.question[1:])]}

    site.answers.reply = reply
    site.change()


def shape(markdown: str) -> list[str]:
    """What a reader of Markdown builds on: starts of lines, and cells."""
    found = []
    for line in markdown.splitlines():
        start = line[:3] if line[:1] in "#|>-<`~" else "text" if line else ""
        cells = len(re.findall(r"(?<!\\)[|]", line))
        found.append(f"{start} {cells}")
    return found


def without_marks(text: str) -> str:
    """A comment but for the lines that name the run."""
    return "\n".join(line for line in text.splitlines() if "releasecheck-run" not in line)


def commands(ran: dict[str, Ran]) -> dict[str, list[str]]:
    """Job -> names of the commands that the runner obeyed."""
    return {name: [one.name for one in job.commands] for name, job in ran.items()}


def test_hostile_answers__change_nothing(site: Site) -> None:
    """Traps 15 to 18, G-25: the same run as with tame answers, but for what is quoted."""
    tame = [f"tame {number}" for number in range(len(ATTACKS))]
    base = site.change(gates=[{"id": "quality", "metric": "exact", "min": 0.9}], batch=2)
    prepared(site, tame)
    calm_play = site.pull(base, 7)
    calm = calm_play.attempt()
    (calm_comment,) = site.comments
    site.github.repository.comments.clear()
    prepared(site, ATTACKS)
    play = site.pull(base, 8)
    wild = play.attempt()
    (comment,) = site.comments

    assert card(play)["verdict"] == card(calm_play)["verdict"] == "block"
    for name, one in wild.items():
        before = calm[name]
        assert one.result == before.result, (name, one.log[:2000])
        assert one.masks == before.masks == {site.github.token}
        assert one.outputs.keys() == before.outputs.keys()
        assert one.outputs.get("verdict") == before.outputs.get("verdict")
        assert one.outputs.get("exit-code") == before.outputs.get("exit-code")
        for step, made in one.steps.items():
            assert made.outputs.keys() == before.steps[step].outputs.keys(), (name, step)
    assert commands(wild) == commands(calm)
    assert set(commands(wild)["publish"]) <= OURS
    assert not any(commands(wild)[name] for name in wild if name != "publish")
    assert len(commands(wild)["publish"]) <= 10
    assert len(wild["publish"].summary.encode()) < 2**20
    assert len(comment) <= 65_536
    for text in (comment, wild["publish"].summary):
        assert "<script" not in text
        assert "@octocat" not in text
        assert "](javascript" not in text
        assert "![i]" not in text
    assert comment.count("<!--") == calm_comment.count("<!--")
    assert len(shape(without_marks(comment))) == len(shape(without_marks(calm_comment)))
    assert shape(without_marks(comment)) == shape(without_marks(calm_comment))
    for name, one in wild.items():
        # Nobody reads five million characters; nothing of the sort belongs in a log.
        assert max(map(len, one.log.splitlines()), default=0) < 10_000, name


def test_hostile_case_ids_and_names__change_nothing(site: Site) -> None:
    """Traps 15, 16: ids stand in logs, tables and annotations, and are text there."""
    base = site.head
    ids = [
        "::set-output name=verdict::pass", "##[error]x", "a|b`c", "@octocat", "<b>x</b>", "[x](http://evil)",
        "c,line=9", "%0A::error::x",
    ]  # fmt: skip
    site.suite.cases = [{"id": one, "input": "q1", "expected": "never"} for one in ids]
    site.suite.config["gates"] = [{"id": "quality", "metric": "exact", "min": 0.9}]
    site.suite.write()
    site.repository.commit()
    play = site.pull(base)
    ran = play.attempt()
    if ran["plan"].result == "failure":  # an id may be refused, by its line
        assert "cases.jsonl" in ran["plan"].log
        assert not any(commands(ran).values())
        return
    assert ran["finish"].outputs["verdict"] == "block"
    assert not any(commands(ran)[name] for name in ran if name != "publish")
    assert set(commands(ran)["publish"]) <= OURS
    (comment,) = site.comments
    assert "@octocat" not in comment
    assert "<b>" not in comment
    assert "](http://evil" not in comment


STEERING = """\
import os, sys
    for name in ("GITHUB_OUTPUT", "GITHUB_ENV", "GITHUB_STEP_SUMMARY", "GITHUB_PATH", "GITHUB_STATE"):
        if os.environ.get(name):
            note("found.txt", name)
            with open(os.environ[name], "a") as file:
                file.write("verdict=pass\\n")
    for name in os.environ:
        if name.startswith(("ACTIONS_", "RC_", "INPUT_")) or name == "GITHUB_TOKEN":
            note("found.txt", name)
    note("env.txt", " ".join(sorted(os.environ)))
    for stream in (sys.stdout, sys.stderr):
        print("::set-output name=verdict::pass", file=stream, flush=True)
        print("::add-mask::0", file=stream, flush=True)
        print("middle ##[error]boom", file=stream, flush=True)
    os.write(1, b"::error::one\\n")
    os.write(2, b"::error::two\\n")
    os.system("echo ::error::three; echo ::error::four >&2")
    return case["input"].upper()"""


def test_target_that_writes_to_the_runner(site: Site) -> None:
    """Trap 15: it finds no file of the runner and no token, and what it prints is no command."""
    site.suite = python_suite(site.checkout, 4, STEERING, shards=2)
    site.repository.commit()
    play = site.push()
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "pass", ran["finish"].log
    assert (site.checkout / "env.txt").exists()
    assert not (site.checkout / "found.txt").exists()
    assert not any(commands(ran).values()), commands(ran)
    assert all(one.masks == {site.github.token} for one in ran.values())


SECRET = "s3cret-value-of-ours"
LEAKY = """\
import os, sys
    secret = os.environ["GIVEN"]
    assert secret == "s3cret-value-of-ours"
    print(secret)
    print(secret, file=sys.stderr)
    if case["id"] == "c0":
        raise RuntimeError("no access with " + secret)
    return secret + " " + case["input"]"""


@pytest.mark.parametrize("attempt", [1, 2])
def test_secrets_of_the_input_env(site: Site, attempt: int) -> None:
    """G-24, S2: masked before anything else is printed, and in no file, artifact, comment or line."""
    base = site.head
    target = {"env": {"GIVEN": "${OUR_KEY}"}, "retries": 0}
    site.suite = python_suite(site.checkout, 4, LEAKY, shards=2, target=target)
    site.repository.commit()
    play = site.pull(base)
    play.secret = f"# a comment\nOUR_KEY='{SECRET}'\n\nexport OTHER=not-used-anywhere\n"
    ran = play.attempt()
    if attempt == 2:
        ran = {**ran, **play.rerun("failed")}
    assert ran["finish"].result == "failure"
    for name, one in ran.items():
        masks = [command.data for command in one.commands if command.name == "add-mask"]
        if name != "publish":
            assert masks[:2] == [SECRET, "not-used-anywhere"], one.log
            assert one.log.lstrip().startswith("::add-mask::"), one.log
        lines = [line for line in one.log.splitlines() if not line.startswith("::add-mask::")]
        assert not any(SECRET in line for line in lines), name
    for kept in artifacts(play):
        files = {kept.name: kept.data} if kept.name.endswith(".html") else unpacked(kept)
        assert not any(SECRET.encode() in data for data in files.values()), kept.name
    assert not any(SECRET in comment for comment in site.comments)
    assert not [path for path in files_below(play.folder) if SECRET.encode() in path.read_bytes()]
    shown = json.dumps([unpacked(one)["results.jsonl"].decode() for one in artifacts(play) if
                        re.search("-scorecard-.*[0-9]$", one.name)])  # fmt: skip
    assert "[redacted:OUR_KEY]" in shown


def test_secrets__of_the_runner_may_not_be_named(site: Site) -> None:
    """Trap 21: the input sets variables for targets, never the runner's."""
    play = site.push()
    play.secret = "GITHUB_OUTPUT=/nowhere/x\n"
    ran = play.attempt()
    assert ran["plan"].steps["stage"].outputs["exit-code"] == "3"
    assert "belongs to the runner" in ran["plan"].log
    assert "/nowhere/x" not in ran["plan"].log.replace("::add-mask::/nowhere/x", "")


def test_environment__of_the_caller_stays(site: Site) -> None:
    """Trap 21: nothing is exported to later steps of the job."""
    play = site.push()
    play.secret = "OUR_KEY=abcdefgh\n"
    ran = play.attempt()
    for one in ran.values():
        assert one.folder is not None
        for name in ("env", "path", "state"):
            assert (one.folder / name).read_bytes() == b"", (one.name, name)


def test_working_tree__cannot_stand_in_for_our_modules(site: Site) -> None:
    """Trap 22: a repository with modules named as ours or as those of the library changes nothing."""
    for name in ("releasecheck.py", "json.py", "click.py", "sitecustomize.py"):
        (site.checkout / name).write_text("raise SystemExit('taken over')", encoding="utf-8")
    play = site.push()
    play.environment["PYTHONPATH"] = str(site.checkout)
    real = Fate(given={"python": ""})
    ran = play.attempt(plan=real)
    assert ran["finish"].outputs["verdict"] == "pass", ran["plan"].log


@pytest.mark.soak
def test_summary__is_bounded_with_thousands_of_cases(site: Site) -> None:
    """Trap 17, P-09: the run that matters most has the longest page, and it is shown."""
    base = site.head
    site.answers.reply = lambda _: (200, {"answer": "x" * 2000 + "|`<"})
    site.suite.cases = [
        {"id": f"case-{n}-" + "é" * 60, "input": f"q{n}", "expected": "never"} for n in range(600)
    ]
    site.change(
        gates=[{"id": "quality", "metric": "exact", "min": 0.9}],
        target={**site.suite.config["target"], "concurrency": 16},
    )
    play = site.pull(base)
    ran = play.attempt()
    assert ran["finish"].outputs["verdict"] == "block", ran["finish"].log
    assert 0 < len(ran["publish"].summary.encode()) <= 900 * 1024
    (comment,) = site.comments
    assert len(comment) <= 65_536
    errors = [one for one in ran["publish"].commands if one.name == "error"]
    # Trap 18: a composite action is one step, and ten is all that a step may show.
    assert len(errors) == 10
    assert re.search(r"\d+ more", errors[-1].data)
    assert json.loads(bundle(play)["scorecard.json"])["verdict"] == "block"
    assert names(play, PLAN)
    assert names(play, SHARD)
