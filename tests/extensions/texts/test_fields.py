"""Several columns of texts: features of each field are those of lists that have only this text."""

import json
from dataclasses import replace

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.data.reading import Reading
from rerank.models.base import load_model

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
ROWS = [
    ("who built the mill", "The mill", "Ida built it", 1),
    ("who built the mill", "Dams", "the mill, in 1900, is old", 0),
    ("where is the tower", "", "it is in Rome", 0),
    ("where is the tower", "Tower", "Rome has one", 1),
    ("who built the mill", "no", "", 0),
]
FIELDS = ("title", "body")
READ = {"query_column": "q", "text_column": list(FIELDS)}


def write(path, form):
    rows = [dict(zip(("q", *FIELDS, "label"), row, strict=True)) for row in ROWS]
    if form == "jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif form == "csv":
        lines = ["q,title,body,label", *(f'{q},{title},"{body}",{label}' for q, title, body, label in ROWS)]
        path.write_text("\n".join(lines) + "\n")
    else:
        polars = pytest.importorskip("polars", reason="extra rerank[parquet]")
        polars.DataFrame(rows).write_parquet(path)
    return str(path)


@pytest.fixture
def lists(tmp_path):
    return rerank.load(write(tmp_path / "lists.csv", "csv"), **READ)


@pytest.fixture(name="cli")
def fixture_cli(request):
    return request.getfixturevalue("rerank")


def one_text(lists, texts):
    return replace(lists, texts=texts, fields={})


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_features_of_fields_are_those_of_lists_with_this_text(form, tmp_path):
    path = write(tmp_path / f"a.{form}", form)
    made = rerank.text_features(path, reading=Reading(**READ)).lists
    assert list(made.fields) == list(FIELDS)
    assert made.texts[0] == "The mill\nIda built it"
    assert [text for text in made.texts if "\n" not in text] == ["no", "it is in Rome"]
    found = dict(zip(made.names(), made.features.to_dense().T, strict=True))
    parts = {"": made.texts, **{f"{name}_": column for name, column in made.fields.items()}}
    for part, texts in parts.items():
        own = rerank.text_features(one_text(rerank.load(path, **READ), texts)).lists
        for name, values in zip(own.names(), own.features.to_dense().T, strict=True):
            if part and name == "text_question_length":
                continue
            np.testing.assert_array_equal(found.pop(name.replace("text_", f"text_{part}")), values, name)
    assert found == {}


def test_the_model_keeps_the_fields(tmp_path, cli, lists):
    model = rerank.train(lists, "ridge", features_from="text")
    model.save(str(tmp_path / "m"))
    again = load_model(str(tmp_path / "m"))
    assert again.as_file().getvalue() == model.as_file().getvalue()
    for form in ("jsonl", "csv"):  # the columns of training are read
        path = write(tmp_path / f"b.{form}", form)
        options = "--query", "q", "--text", "title", "--text", "body", "--learner", "ridge"
        cli("train", "--data", path, *options, "--features-from", "text", "--out", str(tmp_path / "f"))
        np.testing.assert_array_equal(rerank.predict(str(tmp_path / "f"), path), model.score(lists))
    text = "\n".join(again.lines())
    assert "79 features of the texts and their fields title, body" in text
    with pytest.raises(DataError, match="texts without fields, expected title, body"):
        again.score(one_text(lists, lists.texts))
    with pytest.raises(DataError, match="the fields body, title, expected title, body"):
        again.score(replace(lists, fields=dict(reversed(lists.fields.items()))))
    plain = rerank.train(one_text(lists, lists.texts), "ridge", features_from="text")
    with pytest.raises(DataError, match="the fields title, body, expected texts without fields"):
        plain.score(lists)


def test_damaged_fields_are_refused(lists):
    from rerank.models.feature_sources import SOURCES

    source = rerank.train(lists, "ridge", features_from="text").chain.sources[0]
    meta = {"kind": "text", "n_features": 0, "names": source.names, **source.to_meta()}
    arrays = source.arrays()
    assert list(SOURCES.get("text").restore(0, meta, arrays).fields) == list(FIELDS)
    wrong = {**arrays, "1.texts": arrays["1.texts"] + 99}
    with pytest.raises(DataError, match="counts of words that no corpus gives"):
        SOURCES.get("text").restore(0, meta, wrong)
    twice = {**meta, "parts": [meta["parts"][0], {**meta["parts"][1], "name": "title"}]}
    with pytest.raises(DataError, match="a field twice"):
        SOURCES.get("text").restore(0, twice, arrays)


