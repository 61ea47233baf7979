"""Similarities of vectors, files of vectors, and models that take them; each mistake is one line."""

import io
import json
from dataclasses import replace

import numpy as np
import pytest
from fuzz.piped import pipe_of
from reference import vectors as twin

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.reading import Reading
from rerank.extensions.vectors import similarities as module
from rerank.extensions.vectors.similarities import similarities
from rerank.formats.vector_files import read_vectors
from rerank.models.base import load_model

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
NAMES = ["vector_cosine", "vector_dot", "vector_distance", "vector_centrality"]


def lists_of(sizes, dims=3, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    lists = rerank.CandidateLists.from_arrays(rng.normal(size=(n, 1)), rng.integers(0, 2, n), group=sizes)
    items = rng.normal(size=(n, dims)).astype(dtype)
    return replace(lists, vectors=items, query_vectors=rng.normal(size=(len(sizes), dims)).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("room", [1, 40, 1 << 20])
def test_values_are_those_of_the_twin(dtype, room, monkeypatch):
    monkeypatch.setattr(module, "_NUMBERS", room)
    sizes = [1, 4, 2, 7, 1]
    lists = lists_of(sizes, 5, dtype=dtype)
    lists.vectors[2] = 0
    lists.vectors[3] *= 1e-30
    lists.query_vectors[3] = 0
    given = lists.vectors.tolist(), lists.query_vectors.tolist()
    with pytest.warns(DataNote, match=r"1 vector of (item|question)s has only zeros; cosines with"):
        found = similarities(lists, lists.vectors, lists.query_vectors)
    for k, expected in enumerate(twin.similarities(sizes, *given)):
        assert {name: pytest.approx(found[name][k], rel=1e-12, abs=1e-14) for name in expected} == expected
    with pytest.warns(DataNote):
        assert list(similarities(lists, lists.vectors)) == ["centrality"]


def test_vectors_that_do_not_fit():
    lists = lists_of([2, 2])
    with pytest.raises(DataError, match="items have vectors of 3 numbers, those of questions have 2"):
        similarities(lists, lists.vectors, lists.query_vectors[:, :2])
    with pytest.raises(DataError, match="dot of list '1', item 1 is not finite: vectors too large, or NaN"):
        similarities(lists, lists.vectors * 1e200, lists.query_vectors * 1e200)
    with pytest.raises(DataError, match="cosine of list '1', item 1 is not finite"):
        similarities(lists, lists.vectors * np.nan, lists.query_vectors)
    for bad in (lists.vectors[:2], lists.vectors.astype(np.float16), lists.vectors * np.inf):
        with pytest.raises(DataError, match="arrays: vectors "):
            replace(lists, vectors=bad)


RUN = "1 Q0 d1 1 2.0 r\n1 Q0 d2 2 1.0 r\n2 Q0 d2 1 3.0 r\n"
VALUES = {"d1": [1.0, 0.0], "d2": [0.5, 2.0], "d9": [7.0, 7.0]}


@pytest.fixture
def run(tmp_path):
    (tmp_path / "a.run").write_text(RUN)
    return tmp_path / "a.run"


def write(path, names, values, form="jsonl"):
    if form == "parquet":
        polars = pytest.importorskip("polars", reason="extra rerank[parquet]")
        own = {"vector": values} if names is None else {"id": names, "vector": values}
        polars.DataFrame(own).write_parquet(path)
    elif form == "npy":
        np.save(path, np.array(values))
        return str(path) if str(path).endswith(".npy") else f"{path}.npy"
    else:
        entries = values if names is None else [
            {"id": n, "vector": v} for n, v in zip(names, values, strict=True)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    return str(path)


@pytest.mark.parametrize("form", ["jsonl", "parquet"])
def test_files_with_ids_are_joined_by_them(form, run, tmp_path):
    path = write(tmp_path / "v", ["d9", "d2", "d1"], [VALUES[n] for n in ("d9", "d2", "d1")], form)
    queries = write(tmp_path / "q", [2, 1], [[0.0, 1.0], [1.0, 0.0]], form)
    lists = rerank.load(str(run), vectors=path, query_vectors=queries)
    assert lists.vectors.tolist() == [VALUES["d1"], VALUES["d2"], VALUES["d2"]]
    assert lists.query_vectors.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    made = rerank.vector_features(str(run), reading=Reading(vectors=path, query_vectors=queries))
    assert made.lists.names()[-4:] == NAMES
    assert made.lists.features.column(made.lists.column_of("vector_dot")).tolist() == [1.0, 0.5, 2.0]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "npy"])
def test_files_without_ids_follow_the_lines(form, tmp_path):
    (tmp_path / "a.csv").write_text("qid,label,x\n1,0,5\n2,1,6\n1,1,7\n")
    values = [[1.0, 0.5], [2.0, 0.5], [3.0, 0.5]]
    path = write(tmp_path / "v", None, values, form)
    lists = rerank.load(str(tmp_path / "a.csv"), vectors=path)
    assert lists.vectors.tolist() == [values[0], values[2], values[1]]  # the lists are 1, 1, 2
    for n, found in ((2, "2 rows"), (4, "4 rows")):
        path = write(tmp_path / f"w{n}", None, (values * 2)[:n], form)
        with pytest.raises(FormatError, match=f"found {found}, expected 3, one for each item of"):
            rerank.load(str(tmp_path / "a.csv"), vectors=path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"id": "d1", "vector": [1, 2]}\n', "no vector of item 'd2', expected one for each item of"),
        ('{"id": "d1", "vector": [1]}\n{"id": "d1", "vector": [2]}\n', ":2: found id 'd1' again"),
        ('{"id": "d1", "vector": [1]}\n{"id": "d2", "vector": [2, 3]}\n', ":2: found 2 numbers, expected 1"),
        ('{"id": "d1", "vector": [1]}\n[2]\n', ":2: found no id, expected an id in every line or in none"),
        ('{"id": "d1", "vector": [1, true]}\n', ":1: found 'True' in a vector, expected numbers"),
        ('{"id": "d1", "vector": [1e999]}\n', ":1: found "),
        ('{"id": "d1", "vector": []}\n', r":1: found '\[\]', expected an array of numbers"),
        ('{"id": "d1", "vec": [1]}\n', ":1: found no vector, expected numbers under vector, embedding"),
        ('{"id": null, "vector": [1]}\n', ":1: found 'None' as id, expected an id"),
        ("1 2 3\n", ":1: found '1 2 3', expected an npy file of float16, float32 or float64"),
        ("", "found no vectors, expected an npy file"),
    ],
)
def test_mistakes_in_lines(text, message, run, tmp_path):
    (tmp_path / "v").write_text(text)
    with pytest.raises((DataError, FormatError), match=message):
        rerank.load(str(run), vectors=str(tmp_path / "v"))


