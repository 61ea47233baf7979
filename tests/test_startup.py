"""What runs on a few lines import: the modules that they need, and few of them."""

import subprocess
import sys
from pathlib import Path

import pytest

LETOR = "2 qid:1 1:0.5 2:1\n0 qid:1 1:0.25 2:0\n1 qid:2 1:0.75 2:3\n0 qid:2 1:0.1 2:4\n"
NBEST = "0 ||| a b c ||| LM0= -1 ||| -1\n0 ||| a b d ||| LM0= -2 ||| -2\n"
RUN = "q1 Q0 d1 1 2.5 r\nq1 Q0 d2 2 1.5 r\n"
FILES = {
    "a.letor": LETOR,
    "a.txt": LETOR,
    "scores": "1\n2\n3\n4\n",
    "a.nbest": NBEST,
    "refs": "a b d e\n",
    "a.run": RUN,
    "qrels": "q1 0 d1 0\nq1 0 d2 1\n",
}

# No run on a few lines of text needs these; numpy imports none of them by itself.
FOREIGN = {
    *("yaml", "scipy", "scipy.sparse", "scipy.special", "scipy.stats", "scipy.optimize", "numpy.testing"),
    *("pyarrow", "pandas", "polars", "sklearn", "dask", "sacrebleu", "rich.progress", "rich.markdown"),
    *("typer._adapters", "typer.rich_utils", "multiprocessing.pool", "concurrent.futures"),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def imported(folder: Path, *arguments: str) -> set[str]:
    """Return the modules that a run of the command line imported."""
    code = (
        f"import sys; sys.argv = {['rerank', *arguments]!r}\n"
        "from rerank.cli import main\n"
        "try: main()\n"
        "except SystemExit as end: assert not end.code, end.code\n"
        "finally: print('\\n', *sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.splitlines()[-1].split())


def entries(modules: set[str], package: str) -> set[str]:
    """Return the parts of a package that were imported: its modules and sub-packages."""
    return {name.split(".")[2] for name in modules if name.startswith(f"rerank.{package}.")}


SHARED = {"base", "common", "oddities", "sources"}  # by all formats
SVMLIGHT = {*SHARED, "svmlight", "buffers", "feature_columns"}
MOSES = {*SHARED, "moses", "buffers", "texts", "scores", "builders", "weights"}  # those of moses.ini


@pytest.mark.parametrize(
    ("arguments", "formats", "most"),
    [
        ("train --data a.letor --out model", SVMLIGHT, 160),
        ("train --data a.txt --out model", SVMLIGHT, 160),
        ("eval a.letor scores", {*SVMLIGHT, "scores", "builders"}, 117),
        ("eval a.nbest --refs refs -m BLEU", MOSES, 116),
        ("validate a.letor", SVMLIGHT, 82),
    ],
)
def test_a_run_imports_what_it_needs(folder: Path, arguments: str, formats: set[str], most: int) -> None:
    modules = imported(folder, *arguments.split())
    assert FOREIGN & modules == set()
    assert entries(modules, "formats") - formats == set()
    assert "rich" not in modules or arguments.startswith("validate")
    assert len([name for name in modules if name.startswith("rerank")]) <= most


def test_predict_imports_what_it_needs(folder: Path) -> None:
    imported(folder, "train", "--data", "a.letor", "--out", "model")
    modules = imported(folder, "predict", "model", "a.letor", "--out", "out")
    assert (FOREIGN | {"rich", "rerank.core.workers.parallel"}) & modules == set()
    assert entries(modules, "formats") - SVMLIGHT == set()
    assert entries(modules, "learners") == set()
    assert entries(modules, "metrics") <= {"judges", "judging", "relevance"}
    own = {"feature_sources", "learning_curve", "pipeline", "predict", "predictions"}
    assert entries(modules, "models") == {"archive", "base", "classes", "linear", "training", *own}
    assert len([name for name in modules if name.startswith("rerank")]) <= 114


def test_a_run_with_judgements_imports_no_other_metric(folder: Path) -> None:
    modules = imported(folder, "eval", "qrels", "a.run", "-m", "AP")
    assert FOREIGN & modules == set()
    assert entries(modules, "metrics") & {"bleu", "edit", "parseval", "structures", "chrf", "ter"} == set()
    assert entries(modules, "formats") & {"moses", "svmlight", "parses", "structures", "samples"} == set()


def test_labels_import_no_other_metric(folder: Path) -> None:
    (folder / "a.nbest").write_text("0 ||| a b ||| x= 1 ||| 1\n0 ||| a ||| x= 2 ||| 0\n")
    (folder / "a.ref").write_text("a b\n")
    arguments = "label a.nbest --format moses --refs a.ref -m WER --out a.jsonl"
    modules = imported(folder, *arguments.split())
    assert "rerank.metrics.functions" not in modules
    assert entries(modules, "metrics") & {"ranking", "gains", "chrf", "correlation"} == set()


@pytest.mark.parametrize("arguments", ["--help", "list formats --help"])
def test_help_imports_no_numpy(folder: Path, arguments: str) -> None:
    modules = imported(folder, *arguments.split())
    assert (
        {"numpy", "scipy", "yaml", "rich.console", "rerank.cli.train", "rerank.evaluation.evaluate"} & modules
    ) == set()
