"""The verb and the call: names, options, refusals."""

import json
import re

import numpy as np
import pytest
from models.exchange.kinds import KINDS, PLAIN, lists

import rerank
from rerank import CandidateLists
from rerank.formats.weights import WEIGHTS
from rerank.models.exchange.base import EXCHANGE
from rerank.models.exchange.calls import writers

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")


@pytest.mark.parametrize(
    ("learner", "given", "message"),
    [
        ("perceptron", {"scaling": "list-zscore"}, "scaling list-zscore looks at the whole list; train with"),
        ("perceptron", {"scaling": "rank"}, "scaling rank looks features up in all training values; train"),
        (
            "perceptron",
            {"scaling": "zscore", "missing": "list-mean"},
            "--missing list-mean looks at the whole",
        ),
        (
            "perceptron",
            {"scaling": "zscore", "missing": "list-min"},
            "--missing list-min looks at the whole list",
        ),
        ("rrf", {}, "a rrf model: ranks are taken within each list; train combsum"),
        ("random", {}, "a random model: random scores belong to no features"),
        ("bordafuse", {}, "a fusion model: runs are fused list by list; train combsum"),
        ("perceptron", {"average": "voted"}, "a voted model: votes are counted within each list"),
        ("iw", {"scaling": "zscore"}, "makes a ranker for each list; train its base learner"),
    ],
)
@pytest.mark.parametrize("to", ["json", "c"])
def test_what_looks_at_the_whole_list_is_refused(learner, given, message, to, tmp_path):
    model = rerank.train(lists(), learner=learner, **given)
    with pytest.raises(rerank.ConfigError) as error:
        rerank.export(model, str(tmp_path / "m"), to)
    assert message in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("to", writers())
def test_every_format_exports_every_kind_that_it_holds_or_refuses_it_in_one_line(to, tmp_path):
    refused = {}
    for name, make in KINDS.items():
        try:
            rerank.export(make(), str(tmp_path / "m"), to, names=PLAIN)
        except rerank.RerankError as error:
            refused[name] = str(error)
    assert len(refused) < len(KINDS) or to in ("svmtk", "svmtk-pairs", "bllip")  # of trees, of ids
    for text in refused.values():
        assert re.search("cannot express|cannot add|features alone|has no id|expected preference", text)
        assert "\n" not in text


@pytest.mark.parametrize("to", writers())
def test_options_that_a_format_does_not_use_are_refused(to, tmp_path):
    model = KINDS["linear"]()
    honours = (WEIGHTS if to in WEIGHTS.names() else EXCHANGE).get(to).honours
    for option in ("name", "dialect", "ini", "feature_names"):
        if option not in honours:
            flag = option.replace("_", "-")
            with pytest.raises(rerank.ConfigError, match=f"--{flag}: not used by the format {to}"):
                rerank.export(model, str(tmp_path / "m"), to, **{option: "x"})


def test_names_of_features_are_changed(tmp_path):
    (tmp_path / "names").write_text("plain\tbm25(title)\ncount\tclicks\n")
    rerank.export(
        KINDS["linear zscore indicator"](), str(tmp_path / "m"), "json", names=str(tmp_path / "names")
    )
    content = json.loads((tmp_path / "m").read_text())
    assert content["features"][0] == "bm25(title)"
    assert "bm25(title)" in content["linear"]["raw"]["weights"]
    assert "bm25(title)?missing" in content["model"]["meta"]["feature_names"]
    for text, message in {
        "plain\tx\nplain\ty\n": "feature 'plain' again",
        "plain\tcount\n": "two features would be called 'count'",
        "other\tx\n": "the model has no feature 'other'",
        "plain\n": "OLD<TAB>NEW",
    }.items():
        (tmp_path / "names").write_text(text)
        with pytest.raises(rerank.RerankError, match=message):
            rerank.export(KINDS["linear"](), str(tmp_path / "m"), "json", names=str(tmp_path / "names"))


def test_names_cannot_break_out_of_code(tmp_path):
    bad = ["*/ int main", '"); DROP TABLE t; --', "'''\nimport os", "\\", "{0}"]
    draw = np.random.default_rng(1)
    data = CandidateLists.from_arrays(draw.normal(size=(8, 5)), [0, 1] * 4, group=[4, 4], feature_names=bad)
    model = rerank.train(data, learner="perceptron", epochs=1, scaling="zscore")
    rerank.export(model, str(tmp_path / "m.py"), "python")
    module: dict = {}
    exec((tmp_path / "m.py").read_text(), module)
    assert list(module["FEATURES"]) == bad
    rerank.export(model, str(tmp_path / "m.sql"), "sql")
    assert '"""); DROP TABLE t; --"' in (tmp_path / "m.sql").read_text()
    for to in ("c", "python"):
        with pytest.raises(rerank.ConfigError, match="--name"):
            rerank.export(model, str(tmp_path / "m"), to, name="x; int y")


def test_columns_that_differ_in_case_alone_are_refused_in_sql(tmp_path):
    data = CandidateLists.from_arrays([[1.0, 2.0], [2.0, 1.0]], [0, 1], group=[2], feature_names=["a", "A"])
    model = rerank.train(data, learner="perceptron", epochs=1)
    with pytest.raises(rerank.ConfigError, match="no upper and lower case"):
        rerank.export(model, str(tmp_path / "m.sql"), "sql")


def test_the_verb(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    KINDS["linear kept"]().save("m")
    err = rerank("export", "m", "--to", "c", "--out", "m.h").err
    assert err == "rerank: c: a linear model, 6 weights, to m.h\n"
    err = rerank("export", "m", "--to", "sql", "--out", "m.sql").err
    assert "note: m: its keep margin 0.5 is no part of a score, so it is left out" in err
    assert rerank("export", "m", "--to", "python", "--out", "-").out.startswith('"""Scores of a rerank model')
    err = rerank("export", "m", "--to", "jsn", "--out", "x", code=2).err
    assert "models are not exported to jsn; did you mean 'json'?" in err
    err = rerank("export", "m", "--to", "c", "--out", "m", code=2).err
    assert "m is one of the input files" in err
    err = rerank("export", "m", "--to", "sql", "--dialect", "mysql", "--out", "x", code=2).err
    assert "--dialect: unknown 'mysql'" in err
