"""Internal errors: one line that asks for a report, and the traceback in a file or printed."""

from __future__ import annotations

import os
import re
import sys
import traceback
from contextvars import ContextVar

from rerank._version import __version__
from rerank.cli.frame import EXIT_CRASH, EXIT_USAGE
from rerank.cli.messages import say
from rerank.core.errors import visible

_KERNELS = "rerank.native"
_debug: ContextVar[bool] = ContextVar("debug", default=False)


def set_debug(value: bool) -> bool:
    """Set whether tracebacks are printed; the callback of ``rerank --debug``."""
    _debug.set(value)
    return value


def report(error: BaseException) -> int:
    """Report an error that nothing expected, or kernels that are not built; return the exit code.

    The traceback is printed after ``rerank --debug``. Otherwise it is written to a file of the folder for
    temporary files, with the versions and the arguments.
    """
    if isinstance(error, ImportError) and re.match(r"rerank\.(.*\.)?native\b", error.name or ""):
        stale = "a kernel cannot be imported, build them again (make build): " * (error.name != _KERNELS)
        say(f"{stale}{error}")
        return EXIT_USAGE
    lines = visible("".join(traceback.format_exception(error)))
    problem = f"internal error ({type(error).__name__}: {error})"
    if _debug.get():
        print(lines, end="", file=sys.stderr)
        say(problem)
        return EXIT_CRASH
    import platform
    import tempfile

    numpy = getattr(sys.modules.get("numpy"), "__version__", "not loaded")
    versions = (
        f"rerank {__version__}, Python {platform.python_version()}, numpy {numpy}, {platform.platform()}"
    )
    try:
        number, path = tempfile.mkstemp(".txt", "rerank-traceback-")
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(f"{versions}\narguments: {sys.argv[1:]!a}\n\n{lines}")
    except OSError:  # nowhere to write
        say(f"please report this {problem} with what 'rerank --debug' prints")
    else:
        say(f"please report this {problem} with the file {path}")
    return EXIT_CRASH
