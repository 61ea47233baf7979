"""``rerank similarity``: the matrix, the nearest lists and the map that it writes, and what it refuses."""

import json

import numpy as np
import pytest
from command_line import tsv

import rerank as package
from rerank.data.scaling import fit_scaling
from rerank.similarity import gram, nearest, plane, repaired, spectrum
from rerank.similarity.compare import list_similarity


def scaled(path, scaling="zscore"):
    lists = package.load(path)
    return fit_scaling(scaling, lists).apply(lists)


def test_what_is_written_is_what_python_computes(rerank, work):
    result = rerank("similarity", "train.letor", "--out", "alike", "--nearest", "3")
    expected = gram(scaled("train.letor"))
    found = np.load("alike/gram.npy")
    assert np.array_equal(found, expected)
    lists = tsv("alike/lists.tsv")
    names = [row["list"] for row in lists]
    loaded = package.load("train.letor")
    assert names == [loaded.list_id(i) for i in range(loaded.n_lists)]
    assert [int(row["items"]) for row in lists] == loaded.lengths.tolist()
    assert {row["file"] for row in lists} == {"train.letor"}
    points = [[float(row["x"]), float(row["y"])] for row in lists]
    np.testing.assert_allclose(points, plane(expected)[0], atol=1e-6)
    places, values = nearest(expected, 3)
    rows = iter(tsv("alike/nearest.tsv"))
    for i in range(len(names)):
        for k in range(3):
            row = next(rows)
            neighbour = names[places[i, k]]
            assert (row["list"], row["rank"], row["neighbour"]) == (names[i], str(k + 1), neighbour)
            assert float(row["similarity"]) == values[i, k]
    assert f"smallest eigenvalue {spectrum(expected).smallest:.4g}" in result.out
    assert f"{loaded.n_lists} with {loaded.n_items} items of 1 file" in result.out
    assert "components 5; scaling zscore" in result.out


def test_the_summary_as_json(rerank, work):
    found = json.loads(rerank("similarity", "train.letor", "--as", "json", "-c", "2").out)
    plain = list_similarity("train.letor", settings={"components": 2})
    assert found == plain.as_json()
    assert found["settings"] == {"components": 2}
    first = found["most_similar"][0]
    i, j = (plain.names.index(name) for name in first["lists"])
    assert first["similarity"] == plain.gram[i, j] == np.triu(plain.gram, 1).max()


def test_a_repair_concerns_the_matrix_alone(rerank, work):
    rerank("similarity", "train.letor", "--out", "a")
    for how in ("clip", "flip"):
        rerank("similarity", "train.letor", "--out", how, "--repair", how)
        assert np.array_equal(np.load(f"{how}/gram.npy"), repaired(np.load("a/gram.npy"), how))
        assert (work / how / "nearest.tsv").read_bytes() == (work / "a" / "nearest.tsv").read_bytes()
        assert (work / how / "lists.tsv").read_bytes() == (work / "a" / "lists.tsv").read_bytes()


def test_the_map_is_drawn(rerank, work):
    pytest.importorskip("matplotlib")
    rerank("similarity", "train.letor", "dev.letor", "--figure", "map.svg")
    first = (work / "map.svg").read_bytes()
    rerank("similarity", "train.letor", "dev.letor", "--out", "d", "--figure", "d/map.svg")
    assert (work / "d" / "map.svg").read_bytes() == first
    assert b">train.letor</text>" in first
    assert b"by kernel list" in first


def test_files_that_share_ids(rerank, work):
    (work / "more").mkdir()
    (work / "more" / "test.letor").write_bytes((work / "test.letor").read_bytes())
    rerank("similarity", "test.letor", "dev.letor", "--out", "a")
    assert ":" not in "".join(row["list"] for row in tsv("a/lists.tsv"))
    rerank("similarity", "test.letor", "more/test.letor", "--out", "b")
    rows = tsv("b/lists.tsv")
    assert rows[0]["list"].startswith("test.letor:")
    assert rows[-1]["list"].startswith("more/test.letor:")
    K = np.load("b/gram.npy")
    n = len(K) // 2
    np.testing.assert_allclose(K[:n, n:].diagonal(), 1.0)
    rerank("similarity", "dev.letor", "more/../dev.letor", "--out", "c")
    assert tsv("c/lists.tsv")[0]["list"].startswith("dev.letor:")


def test_sets_that_no_file_was_read_for():
    lists = package.CandidateLists.from_arrays(np.arange(8.0).reshape(4, 2) ** 2, group=[2, 2])
    found = list_similarity([lists, lists.subset([1])])
    assert found.names == ["arrays 1:1", "arrays 1:2", "arrays 2:1"]
    assert found.gram[1, 2] == pytest.approx(1.0)


