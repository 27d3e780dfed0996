#!/usr/bin/env bash
# Runs one stage and records how it ended. It ends well itself, so that what is on disk is uploaded whatever
# happened; the last step of the action ends the job with the recorded code.
#
# Reads   RC_VENV_PYTHON, RC_STAGE, RC_UV (what installed the environment, or empty), and the inputs as RC_* (see drivers/github/inputs.py)
# Writes  `exit-code` to GITHUB_OUTPUT, after everything that the stage itself wrote there
set -uo pipefail

# -I: neither the working directory nor PYTHON* variables of the caller can put other modules in our place.
RC_LOCK="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/requirements/runtime.txt" \
  "$RC_VENV_PYTHON" -I -X utf8 -m releasecheck action "$RC_STAGE" &
child=$!
# A cancelled job's signal reaches this shell alone. Passed on, it lets calls in flight answer and closes the
# ledger; SIGTERM, because a shell lets what it runs in the background ignore SIGINT.
trap 'kill -TERM "$child" 2>/dev/null' INT TERM
code=0
wait "$child" || code=$?
# A signal ends `wait`, not the child.
while kill -0 "$child" 2>/dev/null; do
  code=0
  wait "$child" || code=$?
done
case "$code" in
  0 | 1 | 2 | 3 | 4 | 5 | 130) ;;
  *)
    printf 'releasecheck: the stage %s ended with %s, which is none of its exit codes; it counts as 4\n' "$RC_STAGE" "$code" >&2
    code=4
    ;;
esac
printf 'exit-code=%s\n' "$code" >> "$GITHUB_OUTPUT"
