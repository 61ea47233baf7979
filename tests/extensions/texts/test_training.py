"""Features of texts from files, in training, in model files and from Python; each mistake is one line."""

import json

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.models.base import load_model, model_of_file
from rerank.models.feature_sources import SOURCES

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
QUESTIONS = ["Who built the mill?", "Where is the old tower, here?", "When did the dam break?"]
TEXTS = [
    ["Ida built the mill in 1900", "the mill, said Ida", "nothing at all"],
    ["it is old", "The old tower is in Rome"],
    ["the dam broke in 1912", "a dam", ""],
]
LABELS = [[1, 0, 0], [0, 1], [1, 0, 0]]


@pytest.fixture
def lists():
    return rerank.text_lists(QUESTIONS, TEXTS, LABELS)


def rows():
    for i, question in enumerate(QUESTIONS):
        for j, text in enumerate(TEXTS[i]):
            label, score = LABELS[i][j], float(i + j)
            yield {"q": question, "id": f"d{i}{j}", "label": label, "lm": score, "passage": text}


def write(path, form):
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows()))
    elif form == "csv":
        lines = [",".join(f'"{value}"' for value in row.values()) for row in rows()]
        path.write_text("q,id,label,lm,passage\n" + "\n".join(lines) + "\n")
    else:
        polars = pytest.importorskip("polars", reason="extra rerank[parquet]")
        polars.DataFrame(list(rows())).write_parquet(path)
    return str(path)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_columns_of_files(form, tmp_path, lists):
    path = write(tmp_path / f"a.{form}", form)
    read = rerank.load(path, query_column="q", text_column="passage")
    assert list(read.prompts) == QUESTIONS
    assert list(read.list_ids) == QUESTIONS
    assert list(read.item_ids) == [row["id"] for row in rows()]
    assert list(read.texts) == [text for one in TEXTS for text in one]
    made = rerank.text_features(path, reading=_reading())
    own = rerank.text_features(lists).lists
    assert made.lists.names() == ["lm", *own.names()]
    np.testing.assert_array_equal(made.lists.features.to_dense()[:, 1:], own.features.to_dense())


def _reading():
    from rerank.data.reading import Reading

    return Reading(query_column="q", text_column="passage")


