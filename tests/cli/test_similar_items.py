"""``rerank similarity`` with kernels of items: what it writes, and what it refuses."""

import errno
import json
import sys

import numpy as np
import pytest
from command_line import tsv

import rerank as package
from rerank.core.errors import RerankError
from rerank.similarity import item_gram, nearest, plane
from rerank.similarity.compare import list_similarity

TREES = ["(S (NP (DT the) (NN dog)) (VP barks))", "(S (NP (DT a) (NN dog)) (VP barks))", "(NP (NN cat))", ""]
FILES = ("gram.npy", "items.tsv", "nearest.tsv")


def lists_of(n, structures=("passage",), ids=None, unit=10):
    rng = np.random.default_rng(n)
    return package.CandidateLists.from_arrays(
        rng.standard_normal((n, 2)) * [1, unit],
        group=[n // 2, n - n // 2],
        feature_names=["f", "g"],
        item_ids=ids,
        structures={name: [TREES[k] for k in rng.integers(0, 4, n)] for name in structures},
    )


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package.save(lists_of(9), "a.jsonl")
    package.save(lists_of(5, ids=["v", "w", "x", "y", "z"]), "b.jsonl")
    package.save(lists_of(4, ("passage", "question")), "two.jsonl")
    package.save(package.CandidateLists.from_arrays([[1.0], [2.0]], feature_names=["h"]), "bare.jsonl")
    return tmp_path


def test_what_is_written_is_what_python_computes(rerank, files):
    out = rerank(
        "similarity", "a.jsonl", "--kernel", "ptk", "--set", "decay=0.3", "--out", "o", "-n", "2"
    ).out
    expected = item_gram("ptk(decay=.3)", package.load("a.jsonl"))
    assert np.array_equal(np.load("o/gram.npy"), expected)
    rows = tsv(files / "o" / "items.tsv")
    assert [row["item"] for row in rows] == [f"1/{i}" for i in range(1, 5)] + [f"2/{i}" for i in range(1, 6)]
    assert {(row["file"], row["list"]) for row in rows} == {("a.jsonl", "1"), ("a.jsonl", "2")}
    points = [[float(row["x"]), float(row["y"])] for row in rows]
    np.testing.assert_allclose(points, plane(expected)[0], atol=1e-6)
    places, values = nearest(expected, 2)
    found = [(row["neighbour"], float(row["similarity"])) for row in tsv(files / "o" / "nearest.tsv")]
    there = places >= 0
    assert found == [(rows[j]["item"], value) for j, value in zip(places[there], values[there], strict=True)]
    n_empty = int(np.sum(expected.diagonal() == 0))
    assert "kernel    ptk(passage, decay=0.3); scaling none" in out
    assert "items     9 in 2 lists of 1 file" in out
    assert f"{n_empty} items without what the kernel compares" in out
    assert "positive semi-definite" in out
    summary = json.loads(rerank("similarity", "a.jsonl", "-k", "ptk(decay=.3)", "--as", "json").out)
    assert summary == list_similarity("a.jsonl", "ptk", settings={"decay": 0.3}).as_json()
    assert (summary["lists"], summary["items"], summary["empty"]) == (2, 9, n_empty)


def test_jobs_change_no_byte_and_the_matrix_is_the_file(rerank, files):
    kernel = "sst(passage) * linear + 0.5 * gaussian(f)"
    for jobs in ("1", "3"):
        rerank("similarity", "a.jsonl", "b.jsonl", "-k", kernel, "--out", f"o{jobs}", "--jobs", jobs)
    for name in FILES:
        assert (files / "o1" / name).read_bytes() == (files / "o3" / name).read_bytes()
    assert sorted(path.name for path in (files / "o1").iterdir()) == sorted(FILES)
    plain = list_similarity(["a.jsonl", "b.jsonl"], kernel)
    assert plain.scaling == "zscore"
    assert np.array_equal(np.load("o1/gram.npy"), plain.gram)
    assert [row["item"] for row in tsv(files / "o1" / "items.tsv")] == plain.names
    assert plain.names[9:] == ["1/v", "1/w", "2/x", "2/y", "2/z"]
    assert list_similarity(["a.jsonl", "two.jsonl"], "sst(passage)").names[9] == "two.jsonl:1/1"
    found = list_similarity(["a.jsonl"], "linear", "o")
    kept = found.gram.copy()
    rerank("similarity", "b.jsonl", "-k", "linear", "--out", "o")
    assert np.array_equal(found.gram, kept)
    with pytest.raises(ValueError, match="read-only"):
        found.gram[0, 0] = 1


def test_the_map_is_of_few_items(rerank, files, monkeypatch):
    pytest.importorskip("matplotlib")
    rerank("similarity", "a.jsonl", "-k", "bow", "--figure", "map.svg")
    assert b"9 items by kernel bow(passage)" in (files / "map.svg").read_bytes()
    monkeypatch.setattr(sys.modules["rerank.similarity.compare"], "MOST_FOR_SPECTRUM", 8)
    found = list_similarity("a.jsonl", "bow")
    assert found.spectrum is found.plane is None
    rerank("similarity", "a.jsonl", "-k", "bow", "--out", "o")
    assert tsv(files / "o" / "items.tsv")[0]["x"] == ""
    err = rerank("similarity", "a.jsonl", "-k", "bow", "--out", "p", "--figure", "m.svg", code=2).err
    assert "figure: found 9 items, expected at most" in err
    assert not (files / "p").exists()


def test_memory_and_the_disk(files, monkeypatch, memory_left):
    memory_left(600)
    monkeypatch.setattr(sys.modules["rerank.similarity.compare"], "MOST_FOR_SPECTRUM", 1)
    with pytest.raises(RerankError, match="needs 648 bytes for a Gram matrix of 9 x 9"):
        list_similarity(lists_of(9), "linear")
    memory_left(10**9)
    before = list_similarity(lists_of(9), "linear", scaling="none").gram

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    list_similarity(["a.jsonl"], "linear", "o", scaling="none")
    assert np.array_equal(np.load("o/gram.npy"), before)
    monkeypatch.setattr("os.posix_fallocate", full)
    with pytest.raises(RerankError, match=r"gram\.npy: no space left on device"):
        list_similarity(["b.jsonl"], "linear", "o")
    assert np.array_equal(np.load("o/gram.npy"), before)
    assert len(list((files / "o").iterdir())) == 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonl", "-k", "pkt"], "unknown kernel 'pkt'; did you mean 'ptk'? known: angles"),
        (["a.jsonl", "-k", "ptk(", "-o", "o"], "character 5: found the end, expected arguments"),
        (["two.jsonl", "-k", "ptk"], "found trees passage, question"),
        (["two.jsonl", "a.jsonl", "-k", "ptk(question)"], "a.jsonl: no trees 'question'"),
        (["bare.jsonl", "-k", "ptk"], "bare.jsonl: found no trees, which kernel ptk compares"),
        (["a.jsonl", "bare.jsonl", "-k", "linear"], "found no feature of a.jsonl"),
        (["a.jsonl", "-k", "linear(x)"], "kernel linear: no feature matches 'x'"),
        (["a.jsonl", "-k", "ptk", "-c", "3"], "kernel ptk: unknown setting 'components'"),
        (
            ["a.jsonl", "-k", "2*ptk", "-c", "3"],
            "components: settings of an expression are written within it",
        ),
        (["a.jsonl", "-k", "ptk", "--set", "decay=2"], "kernel ptk: decay: found 2, expected 1 or less"),
        (["a.jsonl", "-k", "ptk", "--scaling", "zscore"], "not used by kernel ptk(passage)"),
        (["a.jsonl", "-k", "ptk", "-o", "o", "--repair", "clip"], "repair: not used with kernel ptk"),
        (["a.jsonl", "-k", "ptk", "-n", "3"], "nearest: not used without"),
        (["a.jsonl", "-k", "polynomial(degree=100, constant=1e9)"], "a value exceeds the largest number"),
    ],
)
def test_refused(rerank, files, arguments, message):
    before = sorted(files.iterdir())
    result = rerank("similarity", *arguments, code=2)
    assert message in result.err
    assert len([line for line in result.err.splitlines() if line.startswith("rerank: ")]) == 1
    assert sorted(files.iterdir()) == before


def test_ranges_that_decide_without_scaling_are_noted(rerank, files):
    note = "but kernel linear depends on it"
    package.save(lists_of(9, unit=1e5), "u.jsonl")
    assert note in rerank("similarity", "u.jsonl", "-k", "linear", "--scaling", "none").err
    assert note not in rerank("similarity", "u.jsonl", "-k", "ptk", "--scaling", "none").err


def test_listed(rerank):
    found = rerank("list", "kernels").out
    assert "items, by trees" in found
    assert "items, by features" in found
    assert "max_children" in rerank("list", "kernels", "ptk").out
    assert "did you mean 'gaussian'" in rerank("list", "kernels", "gausian", code=2).err
