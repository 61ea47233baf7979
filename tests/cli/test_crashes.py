"""Internal errors: exit code 70, one line, the traceback in a file; messages that cannot be printed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import rerank as package
from rerank.core.errors import RerankError

HERE = {**os.environ, "PYTHONPATH": str(Path(package.__file__).parents[1])}


def broken(*_, **__):
    raise KeyError("no such \x1b[31mkey\n" + "x" * 999)


@pytest.fixture
def breaks(work, monkeypatch):
    """A verb with an internal error: validate; temporary files go to the folder of the test."""
    monkeypatch.setattr("rerank.formats.sources.validate", broken)
    monkeypatch.setattr(tempfile, "tempdir", str(work))
    return work


def test_an_internal_error_exits_with_70_and_names_the_file_of_its_traceback(rerank, breaks):
    result = rerank("validate", "train.letor", code=70)
    found = re.fullmatch(
        r"rerank: please report this internal error \(KeyError: .*\) with the file (\S+)\n", result.err
    )
    assert found, result
    assert result.out == ""
    assert (result.err.count("\n"), result.err.replace("\n", "").isprintable()) == (1, True)
    assert re.fullmatch(r"rerank-traceback-\w+\.txt", Path(found[1]).name)
    text = Path(found[1]).read_text()
    assert text.startswith("rerank 0.")
    for part in ("Python 3.", "numpy ", "arguments: ['validate', 'train.letor']", "Traceback", "in broken"):
        assert part in text


@pytest.mark.parametrize("how", ["option", "variable"])
def test_debug_prints_the_traceback(breaks, monkeypatch, capfd, how):
    from rerank.cli import main

    arguments = ["--debug"] if how == "option" else []
    monkeypatch.setenv("RERANK_DEBUG", "1" if how == "variable" else "0")
    monkeypatch.setattr(sys, "argv", ["rerank", *arguments, "validate", "train.letor"])
    before = sorted(breaks.iterdir())
    with pytest.raises(SystemExit) as ended:
        main()
    err = capfd.readouterr().err
    assert ended.value.code == 70
    assert "in broken" in err
    assert err.splitlines()[-1].startswith("rerank: internal error (KeyError")
    assert sorted(breaks.iterdir()) == before


def test_an_internal_error_without_a_place_for_the_file_is_one_line(rerank, breaks, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(tempfile, "mkstemp", full)
    result = rerank("validate", "train.letor", code=70)
    assert result.err.endswith("with what 'rerank --debug' prints\n")
    assert result.err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError("Unable to allocate 9 TiB"), 2, "rerank: out of memory: Unable to allocate 9 TiB\n"),
        (MemoryError(), 2, "rerank: out of memory\n"),
        (OSError(28, "No space left on device"), 2, "rerank: <stdout>: no space left on device\n"),
        (OSError("Invalid data stream"), 70, "rerank: please report this internal error (OSError: Inv"),
        (RecursionError("maximum depth"), 70, "rerank: please report this internal error (RecursionErr"),
        (KeyboardInterrupt(), 130, "rerank: interrupted; nothing written\n"),
    ],
)
def test_errors_that_are_not_ours(rerank, breaks, monkeypatch, error, code, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("rerank.formats.sources.validate", fail)
    err = rerank("validate", "train.letor", code=code).err
    assert err.startswith(message)
    assert err.count("\n") == min(1, len(message))


def test_a_warning_of_python_is_one_line(rerank, work, monkeypatch):
    def warn(*_, **__):
        import warnings

        warnings.simplefilter("always", RuntimeWarning)
        warnings.warn("overflow\nin x", RuntimeWarning, stacklevel=1)
        raise RerankError("end")

    monkeypatch.setattr("rerank.models.predict.predict", warn)
    lines = rerank("predict", "m", "train.letor", code=2).err.splitlines()
    assert lines[0].startswith("rerank: RuntimeWarning: overflow in x (")
    assert lines[1:] == ["rerank: end"]


@pytest.mark.parametrize(
    "verb", ["validate -", "predict m -", "eval -", "convert - --out x.store", "import - --out m"]
)
def test_standard_input_that_is_closed_is_one_line(rerank, work, monkeypatch, verb):
    monkeypatch.setattr(sys, "stdin", None)
    (work / "w").write_text("1\t1\n")
    rerank("import", "w", "--from", "tsv", "--out", "m")
    assert rerank(*verb.split(), code=2).err == "rerank: <stdin>: is closed\n"


def test_a_message_that_cannot_be_written_is_dropped(work):
    command = [
        sys.executable,
        "-m",
        "rerank",
        "train",
        "--data",
        "train.letor",
        "-s",
        "epochs=1",
        "--out",
        "m",
    ]
    with open("/dev/full", "w") as full:
        assert subprocess.run(command, stderr=full, env=HERE, check=False).returncode == 0
        assert (work / "m").exists()
        (work / "m").unlink()
        command[-1] = "nowhere/m"
        assert subprocess.run(command, stderr=full, env=HERE, check=False).returncode == 2


def test_output_that_the_terminal_cannot_encode_is_escaped(work):
    (work / "w").write_bytes("größe\t1\n".encode() + b"\xff\xfe\t2\n")
    for line in ("import w --out m", "show m"):
        command = [sys.executable, "-m", "rerank", *line.split()]
        found = subprocess.run(
            command, capture_output=True, env={**HERE, "PYTHONIOENCODING": "ascii"}, check=True
        )
    assert rb"gr\xf6\xdfe" in found.stdout
    assert rb"\udcff\udcfe" in found.stdout


def test_names_in_tables_can_be_printed(rerank, work):
    (work / "w").write_text("\x1b[31mred\u202e\t1\n")
    rerank("import", "w", "--from", "tsv", "--out", "m")
    assert r"\x1b[31mred\u202e" in rerank("show", "m").out
    (work / "\x1b[2J.scores").write_text("1\n" * 72)
    out = rerank("eval", "test.letor", "\x1b[2J.scores", "-m", "AP").out
    assert r"\x1b[2J.scores" in out
    assert out.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["\x1b[31mred", "new\nline", "\u202eleft", "\udcff", "x" * 200])
def test_a_path_in_a_message_can_be_printed(rerank, work, name):
    err = rerank("validate", name, code=2).err
    assert err.startswith("rerank: ")
    assert err.count("\n") == 1
    assert err[:-1].isprintable()
    assert len(err) < 320


@pytest.fixture
def unbuilt(tmp_path):
    """A folder with the package as a clone has it, without kernels."""
    source = Path(package.__file__).parent
    shutil.copytree(
        source, tmp_path / "rerank", ignore=shutil.ignore_patterns("*.so", "*.pyd", "__pycache__")
    )
    return tmp_path


def python(folder, *arguments):
    """Run Python on the package in a folder."""
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_without_kernels_one_line_tells_how_to_build_them(unbuilt):
    name = Path(sys.executable).name
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    line = (
        f"the kernels of rerank are not built for Python {version}: run "
        f"'make build', or {name} -m pip install -e {unbuilt}"
    )
    for verb in ("list learners", "train --data x --out m", "eval x y", "validate x", "show m", "run c.yaml"):
        (unbuilt / "c.yaml").write_text("data: {train: x}\nlearners: {ridge: }\n")
        done = python(unbuilt, "-m", "rerank", *verb.split())
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"rerank: {line}\n"), verb
    for words in ("--version", "--help", "help", "help formats", "train --help", "list --help"):
        done = python(unbuilt, "-m", "rerank", *words.split())
        assert (done.returncode, done.stderr) == (0, ""), words
    for code in ("import rerank; rerank.train", "from rerank import load", "import rerank.native.data"):
        done = python(unbuilt, "-c", code)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (1, f"ImportError: {line}"), code


def test_a_kernel_that_is_missing_is_no_internal_error(unbuilt):
    native = Path(package.__file__).parent / "native"
    shared = next(native.glob("_cyutility*"))
    shutil.copy(shared, unbuilt / "rerank" / "native")
    done = python(unbuilt, "-m", "rerank", "list", "learners")
    assert done.returncode == 2
    assert done.stderr.startswith("rerank: a kernel cannot be imported, build them again (make build): ")
    assert done.stderr.count("\n") == 1