def test_mistakes_in_arrays(run, tmp_path):
    path = tmp_path / "v.npy"
    for array, message in (
        (np.zeros((3, 2), dtype=np.int8), r"found int8 of shape \(3, 2\), expected an npy file of float16"),
        (np.zeros(3), r"found float64 of shape \(3,\), expected"),
        (np.array([[1, None]], dtype=object), "found no header of a numeric array"),
        (np.array([[1.0, 2], [3, np.nan], [1, 1]]), "found nan in row 2, expected finite numbers"),
        (np.array([[1.0, 2], [3, 4], [-np.inf, 1]]), "found -inf in row 3, expected finite numbers"),
        (np.zeros((3, 0)), "found a vector of no numbers"),
        (np.asfortranarray(np.ones((3, 2))), "found an array in Fortran order"),
    ):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(FormatError, match=message):
            rerank.load(str(run), vectors=str(path))
    np.save(path, np.ones((3, 2)))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FormatError, match="found 47 bytes of data, expected 48 for 3 rows of 2"):
        rerank.load(str(run), vectors=str(path))
    np.save(path, np.ones((3, 2), dtype=np.float16))
    assert rerank.load(str(run), vectors=str(path)).vectors.dtype == np.float32


def test_mistakes_in_parquet(run, tmp_path):
    polars = pytest.importorskip("polars", reason="extra rerank[parquet]")
    for columns, message in (
        ({"id": ["d1"], "x": [1.0]}, "found columns id, x, expected one of lists of numbers"),
        ({"a": [[1.0]], "b": [[1.0]]}, "found columns a, b, expected one of lists of numbers"),
        ({"vector": [[1.0, 2], [1.0]]}, "found 1 number in row 2, expected 2 as in the rows before"),
        ({"vector": [[1.0], None]}, "found no vector in row 2"),
        ({"vector": [[1.0], [None]]}, "found null in the vector of row 2"),
        ({"vector": [[1.0]], "id": [None]}, "found None as id in row 1"),
    ):
        polars.DataFrame(columns).write_parquet(tmp_path / "v")
        with pytest.raises(FormatError, match=message):
            rerank.load(str(run), vectors=str(tmp_path / "v"))


