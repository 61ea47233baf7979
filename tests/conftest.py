"""What all tests share: fixed random cases, a fixed environment, and the place of the shared data sets."""

from __future__ import annotations

import builtins
import logging
import os
import random
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

# As `rerank` does, before NumPy is loaded: threads of BLAS wait for each other longer than they compute.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from command_line import nbest as nbest  # fixtures for every test
from command_line import rerank as rerank
from command_line import work as work

from rerank._version import __version__

ROOT = Path(__file__).resolve().parent.parent
FUZZ = "fuzz"

# The suite draws the same examples each time; `make fuzz` draws new ones and remembers those that failed.
# No example fails for its time: machines are noisy. 30 examples find again what is known; `make fuzz`, which
# runs each night, draws many more.
COMMON = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("rerank", derandomize=True, database=None, max_examples=30, **COMMON)
settings.register_profile(
    FUZZ,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(ROOT / ".hypothesis" / "examples"),
    print_blob=True,
    **COMMON,
)
settings.load_profile("rerank")

# What a shell, a terminal or a CI service may set, and rich, typer or make obey.
UNSET = ("COLUMNS", "LINES", "TERMINAL_WIDTH", "NO_COLOR", "FORCE_COLOR", "PY_COLORS", "COLORTERM")
UNSET += ("TTY_COMPATIBLE", "TTY_INTERACTIVE", "GITHUB_ACTIONS", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")
UNSET += ("PYTHONWARNINGS", "PYTHONIOENCODING")


# Modules that may use ``sum`` on floats: whether all are finite, and seconds.
SUMS = ("rerank.formats.jsonl.schema", "rerank.formats.samples", "rerank.experiments.")
plain_sum = sum


def sum_without_floats(numbers: Iterable[Any], /, start: Any = 0) -> Any:
    """``sum``, but not of floats in the package: their last bits depend on Python's version."""
    found = plain_sum(numbers, start)
    if type(found) is float:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        assert not caller.startswith("rerank.") or caller.startswith(SUMS), f"{caller}: expected added()"
    return found


def pytest_sessionstart() -> None:
    """Remove what would change outputs, after pytest chose its colours and before tests are imported."""
    builtins.sum = sum_without_floats  # type: ignore[assignment]
    for name in UNSET:
        os.environ.pop(name, None)
    os.environ["TERM"] = "dumb"
    from rerank.core.errors import Spelling

    Spelling.shell = (
        True  # messages are tested as the shell shows them; tests/core/test_errors.py has Python's
    )


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """When fuzzing, replace ``parametrize("seed", range(n))`` by n new seeds, marked ``fuzz``."""
    if metafunc.config.getoption("--hypothesis-profile") != FUZZ:
        return
    draw = random.Random(f"{metafunc.config.getoption('--hypothesis-seed')} {metafunc.definition.nodeid}")
    marks = metafunc.definition.own_markers
    for i, mark in enumerate(marks):
        if mark.name == "parametrize" and mark.args[0] == "seed" and isinstance(mark.args[1], range):
            seeds = [pytest.param(draw.randrange(2**31), marks=pytest.mark.fuzz) for _ in mark.args[1]]
            marks[i] = pytest.mark.parametrize("seed", seeds).mark


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use the shared data."""
    for item in items:
        if "shared_data" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.shared)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data sets; tests that need it are skipped if it is absent."""
    path = Path(os.environ.get("RERANK_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no shared data at {path} (set RERANK_DATA)")
    return path


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """The address of a Dask scheduler with two workers, processes of one thread each, that are replaced.

    It is not kept for the session: an idle cluster takes a tenth of a processor.
    """
    distributed = pytest.importorskip("distributed", reason="the extra rerank[dask] is not installed")
    pytest.importorskip("threadpoolctl", reason="the extra rerank[dask] is not installed")
    with distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        processes=True,
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as made:
        yield made.scheduler_address


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--regold", action="store_true", help="write the golden files anew")


@pytest.fixture
def golden(request):
    """golden(name, text): text must be that of tests/golden/name (--regold writes it anew)."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        text = text.replace(f"version:{__version__}", "version:V")
        text = re.sub(r"\b[0-9a-f]{32}\b", "FINGERPRINT", text)
        if request.config.getoption("--regold"):
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), f"{path} differs; if that is meant: pytest --regold"

    return compare


@pytest.fixture
def memory_left(monkeypatch):
    """memory_left(n): n bytes are left from here on, and no need above them passes without a question."""

    def leave(n: int) -> None:
        from rerank.core import memory

        monkeypatch.setattr(memory, "available", lambda: n)
        monkeypatch.setattr(memory, "SMALL", min(memory.SMALL, n))

    return leave


@pytest.fixture(autouse=True, scope="session")
def _writes_stay_in_memory():
    """No write is forced to the disk, which takes longer than most tests."""
    real, os.fsync = os.fsync, lambda _: None
    yield
    os.fsync = real