def test_items_of_a_list_share_their_question(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("qid,q,text,label\n1,a mill,x,1\n2,a dam,y,1\n1,another,z,0\n")
    with pytest.raises(DataError, match=r"a\.csv: list '1', item 2 has another question than the items"):
        rerank.load(str(path), query_column="q")
    path.write_text("qid,q,text,label\n1,a mill,x,1\n2,a dam,y,1\n1,a mill,z,0\n")
    assert list(rerank.load(str(path), query_column="q").prompts) == ["a mill", "a dam"]
    with pytest.raises(ConfigError, match=r"no column 'quest' .--query-column.; known: label, q"):
        rerank.load(str(path), query_column="quest")
    path = tmp_path / "a.jsonl"
    path.write_text('{"qid": 1, "text": "a", "label": 1}\n')
    with pytest.raises(DataError, match=r"found no questions, expected a text under 'q' \(--query-column\)"):
        rerank.load(str(path), query_column="q")


def test_runs_are_joined_with_collections(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 d1 1 2.0 r\n1 Q0 d2 2 1.0 r\n2 Q0 d2 1 3.0 r\n")
    (tmp_path / "q.tsv").write_text("2\ta dam\n1\ta mill\n3\tunused\n")
    docs = '{"_id": "d2", "title": "Dams", "text": "of stone"}\n{"_id": "d9", "text": ""}\n'
    docs += '{"_id": "d1", "text": "mills"}\n'
    (tmp_path / "c.jsonl").write_text(docs)
    files = {"queries": str(tmp_path / "q.tsv"), "collection": str(tmp_path / "c.jsonl")}
    lists = rerank.load(str(tmp_path / "a.run"), **files)
    assert list(lists.prompts) == ["a mill", "a dam"]
    assert list(lists.texts) == ["mills", "Dams of stone", "Dams of stone"]
    for text, message in (
        ("d1\tmills\n", "no text of item 'd2', expected one for each item of"),
        ("d1\tmills\nd2\tx\nd1\ty\n", ":3: found id 'd1' again"),
        ("d1 mills\n", ":1: found 'd1 mills', expected an id, a tab and a text, or JSON Lines"),
        ('{"_id": "d1"}\n', ":1: found no text, expected a string under text, contents"),
        ('{"_id": "d1", "text": null}\n', ":1: found null at text"),
        ('{"_id": 1, "text": "x"\n', ":1: found '{.*', expected a JSON object with an id and a text"),
    ):
        (tmp_path / "c").write_text(text)
        with pytest.raises((DataError, FormatError), match=message):
            rerank.load(str(tmp_path / "a.run"), collection=str(tmp_path / "c"))
    (tmp_path / "b.jsonl").write_text('{"qid": "1", "id": "d1", "text": "x", "label": 1}\n')
    with pytest.raises(ConfigError, match=r"--collection: .* has texts of its own"):
        rerank.load(str(tmp_path / "b.jsonl"), collection=files["collection"])


def test_the_model_computes_what_training_computed(lists, tmp_path):
    background = tmp_path / "b.tsv"
    background.write_text("1\tthe mill the\n2\ta dam in Rome\n")
    settings = {"background": str(background), "k1": 0.9, "unspaced": "characters"}
    stops = tmp_path / "stop"
    stops.write_text("the\n")
    settings["stop_words"] = str(stops)
    ready = rerank.text_features(lists, settings).lists
    model = rerank.train(lists, "ridge", features_from="text", seeds=1, **settings)
    own = rerank.train(ready, "ridge")
    np.testing.assert_array_equal(model.weights, own.weights)
    np.testing.assert_array_equal(model.score(lists), own.score(ready))
    model.save(str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    np.testing.assert_array_equal(again.score(lists), model.score(lists))
    assert again.input_names == []
    assert again.as_file().getvalue() == model.as_file().getvalue()
    assert "27 features, 1 stop word; words counted in" in "\n".join(again.lines())
    with pytest.raises(ConfigError, match="features are computed from texts"):
        rerank.export(again, str(tmp_path / "m.py"), "python")


def test_counts_are_those_of_training_lists_alone(lists):
    """Other lists change nothing, as development lists or when they are scored."""
    other = rerank.text_lists(
        ["mill mill?", "dam"], [["mill"] * 9 + ["dam"], ["x", "dam"]], [[1] * 9 + [0], [0, 1]]
    )
    plain = rerank.train(lists, "perceptron", features_from="text", epochs=2, keep="last")
    watched = rerank.train(
        lists, "perceptron", features_from="text", epochs=2, keep="last", dev=other, metric="AP"
    )
    np.testing.assert_array_equal(plain.weights, watched.weights)
    assert plain.chain.sources[0].statistics.n_texts == 8
    before = plain.score(lists)
    plain.score(other)
    np.testing.assert_array_equal(plain.score(lists), before)


def test_a_model_needs_questions_and_texts(lists):
    from dataclasses import replace

    model = rerank.train(lists, "ridge", features_from="text")
    for column, what in (("prompts", "questions"), ("texts", "texts")):
        with pytest.raises(DataError, match=f"text_lists: found no {what}, from which features are computed"):
            model.score(replace(lists, **{column: None}))
    with pytest.raises(DataError, match="every text is empty"):
        model.score(replace(lists, texts=StringColumn.from_strings([""] * 8)))
    with pytest.raises(DataError, match="list '2': found '', expected a question with a word"):
        model.score(replace(lists, prompts=StringColumn.from_strings(["a", "", "b"])))
    with pytest.raises(ConfigError, match="stemmer: not used without features_from=text"):
        rerank.train(lists, "ridge", stemmer="english")


def test_damaged_models_are_refused(lists):
    model = rerank.train(lists, "ridge", features_from="text")
    source = model.chain.sources[0]
    arrays = source.arrays()
    meta = {"kind": "text", "n_features": 0, "names": source.names, **source.to_meta()}
    for name in ("texts", "tokens", "bounds"):
        bad = {**arrays, name: arrays[name].copy()}
        bad[name][1] -= 99
        with pytest.raises(DataError):
            SOURCES.get("text").restore(0, meta, bad)
    content = model.as_file().getvalue()
    assert model_of_file(content, "m").feature_names == model.feature_names


def test_three_lines_from_python(lists, tmp_path):
    rerank.train(lists, "ridge", features_from="text").save(str(tmp_path / "m"))
    ranker = rerank.Ranker.load(tmp_path / "m")
    found = ranker.rank("Who built a mill?", ["nothing", {"text": "Ida built a mill", "id": 7}, "nothing"])
    assert [one.index for one in found] == [1, 0, 2]  # of equal scores the first comes first
    assert found[0].text == "Ida built a mill"
    assert found[0].document["id"] == 7
    assert ranker.rank("Who?", []) == []
    assert len(ranker.rank("Who built?", ["a", "b"], top=1)) == 1
    for documents, message in (
        ([3], "document 0: found int, expected a text, or a mapping with 'text'"),
        (["a", {"txt": "b"}], "document 1: found keys txt, expected a text"),
        ([{"text": None}], "document 0: found None as 'text', expected a text"),
        ("one text", "found one text, expected a question and a list of texts"),
    ):
        with pytest.raises(DataError, match=message):
            ranker.rank("Who?", documents)


def test_a_ranker_asks_for_the_other_features(lists):
    more = lists.with_added({"score": np.arange(8.0)})
    ranker = rerank.Ranker(rerank.train(more, "ridge", features_from="text"))
    texts = list(lists.texts)[:3]
    found = ranker.rank(QUESTIONS[0], [{"text": t, "score": i} for i, t in enumerate(texts)])
    expected = ranker.model.score_items(more.subset([0]))
    np.testing.assert_allclose([one.score for one in found], np.sort(expected)[::-1], rtol=1e-12)
    for document, message in (
        ("a", "no 'score', expected a number in a mapping beside 'text': the model needs 1 feature beside"),
        ({"text": "a", "score": "2"}, "found '2' as 'score', expected a number"),
        ({"text": "a", "score": float("nan")}, "'score' is missing"),
    ):
        with pytest.raises(DataError, match=message):
            ranker.rank("Who?", [document])