SETS = {
    "a.csv": "qid,f,g\n1,1,2\n1,2,5\n1,0,1\n2,3,3\n2,3,3\n",
    "b.csv": "qid,g,f\n7,2,1\n7,5,2\n7,1,0\n",
    "other.csv": "qid,h\n9,1\n9,2\n",
    "more.csv": "qid,f,h\n9,1,3\n9,2,3\n",
    "gaps.csv": "qid,f,g\n1,,2\n1,2,1\n",
    "one.csv": "qid,f,g\n5,1,2\n",
}
BY = ("--list-column", "qid")


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in SETS.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_features_are_matched_by_name(rerank, tables):
    result = rerank("similarity", "a.csv", "b.csv", *BY, "--out", "o", "--scaling", "none")
    np.testing.assert_allclose(np.load("o/gram.npy"), [[1, 0, 1], [0, 0, 0], [1, 0, 1]], atol=1e-12)
    assert "1 list of equal items: similarity 0 to every list" in result.out
    assert [row["neighbour"] for row in tsv("o/nearest.tsv")] == ["7", "1"]
    assert [row["axes"] for row in tsv("o/lists.tsv")] == ["2", "0", "2"]
    note = rerank("similarity", "a.csv", "more.csv", *BY).err
    assert "a.csv: no feature h, which other files have; read as 0" in note


def test_files_without_a_feature_that_varies_in_both(rerank, tables):
    (tables / "a.svm").write_text("1 qid:1 1:1 2:4\n0 qid:1 1:2 2:3\n")
    (tables / "b.svm").write_text("1 qid:2 7:1 8:4\n0 qid:2 7:2 8:3\n")
    for layout in ("dense", "sparse"):
        err = rerank("similarity", "a.svm", "b.svm", "--layout", layout).err
        assert "b.svm: every similarity to lists of a.svm is 0: no feature varies in both" in err
        assert ("a.svm has 2 features, b.svm 8; absent ones are 0" in err) == (layout == "dense")
    assert "every similarity" not in rerank("similarity", "a.csv", "b.csv", *BY).err


def test_one_list(rerank, tables):
    result = rerank("similarity", "one.csv", *BY, "--out", "o")
    assert np.load("o/gram.npy").tolist() == [[0.0]]
    assert tsv("o/nearest.tsv") == []
    assert "1 with 1 item of 1 file" in result.out
    assert "most similar" not in result.out
    rerank("similarity", "one.csv", *BY, "--out", "o", "-k", "bhattacharyya")
    assert np.load("o/gram.npy").tolist() == [[1.0]]


def test_sparse_features_are_not_scaled(rerank, tables):
    (tables / "s.svm").write_text("1 qid:1 1:1 900000:2\n0 qid:1 5:1\n1 qid:2 900000:7\n0 qid:2 1:1\n")
    assert "scaling none" in rerank("similarity", "s.svm").out


def test_ranges_that_decide_without_scaling_are_noted(rerank, tables):
    (tables / "u.csv").write_text("qid,f,g\n1,1,3000\n1,2,5\n1,0,1\n")
    assert "but kernel list depends on it" in rerank("similarity", "u.csv", *BY, "--scaling", "none").err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.csv", "a.csv"], "a.csv is given twice"),
        (["-", "-"], "- is given twice"),
        (["a.csv", "other.csv"], "other.csv: found no feature of a.csv, expected some in common"),
        (
            ["gaps.csv", "--missing", "nan"],
            "missing (NaN) values of 1 feature (f); kernels on lists need every value",
        ),
        (["gaps.csv"], "found an empty cell"),
        (["a.csv", "--kernel", "lst"], "unknown kernel 'lst'; did you mean 'list'"),
        (["a.csv", "--components", "0"], "kernel list: components: found 0, expected 1 or more"),
        (["a.csv", "-k", "bhattacharyya", "-c", "2"], "kernel bhattacharyya: unknown setting 'components'"),
        (["a.csv", "-c", "2", "--set", "components=3"], "also given by --components"),
        (["a.csv", "--set", "x"], "found no KEY=VALUE"),
        (["a.csv", "--set", "a=1", "--set", "a=2"], "the key is given twice"),
        (["a.csv", "-k", "bhattacharyya", "--set", "ridge=0"], "ridge: found 0, expected more than 0"),
        (["a.csv", "--scaling", "zcore"], "unknown scaling 'zcore'; did you mean 'zscore'"),
        (["a.csv", "--nearest", "2"], "nearest: not used without"),
        (["a.csv", "--nearest", "0", "--out", "o"], "nearest: found 0, expected 1 or more"),
        (["a.csv", "--repair", "clip"], "repair: not used without"),
        (["a.csv", "--repair", "cut", "--out", "o"], "repair: found 'cut', expected none, clip or flip"),
        (["a.csv", "--out", ""], "out: found no name"),
        (["a.csv", "--out", "b.csv"], "b.csv"),
        (["a.csv", "--figure", "a.png"], "figures are SVG"),
        (["a.csv", "--figure", "a.csv"], "a.csv is one of the input files"),
        (["a.csv", "--out", "o", "--figure", "o/gram.npy"], "o/gram.npy"),
        (["a.csv", "missing.csv"], "missing.csv: no such file"),
    ],
)
def test_refused(rerank, tables, arguments, message):
    before = {path: path.read_bytes() for path in tables.iterdir()}
    result = rerank("similarity", *arguments, *BY, code=2)
    assert message in result.err
    assert len(result.err.splitlines()) == 1
    assert {path: path.read_bytes() for path in tables.iterdir()} == before


def test_inputs_are_not_overwritten(rerank, tables):
    (tables / "lists.tsv").write_text("qid\tf\n1\t1\n1\t2\n")
    result = rerank("similarity", "lists.tsv", *BY, "--out", ".", code=2)
    assert "lists.tsv is one of the input files" in result.err
    assert (tables / "lists.tsv").read_text() == "qid\tf\n1\t1\n1\t2\n"
