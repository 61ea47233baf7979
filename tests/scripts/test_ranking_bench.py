"""Other tools on the same lists: what they are given, how their settings are chosen, and who is absent."""

import importlib

import numpy as np
import pytest
from conftest import ROOT
from ranked_lists import peers, ranklib
from ranked_lists.arrays import arrays_of, explicit_pairs, list_minmax
from ranked_lists.peers import PEERS, Peer, run_peer
from small_ranking import ranking_lists

import rerank
from rerank import CandidateLists, DataError


@pytest.fixture
def bench(monkeypatch):
    """The benchmark as a module."""
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    return importlib.import_module("ranking")


def small():
    X = [[1.0, np.nan], [3.0, 5.0], [2.0, 5.0], [7.0, 7.0]]
    return CandidateLists.from_arrays(X, [0, 2, 1, 0], group=[3, 1])


def test_lists_as_arrays():
    part = arrays_of(small(), missing=0.0)
    assert part.X.tolist() == [[1, 0], [3, 5], [2, 5], [7, 7]]
    assert part.lengths.tolist() == [3, 1]
    assert part.qid.tolist() == [0, 0, 0, 1]
    assert np.isnan(arrays_of(small(), missing=np.nan).X[0, 1])
    assert list_minmax(part).X.tolist() == [[0, 0], [1, 1], [0.5, 1], [0, 0]]
    pairs = explicit_pairs(part)
    assert sorted(pairs.tolist()) == sorted([[2.0, 5.0], [1.0, 0.0], [1.0, 5.0]])


def test_unjudged_items_are_refused():
    with pytest.raises(DataError, match="expected a label for every item"):
        arrays_of(CandidateLists.from_arrays([[1.0], [2.0]], [1, np.nan]), 0.0)


def test_the_first_of_the_best_cells_on_dev_is_judged_on_test(monkeypatch):
    fitted = []

    def fit(train, dev, sign):
        fitted.append(sign)
        return lambda part: np.sign(sign) * part.X[:, 0]

    monkeypatch.setitem(PEERS, "one", Peer(fit, {"sign": [-1, 1, 2]}, "numpy"))
    lists = [ranking_lists(seed, first=100 * seed) for seed in range(3)]
    found = run_peer("one", PEERS["one"].grid, "AP", lists)
    assert fitted == [-1, 1, 2]
    assert found["settings"] == {"sign": 1}
    assert found["scores"] == lists[2].features.column(0).tolist()
    assert found["chosen_by"] == rerank.evaluate(lists[1], lists[1].features.column(0), ["AP"])["AP"]
    assert 0 <= found["seconds"] <= found["with_choosing"]


def test_scores_are_in_the_order_of_the_rows(monkeypatch):
    monkeypatch.setitem(PEERS, "one", Peer(lambda *_, x: lambda part: part.X[:, 0], {"x": [1]}, "numpy"))
    lists = CandidateLists.from_arrays([[1.0], [2.0], [3.0], [4.0]], [0, 1, 1, 0], qid=["a", "b", "a", "b"])
    assert run_peer("one", {"x": [1]}, "AP", [lists] * 3)["scores"] == [1, 2, 3, 4]


@pytest.mark.parametrize("name", [name for name, peer in PEERS.items() if peer.module])
def test_tools_that_are_installed_rank_better_than_chance(name):
    pytest.importorskip(PEERS[name].module)
    lists = [ranking_lists(seed, 40, first=100 * seed) for seed in range(3)]
    grid = {key: values[:1] for key, values in PEERS[name].grid.items()}
    if name == "lightgbm":
        grid["min_child_samples"] = [5]
    found = run_peer(name, grid, "AP", lists)
    knows = rerank.evaluate(lists[2], lists[2].features.column(0), ["AP"])["AP"]
    assert rerank.evaluate(lists[2], np.array(found["scores"]), ["AP"])["AP"] > knows - 0.1


def test_absent_tools_are_named(monkeypatch, tmp_path):
    assert (
        Peer(lambda *_: None, {}, "no_such_module_anywhere").absent() == "no module no_such_module_anywhere"
    )
    monkeypatch.setenv(peers.JAR, str(tmp_path / "none.jar"))
    assert PEERS["ranklib-rankboost"].absent() == f"{peers.JAR} names no file"


def test_ranklib_reads_ids_with_a_prefix(tmp_path):
    ranklib.write_letor(tmp_path / "lists", arrays_of(small(), 0.0), "d")
    lines = (tmp_path / "lists").read_text().splitlines()
    assert lines[0] == "0 qid:d0 1:1.0 2:0.0"
    assert lines[3] == "0 qid:d1 1:7.0 2:7.0"


CONFIG = """\
data: {train: train.letor, dev: dev.letor, test: test.letor}
select: {metric: AP}
metrics: [AP, nDCG@5]
baseline: ridge
seed: 1
learners:
  random:
  ridge: {grid: {penalty: [0.1, 10]}}
"""


def test_tools_are_rows_beside_those_of_an_experiment(bench, tmp_path, monkeypatch, capsys):
    for seed, part in enumerate(("train", "dev", "test")):
        rerank.save(ranking_lists(seed, first=100 * seed), str(tmp_path / f"{part}.letor"), "svmlight")
    (tmp_path / "small.yaml").write_text(CONFIG)
    more = CONFIG.replace("random:", "perceptron: {epochs: 2}").replace("baseline: ridge\n", "")
    (tmp_path / "more.yaml").write_text(more)
    monkeypatch.setitem(PEERS, "one", Peer(lambda *_, x: lambda part: part.X[:, 0], {"x": [1]}, "numpy"))
    monkeypatch.setenv(peers.JAR, "")
    bench.compare(
        [str(tmp_path / "small.yaml"), str(tmp_path / "more.yaml")],
        tmp_path / "out",
        ["one", "ranklib-rankboost"],
    )
    printed = capsys.readouterr().out
    assert "ranklib-rankboost: absent" in printed
    test = rerank.load(tmp_path / "test.letor")
    value = rerank.evaluate(test, test.features.column(0), ["AP"])["AP"]
    rows = [line.split() for line in printed.splitlines()]
    assert next(row for row in rows if row[:1] == ["one"])[1] == f"{value:.4f}"
    assert {row[0] for row in rows if len(row) == 3} >= {"random", "ridge", "perceptron", "one"}
