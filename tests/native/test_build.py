"""A build that cannot work says what to install; an sdist's C files serve its own sources only."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not (ROOT / "rerank").is_dir(), reason="needs the sources")


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


@pytest.fixture
def backend(tmp_path, monkeypatch):
    """The build backend, in an empty folder."""
    pytest.importorskip("setuptools", "77")
    spec = importlib.util.spec_from_file_location("backend", ROOT / "rerank/native/_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(tmp_path)
    return module


@pytest.mark.skipif(sys.platform == "win32", reason="the compiler is not found by its name")
@pytest.mark.parametrize("hook", ["build_wheel", "build_editable"])
def test_pip_shows_only_the_line_about_the_compiler(backend, hook, monkeypatch, capfd):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(SystemExit, match=r"^rerank needs a C compiler \(no-such-compiler\)"):
        getattr(backend, hook)("wheels")
    assert capfd.readouterr() == ("", "")
    assert not list(Path().iterdir())


def test_c_files_of_an_sdist_serve_only_the_sources_they_come_from(backend, tmp_path, monkeypatch):
    for name in ("rerank/_b.pyx", "rerank/_a.pxd", "build/cython/sources.sha256"):
        (tmp_path / name).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / name).write_text(name)
    assert backend.get_requires_for_build_wheel() == ["cython>=3.3"]
    backend.DIGEST.write_text(backend.digest_of_sources())
    assert backend.get_requires_for_build_wheel() == []
    with monkeypatch.context() as patch:
        patch.setattr(backend, "CHECKED", {"boundscheck": True})
        assert not backend.has_c_files()
        patch.undo()
        patch.setattr(sys, "version_info", (3, 99))
        assert not backend.has_c_files()
    for name in ("rerank/_b.pyx", "rerank/_a.pxd"):
        before = Path(name).read_text()
        Path(name).write_text(before + " ")
        assert not backend.has_c_files()
        Path(name).write_text(before)
    Path("rerank/_c.pyx").touch()
    assert not backend.has_c_files()
