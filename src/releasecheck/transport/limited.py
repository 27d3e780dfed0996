"""Become another program with a bound on its memory: `limited.py BYTES DIES_WITH_PARENT PROGRAM ARG...`.

Run by our own interpreter (`-I -S`), standard library only; it imports nothing of releasecheck.
"""

import os
import sys


def main() -> None:
    """Set what was asked for, then exec."""
    memory, dies = int(sys.argv[1]), int(sys.argv[2])
    program, arguments = sys.argv[3], sys.argv[3:]
    if dies:
        import ctypes
        import signal

        parent = os.getppid()
        # PR_SET_PDEATHSIG is 1; it survives exec.
        ctypes.CDLL(None).prctl(1, signal.SIGTERM, 0, 0, 0)
        if os.getppid() != parent:  # it died before the call
            sys.exit(143)
    if memory:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    os.execv(program, arguments)  # noqa: S606 - becoming that program is the point


if __name__ == "__main__":
    main()
