"""Labels of candidates by comparisons, comparisons as lists, and learners of pairs on them."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
from reading import quietly
from reference import preferences as twin

import rerank as product
from rerank.core.errors import ConfigError, DataError, DataNote, RerankError


def lists_and_games(n_lists=20, n=5, seed=0, per_list=12):
    """Lists with one telling feature, and comparisons that its value decides with some noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n_lists * n, 2))
    ids = [f"i{k}" for k in range(n_lists * n)]
    qid = np.repeat([f"q{i}" for i in range(n_lists)], n)
    games = []
    for q in range(n_lists):
        for _ in range(per_list):
            i, j = q * n + rng.choice(n, 2, replace=False)
            wins = rng.random() < 1 / (1 + np.exp(3 * (x[j, 0] - x[i, 0])))
            games.append(
                {"list": f"q{q}", "first": ids[i], "second": ids[j], "winner": "first" if wins else "second"}
            )
    return product.CandidateLists.from_arrays(x, qid=qid, item_ids=ids), games


def test_labels_are_the_strengths_of_each_list_by_itself():
    lists, games = lists_and_games(n_lists=3, n=3, per_list=4)
    made = quietly(lists, product.label_from_comparisons, comparisons=games, prior=0.8)
    for q in range(3):
        own = [game for game in games if game["list"] == f"q{q}"]
        names = list(lists.item_ids)[3 * q : 3 * q + 3]
        rows = [
            (
                names.index(g["first"]),
                names.index(g["second"]),
                (g["winner"] == "first", 0, g["winner"] != "first"),
            )
            for g in own
        ]

        def value(x, rows=rows):
            return twin.log_prior(x, 0.8) + twin.log_likelihood(x, [(*row, 0.0, 0) for row in rows])

        slow, _ = twin.climbed(value, [0.0] * 3, range(3))
        compared = {k for i, j, _ in rows for k in (i, j)}
        for k in range(3):
            label = made.labels[3 * q + k]
            assert np.isnan(label) == (k not in compared)
            assert np.isnan(label) or label == pytest.approx(slow[k], abs=1e-5)


