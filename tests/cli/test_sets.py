"""Verbs that make sets of sets: convert, append, split; and compare."""

import itertools
import json

import numpy as np
import pytest

from rerank import load
from rerank.formats.base import save


def test_convert_to_a_store_and_back(rerank, work):
    result = rerank("convert", "train.letor", "--out", "train.store", "--feature-names", "features.txt")
    assert result.err == "rerank: 40 lists, 240 items to train.store (store)\n"
    before, after = load("train.letor"), load("train.store")
    with pytest.warns(UserWarning, match="feature names"):
        save(after, "back.letor")
    assert after.feature_names[0] == "distance"
    for lists in (after, load("back.letor")):
        np.testing.assert_array_equal(lists.features.to_dense(), before.features.to_dense())
        np.testing.assert_array_equal(lists.labels, before.labels)
        assert list(lists.item_ids) == list(before.item_ids)


def test_convert_to_standard_output_needs_a_format(rerank, work):
    assert "choose one with --to" in rerank("convert", "train.letor", "--out", "-", code=2).err
    out = rerank("convert", "train.letor", "--out", "-", "--to", "svmlight").out
    assert len(out.splitlines()) == 240


def test_append_adds_named_columns_in_the_order_of_the_lines(rerank, work):
    lines = (work / "test.letor").read_text().splitlines()
    order = np.random.default_rng(1).permutation(len(lines))
    (work / "apart.letor").write_text("".join(lines[i] + "\n" for i in order))
    (work / "a").write_text("".join(f"{i}\n" for i in order))
    (work / "b").write_text("".join(f"{-i / 8}\n" for i in order))
    rerank("append", "apart.letor", "a=a", "b=b", "--out", "more.store")
    more = load("more.store")
    assert more.names()[-2:] == ["a", "b"]
    kept = load("test.letor")
    where = {name: i for i, name in enumerate(kept.item_ids)}
    np.testing.assert_array_equal(
        more.features.column(more.n_features - 2), [where[i] for i in more.item_ids]
    )
    np.testing.assert_array_equal(
        more.features.column(more.n_features - 1), [-where[i] / 8 for i in more.item_ids]
    )


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (("a",), "found 'a', expected NAME=FILE"),
        (("a=one", "a=one"), "given twice"),
        (("3=one",), "feature '3' exists already"),
        (("a=short",), "short: found 1 scores, expected 72"),
        (("a=absent",), "absent: no such file"),
    ],
)
def test_columns_that_cannot_be_appended(rerank, work, columns, message):
    (work / "one").write_text("1\n" * 72)
    (work / "short").write_text("1\n")
    assert message in rerank("append", "test.letor", *columns, "--out", "x.letor", code=2).err
    assert not (work / "x.letor").exists()


def test_split_draws_parts_by_list(rerank, work):
    asked = ("split", "train.letor", "-p", "train=0.75", "-p", "dev=0.25", "--out")
    rerank(*asked, "parts")
    rerank(*asked, "again")
    rerank(*asked, "other", "--seed", 2)
    names = [list(load(work / "parts" / f"{part}.letor").list_ids) for part in ("train", "dev")]
    assert [len(part) for part in names] == [30, 10]
    assert sorted(names[0] + names[1]) == sorted(load("train.letor").list_ids)
    for part in ("train", "dev"):
        same, other = ((work / folder / f"{part}.letor").read_bytes() for folder in ("again", "other"))
        assert same == (work / "parts" / f"{part}.letor").read_bytes() != other


def test_split_makes_folds(rerank, work):
    rerank("split", "train.letor", "--folds", 4, "--out", "folds", "--suffix", ".letor.gz")
    tests = [list(load(work / "folds" / f"fold{i}" / "test.letor.gz").list_ids) for i in (1, 2, 3, 4)]
    assert sorted(itertools.chain(*tests)) == sorted(load("train.letor").list_ids)
    assert load(work / "folds" / "fold1" / "train.letor.gz").n_lists == 30


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ((), "give parts"),
        (("-k", 2, "-p", "a=1"), "give parts"),
        (("-k", 41), "41"),
        (("-p", "a=0.5", "-p", "a=0.5"), "each name once"),
        (("-p", "a=x"), "expected NAME=SHARE"),
        (("-p", "a/b=0.5"), "expected NAME=SHARE"),
        (("-p", "a=0.9", "-p", "b=0.9"), "their sum at most 1"),
        (("-p", "a=1", "--suffix", ".what"), "does not determine a format"),
    ],
)
def test_splits_that_cannot_be_made(rerank, work, asked, message):
    assert message in rerank("split", "train.letor", *asked, "--out", "parts", code=2).err


def test_a_format_that_is_only_read_is_not_offered_for_writing(rerank, work):
    error = rerank("convert", "train.letor", "--out", "lists.what", code=2).err
    assert "moses" in error
    assert "fairseq" not in error


@pytest.fixture
def scored(rerank, work):
    for learner in ("perceptron", "best-feature", "random"):
        metric = () if learner == "random" else ("-m", "RR")
        rerank("train", "--data", "train.letor", "-l", learner, *metric, "--out", "model")
        rerank("predict", "model", "test.letor", "--out", learner)
    return work


def test_compare_tests_every_pair(rerank, scored, golden):
    systems = ("perceptron", "best-feature", "random")
    asked = ("compare", "test.letor", *systems, "-m", "MRR", "-m", "nDCG@5", "--samples", 500)
    golden("compare.txt", rerank(*asked).out)
    found = json.loads(rerank(*asked, "--as", "json").out)
    pairs = found["metrics"]["RR"]["pairs"]
    assert [(p["a"], p["b"]) for p in pairs] == [
        ("perceptron", "best-feature"), ("perceptron", "random"), ("best-feature", "random"),
    ]  # fmt: skip
    judged = json.loads(
        rerank("eval", "test.letor", *systems, "-m", "RR", "-b", "random", "--as", "json").out
    )
    values = {s["name"]: s["metrics"]["RR"]["value"] for s in judged["systems"]}
    for pair in pairs:
        assert pair["difference"] == pytest.approx(values[pair["a"]] - values[pair["b"]])
        assert pair["wins"] + pair["ties"] + pair["losses"] == 12


def test_compare_needs_two_systems(rerank, scored):
    assert "two systems" in rerank("compare", "test.letor", "random", code=2).err
    assert "given twice" in rerank("compare", "test.letor", "random", "random", code=2).err
