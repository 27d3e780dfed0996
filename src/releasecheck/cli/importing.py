"""`releasecheck import`: suites and logs of other tools."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from releasecheck.cli.options import EXISTING, FOLDER, json_option

if TYPE_CHECKING:
    from collections.abc import Callable

    from releasecheck.importers.imported import Imported
    from releasecheck.pipeline.validate import Found

F = TypeVar("F", bound="Callable[..., Any]")
_OPTIONS: Final = (
    click.argument("file", type=EXISTING),
    click.option("--out", type=FOLDER, required=True, help="Folder to write the suite to."),
    click.option("--suite", help="Name of the suite; default: the file's name."),
    click.option(
        "--target",
        type=EXISTING,
        help="YAML file with the `target:` to ask, in place of what the file says.",
    ),
    json_option,
)


def _options(function: F) -> F:
    for option in reversed(_OPTIONS):
        function = option(function)
    return function


@click.group("import")
def command() -> None:
    """Convert a suite or a log of another tool; what cannot be converted is refused by name."""


@command.command("promptfoo", short_help="A config, a file of tests, or results of promptfoo.")
@_options
@click.option("--prompt", metavar="N|LABEL", help="Which prompt, where there are several.")
@click.option("--provider", metavar="N|LABEL", help="Which provider, where there are several.")
def promptfoo(
    *,
    file: Path,
    out: Path,
    suite: str | None,
    target: Path | None,
    as_json: bool,
    prompt: str | None,
    provider: str | None,
) -> int:
    """Convert a promptfooconfig (YAML, JSON), a file of tests (YAML, JSON, JSONL, CSV), or results.json.

    Results become a suite whose target replays the recorded answers, with the recorded scores.
    """
    from releasecheck.importers.promptfoo import Choice, import_promptfoo

    choice = Choice(suite, target, prompt, provider)
    return take(import_promptfoo(file, out, choice), out, as_json=as_json)


@command.command("openai-evals", short_help="Samples, a registry file or a log of openai/evals.")
@_options
@click.option(
    "--match",
    "match",
    type=click.Choice(["match", "includes", "fuzzy-match"]),
    help="Eval class of a file of samples.",
)
@click.option("--ignore-case", is_flag=True, help="As Includes does with `ignore_case`.")
@click.option("--eval", "name", metavar="NAME", help="Which eval of a registry file.")
def openai_evals(
    *,
    file: Path,
    out: Path,
    suite: str | None,
    target: Path | None,
    as_json: bool,
    match: str | None,
    ignore_case: bool,
    name: str | None,
) -> int:
    """Convert samples (`--match` says how they are judged), an eval of a registry file, or the log of a run.

    A log becomes a suite whose target replays the recorded completions, with the recorded scores.
    """
    from releasecheck.errors import UsageError
    from releasecheck.importers import openai_evals as evals
    from releasecheck.importers.openai_evals_log import import_log
    from releasecheck.importers.openai_evals_registry import registry_plan

    yaml = file.suffix.lower() in {".yaml", ".yml"}
    log = not yaml and evals.is_log(file)
    given = {"--match": match, "--ignore-case": ignore_case, "--eval": name, "--target": target}
    _only(
        file, given, {"--eval", "--target"} if yaml else set() if log else set(given) - {"--eval"}
    )
    if log:
        return take(import_log(file, suite), out, as_json=as_json)
    if yaml:
        plan = registry_plan(file, name, suite)
    elif match is None:
        message = f"{file}: samples do not say how they are judged; name the eval class with --match match, includes or fuzzy-match"
        raise UsageError(message)
    else:
        plan = evals.samples_plan(file, match, ignore_case=ignore_case, suite=suite)
    return take(evals.import_samples(plan, _target(target)), out, as_json=as_json)


@command.command("inspect", short_help="Samples or a log (.eval, .json) of Inspect.")
@_options
@click.option(
    "--field",
    "fields",
    multiple=True,
    metavar="OURS=THEIRS",
    help="Column of samples that holds id, input, target, metadata.",
)
@click.option(
    "--scorer",
    type=click.Choice(["match", "includes", "exact", "pattern", "none"]),
    help="How samples are judged.",
)
@click.option(
    "--location",
    type=click.Choice(["begin", "end", "any", "exact"]),
    default="end",
    help="Where `match` looks.",
    show_default=True,
)
@click.option("--case-sensitive", is_flag=True, help="Scorers ignore case otherwise.")
@click.option("--pattern", metavar="REGEX", help="Of `pattern`.")
@click.option(
    "--match-all", is_flag=True, help="Of `pattern`: every group must have caught a target."
)
@click.option(
    "--scores", type=EXISTING, help="Scores of a log's answers, as `precomputed_scores` has them."
)
@click.option(
    "--leave-out", multiple=True, metavar="SCORER", help="Scorer of a log that is not taken."
)
@click.option(
    "--lower-is-better",
    "lower",
    multiple=True,
    metavar="SCORER",
    help="Scorer of a log that improves downwards.",
)
def inspect(
    *,
    file: Path,
    out: Path,
    suite: str | None,
    target: Path | None,
    as_json: bool,
    fields: tuple[str, ...],
    scorer: str | None,
    leave_out: tuple[str, ...],
    lower: tuple[str, ...],
    scores: Path | None,
    **options: Any,  # noqa: ANN401 - the options of a scorer
) -> int:
    """Convert samples (`--scorer` says how they are judged), or the log of an eval.

    A log becomes a suite whose target replays the recorded answers and errors, with the recorded scores.
    """
    from releasecheck.errors import UsageError
    from releasecheck.importers import inspect_samples as samples
    from releasecheck.importers.inspect_log import import_log
    from releasecheck.importers.inspect_scorer import scorer_of

    ours = {
        "--field": fields,
        "--scorer": scorer,
        "--target": target,
        "--pattern": options["pattern"],
    }
    theirs = {"--leave-out": leave_out, "--lower-is-better": lower, "--scores": scores}
    log = samples.is_log(file)
    _only(file, {**ours, **theirs}, set(theirs if log else ours))
    if log:
        imported = import_log(file, suite, lower=lower, leave_out=leave_out, scores=scores)
        return take(imported, out, as_json=as_json)
    if scorer is None:
        message = f"{file}: samples do not say how they are judged; name Inspect's scorer with --scorer match, includes, exact or pattern, or `none` for scores that come later"
        raise UsageError(message)
    chosen = scorer_of(scorer, **options)
    imported = samples.import_samples(
        file, samples.field_map(fields), chosen, suite, _target(target)
    )
    return take(imported, out, as_json=as_json)


@command.command("lm-eval", short_help="Logged samples of lm-evaluation-harness.")
@_options
@click.option(
    "--results", type=EXISTING, help="The summary; default: results_DATE.json beside the samples."
)
@click.option(
    "--filter",
    "filter_",
    metavar="NAME",
    help="Whose answers and scores, where several filters were used.",
)
@click.option("--leave-out", multiple=True, metavar="METRIC", help="Metric that is not taken.")
@click.option(
    "--lower-is-better",
    "lower",
    multiple=True,
    metavar="METRIC",
    help="Metric that improves downwards.",
)
@click.option(
    "--higher-is-better",
    "higher",
    multiple=True,
    metavar="METRIC",
    help="Metric that improves upwards.",
)
def lm_eval(
    *,
    file: Path,
    out: Path,
    suite: str | None,
    target: Path | None,
    as_json: bool,
    results: Path | None,
    filter_: str | None,
    leave_out: tuple[str, ...],
    lower: tuple[str, ...],
    higher: tuple[str, ...],
) -> int:
    """Convert the samples of one task: a suite whose target replays the recorded answers, with the recorded scores."""
    from releasecheck.importers.lm_eval import Options, import_samples

    _only(file, {"--target": target}, set())
    options = Options(filter_, leave_out, lower, higher)
    return take(import_samples(file, results, suite, options), out, as_json=as_json)


def _only(file: Path, given: dict[str, Any], taken: set[str]) -> None:
    """Refuse options that would change nothing for this kind of file."""
    from releasecheck.errors import UsageError

    strange = [name for name, value in given.items() if value and name not in taken]
    if strange:
        message = (
            f"{file}: {', '.join(strange)} says nothing about this kind of file; leave it away"
        )
        raise UsageError(message)


def _target(file: Path | None) -> dict[str, Any] | None:
    from releasecheck.importers.sections import named_target

    return None if file is None else named_target(file)


def take(imported: Imported, out: Path, *, as_json: bool) -> int:
    """Write what was converted, see that it validates, and say what became what."""
    from releasecheck.cli.output import document, note, notes, say
    from releasecheck.drivers.local.world import local_world
    from releasecheck.errors import ConfigError, UsageError
    from releasecheck.importers.imported import CONFIG
    from releasecheck.pipeline.files import write_whole
    from releasecheck.pipeline.validate import validate
    from releasecheck.stats import count

    present = [name for name in imported.files if (out / name).exists()]
    if present:
        message = f"{out}: {', '.join(present[:5])} there already, and import overwrites nothing; name another folder"
        raise UsageError(message)
    # The config comes last: a folder with one is a suite that is whole.
    for name in sorted(imported.files, key=lambda name: name == CONFIG):
        write_whole(out / name, [imported.files[name]])
    try:
        found = validate(out / CONFIG, None, local_world(quiet=True), check_env=False)
    except ConfigError:
        note(
            f"note: written to {out} all the same; mend there what is named below, then validate it"
        )
        raise
    if as_json:
        document(_document(imported, found, out))
        return 0
    notes(found.notes)
    for one in imported.mapped:
        times = f" ({one.times} times)" if one.times > 1 else ""
        say(f"  {one.found}{times} -> {one.became}")
    for text in imported.notes:
        note(f"note: {text}")
    say(f"wrote {out / CONFIG}: {count(found.cases, 'case')}, {count(len(found.judges), 'judge')}")
    if found.unset:
        say(f"set first: {', '.join(found.unset)}")
    say(f"next: releasecheck run {out / CONFIG} --out {out / 'out'}")
    return 0


def _document(imported: Imported, found: Found, out: Path) -> dict[str, Any]:
    return {
        "config": (out / "releasecheck.yaml").as_posix(),
        "files": sorted(imported.files),
        "mapped": [
            {"found": one.found, "became": one.became, "times": one.times}
            for one in imported.mapped
        ],
        "notes": list(imported.notes),
        "suite": found.to_json(),
    }