def test_items_that_are_as_strong_have_the_same_label():
    lists = product.CandidateLists.from_arrays(np.eye(4), qid=["q"] * 4, item_ids=list("abcd"))
    games = [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d"), ("b", "d"), ("c", "d")]
    with pytest.warns(DataNote, match="labels tie or contradict 3 of 6 wins"):
        made = product.label_from_comparisons(
            lists, [{"list": "q", "winner": one, "loser": other} for one, other in games]
        )
    assert made.labels[0] == made.labels[1] == made.labels[2] > made.labels[3]


def test_wins_that_labels_contradict_are_counted():
    lists = product.CandidateLists.from_arrays(np.eye(2), qid=["q"] * 2, item_ids=list("ab"))
    games = [("a", "b")] * 3 + [("b", "a")]
    with pytest.warns(DataNote, match="labels tie or contradict 1 of 4 wins"):
        product.label_from_comparisons(
            lists, [{"list": "q", "winner": one, "loser": other} for one, other in games]
        )


def test_lists_that_fall_apart_are_reported():
    lists = product.CandidateLists.from_arrays(np.eye(4), qid=["q"] * 4, item_ids=list("abcd"))
    games = [{"list": "q", "winner": "a", "loser": "b"}, {"list": "q", "winner": "c", "loser": "d"}]
    with pytest.warns(DataNote, match="comparisons of 1 list fall apart"):
        product.label_from_comparisons(lists, games)


@pytest.mark.parametrize("learner", ["perceptron", "ranksvm", "rankboost", "preference-svm"])
def test_learners_of_pairs_learn_from_comparisons(learner):
    lists, games = lists_and_games()
    made = quietly(lists, product.label_from_comparisons, comparisons=games)
    settings = {"epochs": 10} if learner == "perceptron" else {"rounds": 20} if learner == "rankboost" else {}
    model = product.train(made, learner, **settings)
    scores = model.score(made)
    x = lists.features.to_dense()[:, 0]
    right = total = 0
    for start in range(0, 100, 5):
        for i, j in itertools.combinations(range(start, start + 5), 2):
            right, total = right + ((scores[i] - scores[j]) * (x[i] - x[j]) > 0), total + 1
    assert right / total > 0.8


@pytest.mark.parametrize(
    ("game", "message"),
    [
        ({"list": "q9", "winner": "i0", "loser": "i1"}, "comparison 1: found list 'q9', expected one of"),
        (
            {"list": "q0", "winner": "i0", "loser": "i9"},
            "comparison 1: found item 'i9', expected one of list",
        ),
        ({"winner": "i0", "loser": "i1"}, "found no column of lists"),
    ],
)
def test_what_the_lists_lack_is_one_line(game, message):
    lists, _ = lists_and_games(n_lists=2)
    with pytest.raises(DataError, match=message):
        product.label_from_comparisons(lists, [game])


def rows(tmp_path):
    path = tmp_path / "chosen.jsonl"
    entries = [
        {"prompt": "p", "chosen": "good", "rejected": "bad"},
        {"prompt": "p", "chosen": "good", "rejected": "worse"},
        {"prompt": "r", "chosen": "yes", "rejected": "no"},
    ]
    path.write_text("".join(json.dumps(one) + "\n" for one in entries))
    return path


def test_chosen_and_rejected_answers_are_lists(tmp_path):
    lists = quietly(rows(tmp_path))
    assert list(lists.texts) == ["good", "bad", "worse", "yes", "no"]
    assert list(lists.prompts) == ["p", "r"]
    assert lists.lengths.tolist() == [3, 2]
    assert lists.labels[0] > lists.labels[1] == lists.labels[2]
    assert lists.labels[3] == -lists.labels[4] > 0


def test_comparisons_by_text_label_lists_of_texts(tmp_path, rerank):
    data = tmp_path / "lists.jsonl"
    data.write_text(
        json.dumps(
            {
                "id": "1",
                "prompt": "p",
                "candidates": [{"text": t, "x": x} for t, x in [("bad", 0), ("good", 1)]],
            }
        )
        + "\n"
    )
    (tmp_path / "c.jsonl").write_text(json.dumps({"prompt": "p", "chosen": "good", "rejected": "bad"}) + "\n")
    out = tmp_path / "out.jsonl"
    rerank("label", data, "--from-comparisons", tmp_path / "c.jsonl", "--out", out)
    labels = quietly(out).labels
    assert labels[1] == -labels[0] > 0
    rerank("label", data, "--from-comparisons", tmp_path / "c.jsonl", "--prior", "5", "--out", out)
    assert quietly(out).labels[1] > labels[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--from-comparisons", "{c}"], "expected --out"),
        (["--from-comparisons", "{c}", "--metric", "WER", "--out", "o"], "--metric and --from-comparisons"),
        (["--prior", "1", "--metric", "WER"], "--prior: not used without"),
        (["--column", "first=a", "--metric", "WER"], "--column: not used without"),
        (["--from-comparisons", "{c}", "--prior", "-1", "--out", "o.store"], "--prior: found -1"),
        ([], "no metric is named"),
    ],
)
def test_options_that_exclude_each_other_are_refused(tmp_path, rerank, arguments, message):
    path = rows(tmp_path)
    assert message in rerank("label", path, *(one.format(c=path) for one in arguments), code=2).err


def test_the_format_is_read_only_and_needs_lists(tmp_path):
    path = tmp_path / "a.jsonl"
    path.write_text('{"chosen": "x", "rejected": "y"}\n')
    with pytest.raises(RerankError, match="found no lists"):
        quietly(path, format="preferences")
    with pytest.raises(DataError, match="read only"):
        product.save(quietly(rows(tmp_path)), str(tmp_path / "b"), "preferences")
    with pytest.raises(ConfigError, match="not used without --out"):
        product.label_from_comparisons(rows(tmp_path), [("a", "b")], to="jsonl")
