"""Failed allocations in kernels: a few cases of tests/fuzz/failing.py, and errors that would be swallowed."""

import subprocess
import sys
from pathlib import Path

import pytest
from fuzz import failing

import rerank


def test_no_kernel_prints_an_exception_and_goes_on():
    """A function that is declared noexcept but may raise would: an allocation may fail, abs() overflow."""
    kernels = [
        path
        for path in Path(rerank.__file__).parent.rglob("_*.so")
        if not path.name.startswith("_cyutility")  # which is Cython's own
    ]
    assert kernels
    assert [path.name for path in kernels if b"PyErr_WriteUnraisable" in path.read_bytes()] == []


def test_failed_allocations_end_in_an_error_or_in_the_right_result(tmp_path):
    if failing.library(tmp_path) is None:
        pytest.skip("no gcc or no glibc")
    names = ["write svmlight dense", "write moses dense", "features of parses"]
    ran = subprocess.run(
        [sys.executable, failing.__file__, *names], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "in 3 cases, 0 findings" in ran.stdout


def test_a_crash_and_another_result_are_findings(tmp_path, monkeypatch):
    if failing.library(tmp_path) is None:
        pytest.skip("no gcc or no glibc")
    shim = tmp_path / "failing.so"
    code = f"""
import sys
sys.path[:0] = {[str(failing.ROOT), str(failing.ROOT / "tests")]!r}
from fuzz import failing
from rerank.native.data._names import Names

def swallowed(folder):
    try:
        return len(Names([b"a"]).strings())
    except MemoryError:
        return 7

print(failing.tried("x", swallowed, 100, lambda text: None))
"""
    ran = subprocess.run(
        [sys.executable, "-c", code],
        env=failing.environment(shim),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "finding: x: allocation 1: another result" in ran.stdout, ran.stderr
