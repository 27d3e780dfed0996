"""`make sabotage`: breaks each rule of gates in a copy of the program, and sees that its tests turn red.

With names of breaks as arguments only those are tried.
"""

from __future__ import annotations

import sys
import time

from tests.sabotage.breaks import BREAKS
from tests.sabotage.rules import RULES
from tests.sabotage.running import AT_ONCE, Job, changed, run_all, verdict_of


def main(names: list[str]) -> int:
    """Exit code 0 when every break was noticed."""
    began = time.monotonic()
    chosen = [one for one in BREAKS if not names or one.name in names]
    unknown = sorted(set(names) - {one.name for one in BREAKS})
    problems = [f"{name}: there is no such break" for name in unknown]
    jobs = []
    for one in chosen:
        try:
            jobs.append(Job(one.name, one.tests, one.file, changed(one)))
        except ValueError as error:
            problems.append(f"{one.name}: {error}")
    noticed = 0
    lost = _green(sorted({test for one in chosen for test in one.tests}))
    if lost:
        jobs = []
    for done, (job, report) in enumerate(run_all(jobs), start=1):
        if done % 20 == 0:
            say(f"sabotage: {done} of {len(jobs)}")
        why = verdict_of(job, report)
        if why is None:
            noticed += 1
        else:
            lost.append(f"{job.name}: {why}")
            say(f"sabotage: {job.name}: {why}\n{report.output}")
    problems += lost
    for problem in problems:
        say(f"sabotage: RED {problem}")
    seconds = time.monotonic() - began
    say(
        f"sabotage: {noticed} of {len(chosen)} breaks of {len(RULES)} rules turned their tests red, in {seconds:.0f} s"
    )
    return 1 if problems else 0


def _green(tests: list[str]) -> list[str]:
    """What of the named tests fails though nothing is broken."""
    say(f"sabotage: {len(tests)} tests against the program as it is")
    files = sorted({test.partition("::")[0] for test in tests})
    parts = [
        tuple(test for test in tests if files.index(test.partition("::")[0]) % AT_ONCE == part)
        for part in range(AT_ONCE)
    ]
    problems = []
    for job, report in run_all([Job("unbroken", part) for part in parts if part]):
        lost = [test for test in job.tests if test not in report.passed or test in report.failed]
        if lost or report.broken:
            say(report.output)
            problems.append(f"without any break: {', '.join([*report.broken, *lost])}")
    return problems


def say(text: str) -> None:
    """To whoever started it."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