def test_stores_keep_fields_and_subsets_take_them(tmp_path, cli, lists):
    source = write(tmp_path / "a.csv", "csv")
    stored = str(tmp_path / "a.store")
    cli("convert", source, "--query", "q", "--text", "title", "--text", "body", "--out", stored)
    read = rerank.load(stored)
    assert read.fields == lists.fields
    assert list(read.subset([1]).fields["title"]) == ["", "Tower"]
    done = cli("convert", stored, "--out", str(tmp_path / "a.jsonl"))
    assert "fields of texts; left out" in done.err


def test_fields_of_a_collection(tmp_path):
    run, queries, texts = (tmp_path / name for name in ("a.run", "q.tsv", "c.jsonl"))
    run.write_text("1 Q0 d1 1 2.0 r\n1 Q0 d2 2 1.0 r\n")
    queries.write_text("1\tthe mill\n")
    entries = [{"id": "d2", "title": "Mill", "body": "old"}, {"id": "d1", "title": "", "body": "dam"}]
    texts.write_text("".join(json.dumps(entry) + "\n" for entry in entries))
    files = {"queries": str(queries), "collection": str(texts)}
    lists = rerank.load(str(run), **files, text_column=FIELDS)
    assert {name: list(column) for name, column in lists.fields.items()} == {
        "title": ["", "Mill"],
        "body": ["dam", "old"],
    }
    assert list(lists.texts) == ["dam", "Mill\nold"]
    assert list(rerank.load(str(run), **files, text_column="body").texts) == ["dam", "old"]
    (tmp_path / "qrels").write_text("1 0 d1 0\n1 0 d2 1\n")
    read = rerank.load(str(run), **files, qrels=str(tmp_path / "qrels"), text_column=FIELDS)
    model = rerank.train(read, "ridge", features_from="text")
    assert len(rerank.predict(model, str(run), reading=Reading(**files))) == 2
    with pytest.raises(FormatError, match=r"c.jsonl:1: found no text, expected a string under headline"):
        rerank.load(str(run), **files, text_column=["headline", "body"])
    with pytest.raises(FormatError, match=r"q.tsv:1: found .*, expected JSON Lines with title and body"):
        rerank.load(str(run), queries=str(queries), collection=str(queries), text_column=FIELDS)
    with pytest.raises(ConfigError, match="format trec cannot honour text_column"):
        rerank.load(str(run), queries=str(queries), text_column=FIELDS)


def test_a_background_has_the_fields(tmp_path, lists):
    path = tmp_path / "c.jsonl"
    path.write_text('{"id": 1, "title": "mill", "body": "a mill"}\n{"id": 2, "title": "x", "body": "y"}\n')
    source = rerank.text_features(lists, {"background": str(path)}).fitted
    assert source.fields["title"].n_tokens == 2
    assert source.fields["body"].n_tokens == 3
    assert source.statistics.n_tokens == 5
    path.write_text('{"id": 1, "title": "", "body": "a mill"}\n')
    with pytest.raises(DataError, match=r"c.jsonl: found no word in the field 'title'"):
        rerank.text_features(lists, {"background": str(path)})
    path.write_text("1\ta mill\n")
    with pytest.raises(FormatError, match=r"c.jsonl:1: .* expected JSON Lines with title and body"):
        rerank.text_features(lists, {"background": str(path)})


