"""The command line: thin verbs over functions that Python users call as well."""

from __future__ import annotations

import gc
import os
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Run ``rerank``.

    Exit codes: 0 done, 1 check failed (validate) or a run failed (run), 2 wrong usage or input, 70
    internal error, 130 Ctrl-C, 141 closed pipe.
    """
    _prepare_streams()
    gc.set_threshold(10_000)  # after every 700 objects what was just imported would be looked through
    # Products are small here: threads of BLAS cost more than they gain, and change the last bits.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from rerank.core.errors import Spelling

    Spelling.shell = True
    try:
        from rerank.cli.app import command

        code = command()(prog_name="rerank", standalone_mode=False)
        sys.stdout.flush()
    except (Exception, KeyboardInterrupt, SystemExit) as error:
        from rerank.cli.frame import code_of

        code = code_of(error)
        if code is None:
            from rerank.cli.doctor import report_crash

            code = report_crash(error)
    sys.exit(code)


def _prepare_streams() -> None:
    """Replace streams that the caller closed: printing fails, messages are dropped.

    Text that standard output cannot encode is escaped, and on a terminal what that would obey or hide. Lines
    end as in files; on Windows, text is in UTF-8 as well.
    """
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")
    if sys.stderr is None:  # print(file=None) would mix notes into the results
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(encoding={"nt": "utf-8"}.get(os.name), errors="backslashreplace", newline="\n")
    if sys.stdout.isatty():
        from rerank.core.files.write import escaping

        sys.stdout = escaping(sys.stdout)
