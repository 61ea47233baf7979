"""The command line: thin verbs over rerank.experiment."""

from __future__ import annotations

import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run ``rerank``.

    Exit codes: 0 done, 1 a file has faults, 2 wrong usage or input, 130 Ctrl-C, 141 closed pipe.
    """
    _replace_closed_streams()
    # Products are small here: threads of BLAS cost more than they gain, and change the last bits.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from rerank.cli.app import run

        code = run()
    except KeyboardInterrupt:
        code = 130
    sys.exit(code)


def _replace_closed_streams() -> None:
    """Replace streams that the caller closed: printing fails, messages are dropped."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:  # print(file=None) would mix notes into the results
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
