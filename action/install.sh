#!/usr/bin/env bash
# Installs what the action needs into an environment of its own: locked, each file checked against its hash.
# The user's Python, PATH and GITHUB_ENV stay as they are.
#
# Reads   RC_UV (path of uv, or empty), RC_PYTHON (a Python already there, or empty), RUNNER_TEMP
# Writes  `python` to GITHUB_OUTPUT: the environment's interpreter
set -euo pipefail

here="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
venv="$RUNNER_TEMP/releasecheck-venv"
lock="$here/requirements/runtime.txt"

say() { printf 'releasecheck: %s\n' "$1" >&2; }

interpreter() {
  if [ -x "$venv/Scripts/python.exe" ]; then
    printf '%s' "$venv/Scripts/python.exe"
  else
    printf '%s' "$venv/bin/python"
  fi
}

# Several stages in one job share the environment, as long as the lock file is the same.
stamp="$venv/releasecheck.lock"
if [ ! -f "$stamp" ] || ! cmp -s "$lock" "$stamp"; then
  rm -rf "$venv"
  if [ -n "${RC_PYTHON:-}" ]; then
    "$RC_PYTHON" -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else 1)' || {
      say "the input python names an interpreter that is not Python 3.11 or newer, or does not run: $RC_PYTHON"
      exit 3
    }
    "$RC_PYTHON" -m venv "$venv"
    "$(interpreter)" -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r "$lock"
  else
    "$RC_UV" venv --quiet --no-project --no-config --python '>=3.11' "$venv"
    "$RC_UV" pip install --quiet --no-config --require-hashes --only-binary :all: --python "$(interpreter)" -r "$lock"
  fi
  cp "$lock" "$stamp"
fi

python="$(interpreter)"
# The sources as they are at this commit, never a cached build of another one.
# Without a line end of its own: Windows would write two characters, of which the shell takes off one.
site="$("$python" -I -X utf8 -c 'import sys, sysconfig; sys.stdout.write(sysconfig.get_path("purelib"))')"
source="$here/src"
if command -v cygpath >/dev/null 2>&1; then source="$(cygpath -w "$source")"; fi
printf '%s\n' "$source" > "$site/releasecheck.pth"
printf 'python=%s\n' "$python" >> "$GITHUB_OUTPUT"
