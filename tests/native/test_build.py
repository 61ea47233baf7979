"""A build that cannot work says in one line what to install."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.skipif(sys.platform == "win32", reason="the compiler is not found by its name")
def test_without_a_compiler_nothing_is_translated(tmp_path):
    for name in ("pyproject.toml", "README.md", "LICENSE", "rerank/_version.py", "rerank/native/_build.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    pytest.importorskip("setuptools", "77")
    command = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        "from setuptools import setup; setup()",
        "--quiet",
        "build_ext",
    ]
    environment = {**os.environ, "CC": "no-such-compiler -x"}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith(
        "rerank needs a C compiler (no-such-compiler) to be built from source: install it (Debian"
    )
    assert not (tmp_path / "build").exists()
