"""The cache of rankers on the command line."""

import pytest
from reference.nearest_lists import NearestLists
from small_ranking import ranking_lists

from rerank import CandidateLists, save
from rerank.learners.base import LEARNERS


@pytest.fixture
def work(rerank, tmp_path, monkeypatch):
    """A folder with a transductive model, dev.jsonl and test.jsonl."""
    LEARNERS.names()
    monkeypatch.setitem(LEARNERS._entries, "nearest-lists", NearestLists)
    monkeypatch.chdir(tmp_path)
    for seed, part in enumerate(("train", "dev", "test")):
        save(ranking_lists(seed, first=100 * seed), f"{part}.jsonl")
    settings = ("--set", "base.rounds=5", "--set", "noise=3")
    rerank("train", "--learner", "nearest-lists", "--data", "train.jsonl", "--out", "model", *settings)
    return tmp_path


def origins(path):
    heads, *rows = (line.split("\t") for line in path.read_text().splitlines())
    assert heads[5] == "ranker"
    return [row[5] for row in rows]


def test_predictions_with_a_cache_are_those_without(rerank, work):
    expected = rerank("predict", "model", "test.jsonl").out
    report = ("--transductive-report", "report")
    made = rerank("predict", "model", "test.jsonl", "--cache", "c", *report)
    assert "rankers made 12;" in made.err
    assert origins(work / "report") == ["made"] * 12
    reused = rerank("predict", "model", "test.jsonl", "--cache", "c", *report, "--jobs", 2)
    assert "rankers reused 12;" in reused.err
    assert origins(work / "report") == ["reused"] * 12
    assert made.out == reused.out == expected


def test_new_lists_are_ranked_by_stored_rankers(rerank, work):
    rerank("predict", "model", "dev.jsonl", "--cache", "c", "--out", "dev.scores")
    files = sorted(work.joinpath("c").rglob("*"))
    seen = []
    for by in ("list-kernel", "histogram"):
        for jobs in (1, 2):
            near = ("--cache", "c", "--cache-nearest", 3, "--cache-by", by, "--jobs", jobs)
            found = rerank("predict", "model", "test.jsonl", *near, "--transductive-report", "report")
            assert "rankers nearest 12;" in found.err
            assert all(len(origin.split(", ")) == 3 for origin in origins(work / "report"))
            seen.append(found.out)
    assert seen[0] == seen[1] != seen[2] == seen[3]
    assert sorted(work.joinpath("c").rglob("*")) == files


def test_wrong_uses_are_one_line(rerank, work):
    rerank("train", "--learner", "ridge", "--data", "train.jsonl", "--out", "linear")
    lists = CandidateLists.from_arrays([[1.0, 2.0, 3.0]] * 2, [0, 1])
    save(lists, "other.jsonl")
    rerank(
        "train", "--learner", "nearest-lists", "--data", "other.jsonl", "--out", "other", "--format", "jsonl"
    )
    rerank("predict", "other", "other.jsonl", "--cache", "others", "--out", "s")
    for model, options, expected in (
        ("linear", ["--cache", "c"], "--cache: not used by a model of kind linear"),
        ("model", ["--cache-nearest", 1], "--cache-nearest: not used without --cache"),
        ("model", ["--cache", "c", "--cache-by", "histogram"], "--cache-by: not used without"),
        ("model", ["--cache", "c", "--cache-nearest", 1, "--cache-by", "x"], "--cache-by: found 'x'"),
        ("model", ["--cache", "c", "--cache-nearest", 1], "found no cache.json"),
        ("model", ["--cache", "others"], "found rankers of another model"),
        ("other", ["--cache", "others", "--cache-nearest", 2], "found 1 ranker, expected 2 or more"),
        ("model", ["--cache", "model"], "model"),
    ):
        found = rerank("predict", model, "test.jsonl", *options, "--out", "x", code=2)
        assert expected in found.err
        assert found.err.count("\n") == 1
        assert not (work / "x").exists()
    assert not (work / "c").exists()