@pytest.mark.parametrize(
    ("form", "columns", "message"),
    [
        ("csv", ["title", "title"], "text_column: found 'title' twice, expected each column of texts once"),
        ("jsonl", ["title", "title"], "text_column: found 'title' twice, expected each column of texts once"),
        ("parquet", ["title", ""], "text_column: found an empty name"),
        ("csv", ["title", "bdy"], r"no column 'bdy' \(--text\); did you mean 'body'"),
        ("parquet", ["title", "bdy"], r"no column 'bdy' \(--text\); did you mean 'body'"),
        ("csv", ["titel", "body"], r"no column 'titel' \(--text-column\); did you mean 'title'"),
        ("jsonl", ["title", "bdy"], "found no texts in 'bdy', expected a field of each item"),
        ("jsonl", ["titel", "body"], "found no texts in 'titel', expected a field of each item"),
        ("csv", ["title", "q"], r"column 'q' \(--text\) has another role, expected one"),
        ("jsonl", ["title", "q"], "found no texts in 'q', expected a field of each item"),
    ],
)
def test_mistakes(form, columns, message, tmp_path):
    with pytest.raises((ConfigError, DataError), match=message):
        rerank.load(write(tmp_path / f"a.{form}", form), query_column="q", text_column=columns)


def test_each_candidate_has_each_field(tmp_path):
    path = tmp_path / "a.jsonl"
    first = '{"q": "a", "title": "x", "body": "y"}\n'
    for row, message in (
        (
            '{"q": "a", "title": "x"}',
            ":2: found no body at body, expected one, as the candidates",
        ),
        ('{"q": "a", "title": null, "body": "y"}', ":2: found null at title, expected a string"),
        ('{"q": "a", "title": "x", "body": 3}', ":2: found the number 3 at body, expected a string"),
    ):
        path.write_text(first + row + "\n")
        with pytest.raises(FormatError, match=message):
            rerank.load(str(path), **READ)


def test_from_python(lists):
    texts = [[dict(zip(FIELDS, ROWS[k][1:3], strict=True)) for k in (0, 1, 4)]]
    texts.append([dict(zip(FIELDS, ROWS[k][1:3], strict=True)) for k in (2, 3)])
    made = rerank.text_lists(["who built the mill", "where is the tower"], texts, [[1, 0, 0], [0, 1]])
    assert made.fields == lists.fields
    assert made.texts == lists.texts
    model = rerank.train(made, "ridge", features_from="text")
    ranker = rerank.Ranker(model)
    found = ranker.rank("who built the mill", texts[0])
    np.testing.assert_array_equal([one.score for one in found], np.sort(model.score(made)[:3])[::-1])
    assert found[0].text == "\n".join(found[0].document.values())
    for document, message in (
        ("a", "document 0: found str, expected a mapping with texts as title, body"),
        ({"title": "a"}, "document 0: found keys title, expected a mapping with texts as title, body"),
        ({"title": "a", "body": None}, "document 0: found None as 'body', expected a text"),
    ):
        with pytest.raises(DataError, match=message):
            ranker.rank("a", [document])
    for wrong, message in (
        ([[None], ["a"]], "texts of question 1: found None, expected a text"),
        (
            [[{"a": "x", "b": "y"}], [{"a": "x"}]],
            "texts of question 2: .*, expected texts of a, b",
        ),
        ([[{"a": "x", "b": "y"}], ["x"]], "texts of question 2: found 'x', expected texts of a, b"),
        ([["x"], [{"a": "x"}]], "texts of question 2: .*, expected a text"),
    ):
        with pytest.raises(DataError, match=message):
            rerank.text_lists(["q", "p"], wrong)
    with pytest.raises(DataError, match="question 2: found None, expected a text"):
        rerank.text_lists(["q", None], [["x"], ["y"]])


def test_large_files_block_by_block(tmp_path, cli):
    """Scores are those of the whole file."""
    path, train = tmp_path / "big.jsonl", write(tmp_path / "t.jsonl", "jsonl")
    options = "--query", "q", "--text", "title", "--text", "body"
    model = str(tmp_path / "m")
    cli("train", "--data", train, *options, "--features-from", "text", "--learner", "ridge", "--out", model)
    rows = [{"q": f"the mill {i // 50}", "title": f"mill {i % 7}", "body": "dam " * 400} for i in range(6000)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert path.stat().st_size > 1 << 23
    done = cli("predict", model, str(path))
    lists = rerank.load(str(path), **READ)
    np.testing.assert_array_equal(list(map(float, done.out.split())), load_model(model).score(lists))
