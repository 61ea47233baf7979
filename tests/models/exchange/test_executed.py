"""Exported code is run by its own engine, on items of every kind of model, and gives the same scores."""

import json
import math
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest
from models.exchange.kinds import ACCEPTS_MISSING, KINDS, NAMES, items

import rerank
from rerank.models.exchange.portable import BASE

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def expected(kind):
    """The model, its items' values and base scores, and its scores."""
    model, found = KINDS[kind](), items(kind)
    return model, found.features.to_dense(), found.base_scores, model.raw_score(found)


def equal(found, scores, kind):
    """Check that scores have the same bits, but for the one kind whose sum is multiplied term by term."""
    if kind == "combmnz mean":
        close(found, scores, None)
    else:
        assert np.array_equal(found, scores)


def test_python(kind, tmp_path):
    model, X, base, scores = expected(kind)
    path = tmp_path / "m.py"
    rerank.export(model, str(path), "python", name="rank")
    more = base if model.base_weight is not None else None
    np.savez(tmp_path / "in.npz", X=X, **({} if more is None else {"base": more}))
    program = (
        "import sys, numpy as np; sys.path.insert(0, sys.argv[1]); import m\n"
        "given = np.load(sys.argv[1] + '/in.npz'); X = given['X'].tolist()\n"
        "more = [[b] for b in given['base'].tolist()] if 'base' in given else [[]] * len(X)\n"
        "np.save(sys.argv[1] + '/out.npy', [m.rank(x, *b) for x, b in zip(X, more)])\n"
        "named = [dict(zip(m.FEATURES, x)) | {'unknown': 1} for x in X]\n"
        "assert [m.rank(x, *b) for x, b in zip(named, more)] == np.load(sys.argv[1] + '/out.npy').tolist()\n"
        "assert 'rerank' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True)
    equal(np.load(tmp_path / "out.npy"), scores, kind)


def test_python_without_a_rule_for_missing_values(kind, tmp_path):
    model, X, _, _ = expected(kind)
    rerank.export(model, str(tmp_path / "m.py"), "python")
    module: dict = {}
    exec((tmp_path / "m.py").read_text(), module)
    more = [0.0] if model.base_weight is not None else []
    gone = [None] * 6
    if kind in ACCEPTS_MISSING or kind.startswith("trees"):
        module["score"](gone, *more)
    else:
        with pytest.raises(ValueError, match="is missing, and the model has no rule"):
            module["score"](gone, *more)
    with pytest.raises(ValueError, match="found 5 features, expected 6"):
        module["score"](X[0][:5], *more)


_MAIN = """
#include <stdio.h>
#include "m.h"
int main(void)
{
    double x[M_FEATURES + 1];
    while (fread(x, sizeof(double), M_FEATURES + 1, stdin) == M_FEATURES + 1) {
        double s = %s;
        fwrite(&s, sizeof(double), 1, stdout);
    }
    return 0;
}
"""


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_c(kind, tmp_path):
    model, X, base, scores = expected(kind)
    rerank.export(model, str(tmp_path / "m.h"), "c", name="m")
    call = "m_score(x, x[M_FEATURES])" if model.base_weight is not None else "m_score(x)"
    (tmp_path / "main.c").write_text(_MAIN % call)
    flags = ["gcc", "-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-unused-const-variable"]
    subprocess.run([*flags, "-std=c++11", "-fsyntax-only", "-x", "c++", "main.c"], check=True, cwd=tmp_path)
    subprocess.run([*flags, "-std=c99", "-O1", "main.c", "-o", "main"], check=True, cwd=tmp_path)
    rows = np.column_stack([X, base]).astype(np.float64).tobytes()
    out = subprocess.run([tmp_path / "main"], input=rows, capture_output=True, check=True).stdout
    equal(np.frombuffer(out), scores, kind)


def close(found, scores, model):
    """Check that scores are those of the model up to the order of their sums."""
    assert not np.isnan(found).any()
    np.testing.assert_allclose(found, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max())


def columns(X, base, model):
    """The rows and names of a table of a database."""
    names = [*NAMES, BASE] if model.base_weight is not None else NAMES
    rows = np.column_stack([X, base])[:, : len(names)]
    return names, [[None if math.isnan(v) else v for v in row] for row in rows.tolist()]


def quoted(name):
    return '"' + name.replace('"', '""') + '"'


def test_sqlite(kind, tmp_path):
    model, X, base, scores = expected(kind)
    rerank.export(model, str(tmp_path / "m.sql"), "sql")
    expression = (tmp_path / "m.sql").read_text()
    names, rows = columns(X, base, model)
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE t ({', '.join(map(quoted, names))})")
        db.executemany(f"INSERT INTO t VALUES ({', '.join('?' * len(names))})", rows)
        found = db.execute(f"SELECT {expression} FROM t ORDER BY rowid").fetchall()
    close(np.array(found, dtype=np.float64)[:, 0], scores, model)


def test_onnx(kind, tmp_path):
    pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    model, X, base, scores = expected(kind)
    rerank.export(model, str(tmp_path / "m.onnx"), "onnx")
    content = (tmp_path / "m.onnx").read_bytes()
    rerank.export(model, str(tmp_path / "again.onnx"), "onnx")
    assert (tmp_path / "again.onnx").read_bytes() == content
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    graph = pytest.importorskip("onnx").load_from_string(content).graph
    assert {one.name for one in graph.initializer} <= {name for node in graph.node for name in node.input}
    given = {"X": X} | ({"base": base} if model.base_weight is not None else {})
    found = session.run(None, given)
    close(found[0], scores, model)
    assert json.loads(session.get_modelmeta().custom_metadata_map["features"]) == NAMES
    if kind == "thresholds":
        assert np.array_equal(found[1], model.grades(items(kind)))
    gone = session.run(["score"], {name: values[:1] * np.nan for name, values in given.items()})[0]
    assert np.isnan(gone[0]) == (kind not in ACCEPTS_MISSING and not kind.startswith("trees"))


def test_duckdb(kind, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    model, X, base, scores = expected(kind)
    rerank.export(model, str(tmp_path / "m.sql"), "sql", dialect="duckdb")
    expression = (tmp_path / "m.sql").read_text()
    names, _ = columns(X, base, model)
    rows = np.column_stack([X, base])[
        :, : len(names)
    ].tolist()  # with NaN, which the expression takes for NULL
    with duckdb.connect(":memory:") as db:
        db.execute(f"CREATE TABLE t (i INTEGER, {', '.join(f'{quoted(n)} DOUBLE' for n in names)})")
        db.executemany(
            f"INSERT INTO t VALUES ({', '.join('?' * (len(names) + 1))})",
            [[i, *r] for i, r in enumerate(rows)],
        )
        found = db.execute(f"SELECT {expression} FROM t ORDER BY i").fetchall()
    close(np.array(found, dtype=np.float64)[:, 0], scores, model)
