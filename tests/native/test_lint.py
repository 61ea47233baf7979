"""scripts/lint_kernels.py on the sources, and on code with each of its faults."""

import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
pytestmark = pytest.mark.skipif(not (SCRIPTS / "lint_kernels.py").exists(), reason="no scripts")


@pytest.fixture
def lint(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.syspath_prepend(str(SCRIPTS))
    import lint_kernels

    yield lint_kernels
    del sys.modules["lint_kernels"]


def test_sources_are_clean(lint) -> None:
    assert lint.lint(SCRIPTS.parent) == []


def test_each_fault_is_found(lint, tmp_path: Path) -> None:
    names = ", ".join("abcdefghij")
    kernels = tmp_path / "rerank" / "native"
    kernels.mkdir(parents=True)
    (kernels / "_one.pyx").write_text(
        f"def ten(\n    {names},\n):\n    return f({names}, k)\n\n\n"
        f"cdef inline bint eleven({names}, double[:, ::1] k) noexcept nogil:\n    return True\n\n\n"
        "cdef inline bint failed(Place* at, Fault fault) noexcept nogil:\n    at.p = p\n    return True\n\n\n"
        "cdef bint stopped(Place* at) noexcept nogil:\n    if at:\n        return True\n    return False\n"
    )
    (kernels / "one.py").write_text(f"a = used.ru_maxrss * PEAK_UNIT\nb = used.{'ru_maxrss'} / 1024\n")
    assert [line.removeprefix(f"{kernels}/") for line in lint.lint(tmp_path)] == [
        "_one.pyx:11: failed must return False",
        "_one.pyx:7: eleven has 11 arguments, at most 10",
        "one.py:2: ru_maxrss not multiplied by core.system.PEAK_UNIT",
    ]


def test_c_code_of_a_noexcept_function_that_can_raise(lint, tmp_path: Path) -> None:
    assert len(list(lint.can_raise(tmp_path))) == 1  # nothing was built
    for module in ("_b", "_a"):
        (tmp_path / f"{module}.c").write_text(
            '__Pyx_WriteUnraisable("rerank.native._a.put");\n__Pyx_WriteUnraisable("rerank.native._a.T.__dealloc__");'
        )
    found = "rerank.native._a.put: noexcept, but can raise (in the C of _a, _b)"
    assert list(lint.can_raise(tmp_path)) == [found]
