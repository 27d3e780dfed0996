#!/usr/bin/env bash
# Ends the job: green only when the stage said 0, what it made was uploaded, and nothing was left out.
#
# Reads   RC_STAGE, RC_EXIT_CODE, RC_VERDICT, RC_ARTIFACT (name, or empty), RC_UPLOAD (true or false),
#         RC_UPLOADED and RC_UPLOADED_AGAIN (outcomes of the two tries)
# Writes  `plan-artifact` and `scorecard-artifact` to GITHUB_OUTPUT: the names that were really used
set -uo pipefail

say() { printf 'releasecheck: %s\n' "$1" >&2; }

name="${RC_ARTIFACT:-}"
lost=""
if [ -n "$name" ] && [ "${RC_UPLOAD:-}" = true ]; then
  if [ "${RC_UPLOADED:-}" != success ]; then
    if [ "${RC_UPLOADED_AGAIN:-}" = success ]; then name="$name-u2"; else lost=yes; fi
  fi
fi
if [ -n "$name" ] && [ -z "$lost" ]; then
  case "$RC_STAGE" in
    plan) printf 'plan-artifact=%s\n' "$name" >> "$GITHUB_OUTPUT" ;;
    finish) printf 'scorecard-artifact=%s\n' "$name" >> "$GITHUB_OUTPUT" ;;
  esac
fi

code="${RC_EXIT_CODE:-}"
if [ -z "$code" ]; then
  say "the stage $RC_STAGE was not carried out to its end: it could not be installed, was cancelled, or ran out of time"
  exit 4
fi
if [ "$code" = 1 ] && { [ "$RC_STAGE" != finish ] || [ "${RC_VERDICT:-}" != block ]; }; then
  say "exit code 1 without a verdict that blocks: nothing was measured, so it counts as 4"
  exit 4
fi
if [ "$code" = 0 ] && [ "$RC_STAGE" = finish ]; then
  case "${RC_VERDICT:-}" in
    pass | bootstrap | not_selected | block) ;;
    *)
      say "exit code 0 with the verdict '${RC_VERDICT:-}': a verdict is missing (an output that looks like a secret is dropped by the runner), so it counts as 4"
      exit 4
      ;;
  esac
fi
if [ -n "$lost" ]; then
  say "what the stage $RC_STAGE made could not be uploaded, so no later job can read it; re-run the failed jobs"
  case "$code" in 0 | 1 | 2 | 5) exit 4 ;; esac
fi
exit "$code"