def test_ids_that_are_no_names_of_items(tmp_path):
    rows = [("1", "a", "mills"), ("1", "b", "dams"), ("2", "a", "towers")]
    text = "".join(json.dumps({"qid": q, "id": i, "text": t, "label": 1}) + "\n" for q, i, t in rows)
    (tmp_path / "a.jsonl").write_text(text)
    path = write(tmp_path / "v", ["a", "b"], [[1.0], [2.0]])
    with pytest.raises(DataError, match="list '1', item 'a' and list '2', item 'a' share an id, with"):
        rerank.load(str(tmp_path / "a.jsonl"), vectors=path)
    (tmp_path / "b.csv").write_text("qid,label,x\n1,0,5\n")
    with pytest.raises(ConfigError, match=r"found ids of vectors; .*b\.csv has no ids of items"):
        rerank.load(str(tmp_path / "b.csv"), vectors=path)


def test_the_model_computes_what_training_computed(tmp_path):
    lists = lists_of([3, 4, 2, 5])
    ready = rerank.vector_features(lists).lists
    model = rerank.train(lists, "ridge", features_from="vectors")
    own = rerank.train(ready, "ridge")
    np.testing.assert_array_equal(model.weights, own.weights)
    model.save(str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.score(lists), own.score(ready))
    assert again.input_names == ["1"]
    assert again.as_file().getvalue() == model.as_file().getvalue()
    shown = " ".join("\n".join(again.lines()).split())
    assert "centrality; vectors of items from a file, of questions from a file, 3 numbers each" in shown
    for changes, message in (
        ({"vectors": None}, "found no vectors of items; "),
        ({"query_vectors": None}, "found no vectors of questions; "),
        ({"vectors": np.ones((14, 2))}, "found vectors of 2 numbers, expected 3, as those of the training"),
    ):
        with pytest.raises(DataError, match=message):
            model.score(replace(lists, **changes))
    alone = rerank.train(replace(lists, query_vectors=None), "ridge", features_from="vectors")
    assert alone.feature_names == ["1", "vector_centrality"]


def test_texts_and_vectors_together(tmp_path):
    texts = [["the old mill", "no such thing"], ["a dam of stone", "it was closed"]]
    lists = rerank.text_lists(["a mill", "a dam"], texts, [[1, 0], [1, 0]])
    rng = np.random.default_rng(0)
    lists = replace(lists, vectors=rng.normal(size=(4, 2)), query_vectors=rng.normal(size=(2, 2)))
    model = rerank.train(lists, "ridge", features_from="text,vectors")
    assert [one.kind for one in model.chain.sources] == ["text", "vectors"]
    assert len(model.feature_names) == 31
    model.save(str(tmp_path / "m"))
    np.testing.assert_array_equal(load_model(str(tmp_path / "m")).score(lists), model.score(lists))


def test_binary_vectors_from_a_pipe_are_refused_with_the_reason():
    out = io.BytesIO()
    np.save(out, np.ones((2, 3)))
    expected = "expected JSON Lines: npy and Parquet are read from files"
    with pipe_of(out.getvalue(), 64) as path, pytest.raises(FormatError, match=expected):
        read_vectors(path, None, 2, "item", "lists")
