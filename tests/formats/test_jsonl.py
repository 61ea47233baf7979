"""JSON Lines: both shapes, what users of language models hold, every fault, a slow twin."""

import gzip
import json
import random
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fuzz.mutated import mutated_files
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_as_slowly, same_bits, silent
from reference import jsonl as slow
from rerank.native.formats._json import repeats_key

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, Sparse
from rerank.formats import load
from rerank.formats.base import save
from rerank.formats.builders import each_line
from rerank.formats.jsonl import JSONLines

STRINGS = StringColumn.from_strings


def read(tmp_path: Path, *lines: Any, **options: Any) -> CandidateLists:
    """The lists of lines that are given as text or as what JSON shall hold."""
    path = tmp_path / "set.jsonl"
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_bytes("\n".join(texts).encode("utf-8", "surrogatepass"))
    return load(path, **options)


def quietly(tmp_path: Path, *lines: Any, **options: Any) -> CandidateLists:
    return silent(read, tmp_path, *lines, **options)


def fault(tmp_path: Path, *lines: Any, **options: Any) -> str:
    """The message of the error, without the folder."""
    with pytest.raises(FormatError) as caught:
        quietly(tmp_path, *lines, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message.removeprefix(f"{tmp_path}/")


TWO = (
    {
        "id": "s1",
        "candidates": [
            {"id": "a", "text": "x y", "label": 1, "score": -2.5, "features": {"lm": 0.1, "len": 2}},
            {"id": "b", "text": "", "label": None, "score": -3, "features": {"lm": -7e-3, "len": 0}},
        ],
        "references": ["x", "y z"],
    },
    {
        "id": 2,
        "candidates": [
            {"id": 7, "text": "\u2028é", "label": True, "score": None, "features": {"len": 1, "lm": 3}}
        ],
        "references": ["", "w"],
    },
)


def test_a_list_a_line(tmp_path: Path) -> None:
    lists = read(tmp_path, *TWO)
    assert lists.offsets.tolist() == [0, 2, 3]
    assert list(lists.list_ids) == ["s1", "2"]
    assert list(lists.item_ids) == ["a", "b", "7"]
    assert list(lists.texts) == ["x y", "", "\u2028é"]
    assert lists.feature_names == ["lm", "len"]
    assert lists.features.to_dense().tolist() == [[0.1, 2], [-7e-3, 0], [3, 1]]
    assert np.array_equal(lists.labels, [1, np.nan, 1], equal_nan=True)
    assert np.array_equal(lists.base_scores, [-2.5, -3, np.nan], equal_nan=True)
    assert [list(column) for column in lists.references] == [["x", ""], ["y z", "w"]]
    assert lists.first_best.tolist() == [0, -1, -2]
    assert lists.rows is None


def test_a_candidate_a_line_and_lists_apart(tmp_path: Path) -> None:
    lines = [
        {"prompt_id": 5, "text": "a", "reward": 1, "correct": False, "reference": "r5"},
        {"prompt_id": 6, "text": "b", "reward": 2, "correct": True, "reference": "r6"},
        {"prompt_id": 5, "text": "c", "reward": 3, "correct": True},
    ]
    with pytest.warns(DataNote, match="the lines of 1 list are not contiguous \\(from line 3\\)"):
        lists = read(tmp_path, *lines)
    assert list(lists.list_ids) == ["5", "6"]
    assert list(lists.texts) == ["a", "c", "b"]
    assert lists.labels.tolist() == [0, 1, 1]
    assert lists.rows.tolist() == [0, 2, 1]
    assert lists.input_order(lists.features.column(0)).tolist() == [1, 2, 3]
    assert lists.first_best.tolist() == [0, -2, -1]
    assert list(lists.references[0]) == ["r5", "r6"]
    message = fault(tmp_path, *lines, strict=True)
    assert message == "set.jsonl:3: found list '5' again, expected the lines of a list together"
    lines[2]["reference"] = "else"
    assert "set.jsonl:3: found references at references, expected those that list '5'" in fault(
        tmp_path, *lines
    )


def test_what_vllm_and_hugging_face_hold(tmp_path: Path) -> None:
    output = {
        "index": 0,
        "text": "four",
        "token_ids": [1, 2],
        "cumulative_logprob": -1.5,
        "logprobs": [{"17": {"logprob": -1.0, "rank": 1}}, {"logprob": -0.5}],
        "finish_reason": "stop",
        "stop_reason": None,
    }
    line = {
        "request_id": "r0",
        "prompt": "2+2?",
        "finished": True,
        "outputs": [output, {**output, "index": 1}],
    }
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, line)
    assert [str(note.message).partition("set.jsonl: ")[2] for note in notes] == [
        "ignored keys: 'finished' (1), 'index' (2), 'token_ids' (2), 'finish_reason' (2), 'stop_reason' (2)"
    ]
    assert list(lists.list_ids) == ["r0"]
    row = dict(zip(lists.feature_names, lists.features.to_dense()[0].tolist(), strict=True))
    assert row == {
        "cumulative_logprob": -1.5,
        "logprob_sum": -1.5,
        "logprob_mean": -0.75,
        "logprob_min": -1,
        "n_tokens": 2,
    }
    lists = quietly(tmp_path, {"id": 1, "generated_text": "x", "token_logprobs": [None, -2, -4]})
    assert lists.features.to_dense().tolist() == [[-6, 2, -3, -4]]
    lists = quietly(tmp_path, {"candidates": [{"logprobs": {"content": [{"logprob": -2, "token": "a"}]}}]})
    assert lists.features.to_dense().tolist() == [[-2, 1, -2, -2]]
    lists = quietly(tmp_path, {"candidates": [{"logprobs": {"token_logprobs": []}}]})
    assert dict(zip(lists.feature_names, lists.features.to_dense()[0], strict=True)) == {
        "logprob_sum": 0,
        "n_tokens": 0,
    }
    lists = quietly(tmp_path, {"candidates": [{"text": "x", "logprobs": -4.5}]})
    assert (lists.feature_names, lists.features.to_dense().tolist()) == (["logprobs"], [[-4.5]])
    with pytest.warns(DataNote, match=r"ignored keys: 'logprobs' \(1\)"):
        assert read(tmp_path, {"candidates": [{"text": "x", "logprobs": ["?"]}]}).n_features == 0
    lists = read(tmp_path, {"id": 1, "responses": ["a", "b", "a"]})
    assert list(lists.texts) == ["a", "b", "a"]


def test_samples_of_a_language_model_a_line_each(tmp_path: Path) -> None:
    sample = {"task_id": "T/0", "prompt": "2+2?", "completion": " 4", "logprob": -0.5, "passed": True}
    lists = quietly(
        tmp_path, sample, {**sample, "completion": " 5", "passed": False}, {**sample, "task_id": "b"}
    )
    assert (lists.lengths.tolist(), lists.labels.tolist()) == ([2, 1], [1, 0, 1])
    assert lists.feature_names == ["logprob"]
    assert list(lists.texts) == [" 4", " 5", " 4"]
    assert fault(tmp_path, sample, {**sample, "passed": "yes"}) == (
        "set.jsonl:2: found the string 'yes' at passed, expected a number or null"
    )
    assert fault(tmp_path, sample, {"task_id": "T/0", "passed": True}) == (
        "set.jsonl:2: found no text at text, expected one, as the candidates before have"
    )
    assert fault(tmp_path, sample, {**sample, "logprob": "-0.5"}) == (
        "set.jsonl:2: found the string '-0.5' at logprob, expected a number, as candidates before have"
    )
    assert fault(tmp_path, {"prompt": 3, "completion": "x"}).endswith("and a text, label, score or feature")


@pytest.mark.parametrize("text", ["0.5", "0,5", "-3", "1_000", "\u22121", "1e-3", "50%", "0b1", "1e", "+-1"])
def test_a_number_in_quotes_is_an_error(tmp_path: Path, text: str) -> None:
    assert f"the string {text!r} at lm, expected a number" in fault(
        tmp_path, {"list": 1, "text": "a", "lm": text}, {"list": 1, "text": "b", "lm": text}
    )
    line = {"id": 1, "candidates": [{"text": "a"}, {"text": "b", "features": {"lm": text}}]}
    assert f"the string {text!r} at candidates[1].features.lm" in fault(tmp_path, line)
    with pytest.warns(
        DataNote, match=r"ignored keys: 'sample_id' \(1\), 'seed' \(1\), 'date' \(1\), 'x' \(1\)$"
    ):
        read(tmp_path, {"list": 1, "text": "a", "sample_id": text, "seed": text, "date": text, "x": "word"})


def test_keys_that_resemble_known_ones_are_reported(tmp_path: Path) -> None:
    near = r"'lable' \(label\?\), 'em' \(a metric\?\), 'Score' \(score\?\), 'txet' \(text\?\)$"
    for expected, line in (
        (near, {"list": 1, "lable": 1, "em": True, "Score": 2, "x": 1, "txet": "a"}),
        (r"'refrences' \(references\?\)", {"id": 1, "candidates": ["a"], "refrences": ["b"]}),
    ):
        with pytest.warns(DataNote) as notes:
            read(tmp_path, line)
        assert re.search(expected, str(notes[1].message))
    assert list(read(tmp_path, {"list": 1, "docno": "d", "x": 1}).item_ids) == ["d"]


@pytest.mark.parametrize("before", [0, 3000])
@pytest.mark.parametrize("last", [{}, {"other": [{}]}])  # a line that is taken apart, and one that is not
def test_another_question_under_the_column_that_was_named(tmp_path: Path, before: int, last: dict) -> None:
    lines = [{"qid": str(i // 3), "q": f"q{i // 3}", "text": "a"} for i in range(before)]
    lines += [{"qid": "x", "q": "a mill", "text": "a"}, {"qid": "x", "q": "a dam", "text": "b", **last}]
    expected = rf":{before + 2}: found another question at q, expected that of list .?x"
    with pytest.raises(FormatError, match=expected):
        read(tmp_path, *lines, query_column="q")
    lines[-1]["q"] = "a mill"
    assert quietly(tmp_path, *lines, query_column="q").prompts[-1] == "a mill"


def test_prompts(tmp_path: Path) -> None:
    entry = {"prompt": "2+2?", "candidates": ["4"]}
    assert list(quietly(tmp_path, entry, {**entry, "prompt": ""}).prompts) == ["2+2?", ""]
    lines = [{"task_id": i // 2, "prompt": f"p{i // 2}", "completion": str(i)} for i in range(4)]
    lists = read(tmp_path, *lines)
    assert list(lists.prompts) == ["p0", "p1"]
    with pytest.warns(DataNote, match=r"ignored keys: 'prompt' \(2\)"):
        lists = read(tmp_path, *(line | {"task_id": 1} for line in lines))
    assert list(lists.prompts) == ["p0"]
    with pytest.warns(DataNote, match="table holds no first-stage order, prompts; left out"):
        save(lists, str(tmp_path / "set.csv"))
    for other in ({}, {"prompt": None}, {"prompt": ["chat"]}):
        with pytest.warns(DataNote, match=rf"ignored keys: 'prompt' \({1 + any(other.values())}\)"):
            assert read(tmp_path, entry, {"candidates": ["a"], **other}).prompts is None
    assert read(tmp_path, *lines, list_column="prompt").prompts is not None
    asked = {"question": "Who?", "candidates": ["we"]}
    assert list(read(tmp_path, asked, entry).prompts) == ["Who?", "2+2?"]
    with pytest.warns(DataNote, match=r"ignored keys: 'question' \(1\)"):
        assert list(read(tmp_path, {**asked, **entry}).prompts) == ["2+2?"]
    items = [{"list": 1, "question": "Who?", "text": "we", "x": i} for i in range(2)]
    assert list(read(tmp_path, *items).prompts) == ["Who?"]


def test_a_label_under_a_second_name_is_no_feature(tmp_path: Path) -> None:
    line = {"id": 1, "candidates": [{"correct": True, "label": 2, "x": 1, "relevance": 9}]}
    with pytest.warns(DataNote, match=r"ignored keys: 'correct' \(1\), 'relevance' \(1\)$"):
        lists = read(tmp_path, line)
    assert lists.labels.tolist() == [2]
    assert lists.feature_names == ["x"]


def test_a_score_is_a_feature_if_no_others_are_named(tmp_path: Path) -> None:
    lists = read(tmp_path, {"id": 1, "candidates": [{"score": 3, "x": 1}, {"score": 4, "x": 2}]})
    assert lists.feature_names == ["score", "x"]
    assert lists.base_scores.tolist() == [3, 4]
    lists = read(tmp_path, {"id": 1, "candidates": [{"score": 3, "x": 1, "features": {"y": 5}}]})
    assert (lists.feature_names, lists.features.to_dense().tolist()) == (["y", "x"], [[5, 1]])


def test_absent_features(tmp_path: Path) -> None:
    line = {"id": 1, "candidates": [{"features": {"a": 1, "b": 2}}, {"features": {"b": 3}}]}
    with pytest.warns(DataNote, match="1 of 4 feature values are absent; taken as 0 "):
        assert read(tmp_path, line).features.to_dense().tolist() == [[1, 2], [0, 3]]
    with pytest.warns(DataNote, match="taken as missing"):
        lists = read(tmp_path, line, missing="nan")
    assert np.array_equal(lists.features.to_dense(), [[1, 2], [np.nan, 3]], equal_nan=True)
    line["candidates"][1]["features"]["a"] = None
    assert fault(tmp_path, line) == (
        "set.jsonl:1: found null at candidates[1].features.a, expected a number (--missing zero or "
        "nan, in training also mean, list-mean or indicator accepts null)"
    )
    lists = quietly(tmp_path, line, missing="nan", dtype="float32")
    assert np.array_equal(lists.features.to_dense(), [[1, 2], [np.nan, 3]], equal_nan=True)
    assert lists.features.values.dtype == np.float32


def test_layouts(tmp_path: Path) -> None:
    lines = [{"id": i, "candidates": [{"features": {"b": 1, f"f{i}": 2, "a": 5}}]} for i in range(9)]
    lists = quietly(tmp_path, *lines)
    assert isinstance(lists.features, Sparse)
    dense = quietly(tmp_path, *lines, layout="dense").features
    assert isinstance(dense, Dense)
    assert np.array_equal(lists.features.to_dense(), dense.values)
    assert isinstance(quietly(tmp_path, lines[0], layout="sparse").features, Sparse)
    with pytest.raises(DataError, match="float32 needs layout=dense"):
        quietly(tmp_path, *lines, dtype="float32")
    with pytest.raises(DataError, match="1e\\+39 is too large for float32"):
        quietly(tmp_path, {"id": 1, "candidates": [{"x": 1e39}]}, dtype="float32")
    for other, why in (
        ({"missing": "nan"}, "layout='sparse': absent values of sparse rows are 0"),
        ({"dtype": "float32"}, "layout='sparse' cannot honour dtype='float32'"),
    ):
        with pytest.raises(ConfigError, match=why):
            quietly(tmp_path, *lines, layout="sparse", **other)


def test_named_keys(tmp_path: Path) -> None:
    lines = [
        {"prompt": "p", "answer": "x", "gold": 1, "label": 3, "uid": 4, "id": 9},
        {"prompt": "p", "answer": "y", "gold": 0, "label": 3, "uid": 5, "id": 8},
    ]
    columns = {"list_column": "prompt", "text_column": "answer", "label_column": "gold", "id_column": "uid"}
    with pytest.warns(DataNote, match=r"ignored keys: 'label' \(2\), 'id' \(2\)$"):
        lists = read(tmp_path, *lines, **columns)
    assert list(lists.list_ids) == ["p"]
    assert list(lists.item_ids) == ["4", "5"]
    assert list(lists.texts) == ["x", "y"]
    assert lists.labels.tolist() == [1, 0]
    assert lists.n_features == 0


def test_references_from_files_and_distinct(tmp_path: Path) -> None:
    refs = tmp_path / "refs"
    refs.write_text("zero\none\n")
    lines = [{"id": i, "candidates": ["a", "b", "a"]} for i in (1, 0)]
    lists = read(tmp_path, *lines, refs=refs)
    assert list(lists.references[0]) == ["one", "zero"]
    with pytest.warns(DataNote, match="2 of 6 items repeat a text"):
        assert list(read(tmp_path, *lines, distinct=True).texts) == ["a", "b", "a", "b"]
    with pytest.raises(ConfigError, match="distinct compares texts"):
        read(tmp_path, {"id": 1, "candidates": [{"x": 1}]}, distinct=True)
    with pytest.raises(ConfigError, match="holds its own references"):
        read(tmp_path, *TWO, refs=refs)


def test_lists_without_candidates(tmp_path: Path) -> None:
    lines = [{"id": 1, "candidates": []}, {"id": 2, "candidates": ["a"]}]
    with pytest.warns(DataNote, match="1 list without a candidate left out"):
        assert list(read(tmp_path, *lines).list_ids) == ["2"]
    assert "set.jsonl:1: found no candidate" in fault(tmp_path, *lines, strict=True)
    assert "set.jsonl: found no candidate" in fault(tmp_path, lines[0])


ITEM = {"list": "a", "text": "x"}
FAULTS = {
    "not json": (["{"], 1, "no JSON"),
    "an array": (["[1]"], 1, "an array of 1"),
    "pretty printed": (["{", '"id": 1', "}"], 1, "no JSON"),
    "two objects a line": (['{"list":1,"text":""} {}'], 1, "no JSON (Extra data, column 22)"),
    "blank lines": (["", " "], None, "blank lines only"),
    "nan": ([ITEM, '{"list":"a","text":"","x":NaN}'], 2, "NaN"),
    "infinity": ([ITEM, '{"list":"a","text":"","x":-Infinity}'], 2, "-Infinity"),
    "too large": ([ITEM, '{"list":"a","text":"","x":1e999}'], 2, "a number too large for float64 at x"),
    "too large a whole number": (
        [ITEM, '{"list":"a","text":"","features":{"x":1' + "0" * 400 + "}}"],
        2,
        "a number too large for float64 at features.x",
    ),
    "too many digits": ([ITEM, '{"list":"a","text":"","x":' + "1" * 5000 + "}"], 2, "too many digits"),
    "nested": (["[" * 100_000], 1, "JSON nested too deeply"),
    "key twice": (['{"list":1,"text":"","text":"b"}'], 1, "key 'text' twice"),
    "feature twice": ([{"list": 1, "features": {"x": 1}, "x": 2}], 1, "at features.x"),
    "surrogate": (['{"list":1,"text":"a\\ud800"}'], 1, "a lone surrogate (\\ud800) at text"),
    "surrogate of a feature": (
        ['{"list":1,"text":"a"}', '{"list":1,"text":"a","features":{"\\uDFFF":1}}'],
        2,
        "a lone surrogate (\\udfff) at a key",
    ),
    "surrogate of a number": (['{"list":1,"l\\udc80":2}'], 1, "a lone surrogate (\\udc80) at a key"),
    "surrogate of an id": (['{"id":"\\udc80","candidates":["a"]}'], 1, "a lone surrogate (\\udc80) at id"),
    "surrogate of a candidate": (
        ['{"id":"1","candidates":["\\udc80"]}'],
        1,
        "a lone surrogate (\\udc80) at a text of an array",
    ),
    "surrogate of an ignored key": (
        ['{"list":1,"text":"a","meta":"\\udc80"}'],
        1,
        "a lone surrogate (\\udc80) at meta",
    ),
    "text is a number": ([{"list": 1, "text": 5}], 1, "the number 5 at text, expected a string"),
    "label is text": ([{"list": 1, "label": "good"}], 1, "the string 'good' at label, expected a number or"),
    "score is an array": ([{"list": 1, "score": [1]}], 1, "an array of 1 at score"),
    "features are an array": ([{"list": 1, "features": [1]}], 1, "an array of 1 at features"),
    "a feature is text": (
        [{"id": 1, "candidates": [{"features": {"a": 1}}, {"features": {"a": "1"}}]}],
        1,
        "the string '1' at candidates[1].features.a, expected a number",
    ),
    "a candidate is a number": ([{"id": 1, "candidates": [3]}], 1, "the number 3 at candidates[0]"),
    "list id": ([{"list": 1.5, "text": ""}], 1, "the number 1.5 at list, expected an id"),
    "item id": ([{"list": 1, "text": "", "id": True}], 1, "true at id, expected an id"),
    "no list": ([ITEM, {"text": ""}], 2, "no key 'list'"),
    "no list id": ([*TWO[:1], {"candidates": ["x"]}], 2, "no key 'id'"),
    "a list id late": ([{"candidates": ["a"]}, {"id": 1, "candidates": ["b"]}], 2, "a list's id at id"),
    "list again": ([TWO[0], TWO[0]], 2, "list 's1' again (line 1) at id"),
    "other shape": ([TWO[0], ITEM], 2, "no key 'candidates'"),
    "text missing": ([ITEM, {"list": "a"}], 2, "no text at text"),
    "text late": ([{"list": 1, "label": 1}, {"list": 1, "text": ""}], 2, "a text at text"),
    "id missing": ([{**ITEM, "id": 1}, ITEM], 2, "no id at id"),
    "id late": ([ITEM, {**ITEM, "id": 1}], 2, "an id at id"),
    "references differ": ([TWO[0], {**TWO[1], "references": ["a"]}], 2, "1 reference at references"),
    "references missing": ([TWO[0], {"id": 3, "candidates": TWO[1]["candidates"]}], 2, "none at references"),
    "references late": ([{"id": 3, "candidates": [TWO[0]["candidates"][0]]}, TWO[1]], 2, "references at"),
    "references are a number": ([{**TWO[0], "references": 1}], 1, "the number 1 at references"),
    "a reference is a number": ([{**TWO[0], "references": ["a", 1]}], 1, "the number 1 at references[1]"),
    "both references": ([{**TWO[0], "reference": "a"}], 1, "'reference' beside 'references'"),
    "log-probabilities": ([{"list": 1, "logprobs": [-1e308, -1e308]}], 1, "a sum too large for float64"),
    "unknown": ([{"qid": "1", "q": {}, "c": [{}]}], 1, "keys 'qid', 'q', 'c'"),
    "no key": (["{}"], 1, "keys (none)"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(tmp_path: Path, name: str) -> None:
    lines, line, found = FAULTS[name]
    message = fault(tmp_path, *lines)
    place = "set.jsonl" if line is None else f"set.jsonl:{line}"
    assert message.startswith(f"{place}: found ")
    assert found in message
    assert ", expected " in message


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        (r'{"a": 1, "b": 2}', False),
        (r'{"a": 1, "a" : 2}', True),
        (r'{"a": 1, "\u0061": 2}', True),
        (r'{"a": {"b": [1, {"c": ":", "c\":": 2}]}, "b": "\\"}', False),
        (r'{"a": {"b": [1, {"c": ":", "c": 2}]}, "b": "\\"}', True),
        (r'["a long string, and then some \" : \\\" :", {"a long string": ""}]', False),
        (r'":"', False),
        ("[]", False),
    ],
)
def test_repeated_keys_are_found(text: str, repeats: bool) -> None:
    assert repeats_key(text.encode(), json.loads(text)) == repeats


def test_candidates_that_differ_in_kind_are_added_one_by_one(tmp_path: Path) -> None:
    items = [
        {"text": "a", "x": 1, "note": "n", "score": 1, "logprobs": [-1]},
        {"text": "b", "x": 2, "note": 3, "score": None, "logprobs": [None, -2, -3]},
        {"text": "c", "x": True, "note": None, "score": 2, "logprobs": []},
        {"text": "d", "x": 4, "note": None, "score": 2, "logprobs": "?"},
    ]
    lists = quietly(tmp_path, {"candidates": items})
    names = ["score", "x", "logprob_sum", "n_tokens", "logprob_mean", "logprob_min", "note"]
    assert lists.feature_names == names
    assert lists.features.to_dense().tolist() == [
        [1, 1, -1, 1, -1, -1, 0],
        [0, 2, -5, 2, -2.5, -3, 3],
        [2, 1, 0, 0, 0, 0, 0],
        [2, 4, 0, 0, 0, 0, 0],
    ]
    found = fault(tmp_path, {"candidates": [*items, {**items[0], "note": "n"}]})
    assert found.startswith("set.jsonl:1: found the string 'n' at candidates[4].note, expected a number")


def test_the_first_fault_of_several_is_reported(tmp_path: Path) -> None:
    good, bad = {"list": "a", "text": "x", "x": 1}, {"list": "a", "text": 5, "x": 1}
    for later in ("{", {"text": "y"}, bad, {"list": 1.5, "text": "x"}):
        assert fault(tmp_path, good, good, bad, later).startswith("set.jsonl:3: found the number 5 at text")
    apart = [good, {**good, "list": "b"}, bad]
    assert fault(tmp_path, *apart, strict=True).startswith("set.jsonl:3: found list 'a' again")


def test_bytes_that_are_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_bytes(b'{"list":1,"text":"a"}\n{"list":1,"text":"\xff"}\n')
    with pytest.raises(FormatError, match="jsonl:2: found bytes that are not UTF-8"):
        load(path)


def test_found_by_content_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(b'\xef\xbb\xbf\r\n{"list":1,"text":"a"}\r\n'))
    with pytest.warns(DataNote, match="read as jsonl"):
        assert list(load(path).texts) == ["a"]


def test_lines_longer_than_a_block(tmp_path: Path) -> None:
    parts = [b"a" * n for n in (0, 1, 5_000_000, 3, 1_048_570, 1_048_576, 0, 2)]
    path = tmp_path / "x"
    for end in (b"", b"\n"):
        path.write_bytes(b"\xef\xbb\xbf" + b"\n".join(parts) + end)
        assert list(each_line(str(path))) == parts
    path.write_bytes(b"\xef\xbb\xbf")
    assert list(each_line(str(path))) == []


def test_a_real_file(shared_data: Path) -> None:
    path = shared_data / "trec-qa-lab" / "candidates.jsonl.gz"
    with pytest.warns(DataNote, match=r"ignored keys: 'rank' \(8200\)"):
        lists = load(path)
    assert (lists.n_lists, lists.n_items, lists.feature_names) == (164, 8200, ["score"])
    assert lists.labels.sum() == 683
    with gzip.open(path, "rt") as file:
        texts = [item["text"] for line in file for item in json.loads(line)["candidates"]]
    assert list(lists.texts) == texts


# Round trips

TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def sets(draw: st.DrawFn, names: st.SearchStrategy[str] = TEXTS) -> CandidateLists:
    """Any set that JSON Lines hold."""
    lengths = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n, m = sum(lengths), len(lengths)
    feature_names = draw(st.lists(names, unique=True, max_size=5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    X = draw(st.lists(FLOATS, min_size=3, max_size=8))
    values = rng.choice(X, (n, len(feature_names)))
    values[rng.random(values.shape) < draw(st.sampled_from([0, 0.7]))] = draw(st.sampled_from([0.0, np.nan]))
    numbers = st.lists(FLOATS | st.just(float("nan")), min_size=n, max_size=n).map(np.array)

    def maybe(strategy: st.SearchStrategy[Any]) -> Any:
        return draw(st.none() | strategy)

    return CandidateLists(
        np.cumsum([0, *lengths]),
        Dense(values),
        labels=maybe(numbers),
        base_scores=maybe(numbers),
        list_ids=maybe(st.lists(TEXTS, min_size=m, max_size=m, unique=True).map(STRINGS)),
        item_ids=maybe(st.lists(TEXTS, min_size=n, max_size=n).map(STRINGS)),
        texts=maybe(st.lists(TEXTS, min_size=n, max_size=n).map(STRINGS)),
        answers=maybe(st.lists(TEXTS, min_size=n, max_size=n).map(STRINGS)),
        prompts=maybe(st.lists(TEXTS, min_size=m, max_size=m).map(STRINGS)),
        feature_names=feature_names,
        references=tuple(
            draw(st.lists(TEXTS, min_size=m, max_size=m).map(STRINGS)) for _ in range(draw(st.integers(0, 2)))
        ),
    )


@settings(deadline=None, max_examples=60)
@given(sets())
def test_what_is_written_reads_back(tmp_path_factory: pytest.TempPathFactory, lists: CandidateLists) -> None:
    path = str(tmp_path_factory.mktemp("round") / "set.jsonl")
    JSONLines().write(lists, path)
    again = silent(load, path, missing="nan" if lists.has_missing else "zero")
    assert np.array_equal(again.offsets, lists.offsets)
    assert again.feature_names == lists.feature_names
    assert same_bits(again.features.to_dense(), lists.features.to_dense())
    assert same_bits(again.labels, lists.labels)
    assert same_bits(again.base_scores, lists.base_scores)
    for name in ("list_ids", "item_ids", "texts", "answers", "prompts", "references"):
        assert getattr(again, name) == getattr(lists, name), name
    with open(path, encoding="utf-8") as file:
        assert len(file.read().splitlines()) == lists.n_lists
    second = path + ".again"
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNote)
        JSONLines().write(again, second)
    assert Path(second).read_bytes() == Path(path).read_bytes()


def test_sparse_sets_keep_their_columns(tmp_path: Path) -> None:
    features = Sparse(np.array([0, 1, 1, 2]), np.array([700, 3], np.int32), np.array([0.25, -1.0]), 1000)
    lists = CandidateLists(np.array([0, 1, 3]), features)
    path = tmp_path / "x.jsonl"
    JSONLines().write(lists, str(path))
    with pytest.warns(DataNote, match="1999 of 3000"):
        again = load(path)
    assert np.array_equal(again.features.to_dense(), features.to_dense())
    missing = Sparse(np.array([0, 1, 2]), np.array([0, 2], np.int32), np.array([np.nan, 2.0]), 3)
    JSONLines().write(CandidateLists(np.array([0, 2]), missing), str(path))
    with pytest.warns(DataNote, match="1 of 6"):
        again = load(path, missing="nan")
    assert np.array_equal(again.features.to_dense(), missing.to_dense(), equal_nan=True)


def test_what_cannot_be_written_is_refused_or_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "x.jsonl")
    X = Dense(np.ones((2, 2)))
    two = np.array([0, 1, 2])
    for lists, message in (
        (CandidateLists(two, X, texts=STRINGS([b"a", b"\xff"])), "list '2' holds bytes that are not UTF-8"),
        (CandidateLists(two, X, list_ids=STRINGS(["a", "a"])), "two lists have the id 'a', jsonl would"),
        (CandidateLists(two, X, feature_names=["a", "a"]), "two features with the same name"),
    ):
        with pytest.raises(DataError, match=message):
            JSONLines().write(lists, path)
        assert list(tmp_path.iterdir()) == []
    lists = CandidateLists(
        np.array([0, 2]),
        X,
        first_best=np.array([0.0, 1.0]),
        rows=np.array([1, 0]),
        counts={"m": np.ones((2, 1))},
    )
    with pytest.warns(DataNote, match="no first-stage order, order of lines, counts; left out"):
        JSONLines().write(lists, path)


def test_answers_are_strings_or_numbers(tmp_path: Path) -> None:
    first = [{"text": "a"}, {"text": "b", "predicted_answer": "42", "answer": "of the key that counts less"}]
    second = [{"text": "c", "predicted_answer": 42}, {"text": "d", "predicted_answer": None}]
    third = [{"text": "e", "predicted_answer": 0.5}]
    lines = [{"id": i, "candidates": some} for i, some in enumerate((first, second, third))]
    with pytest.warns(DataNote, match=r"ignored keys: 'answer' \(1\)"):
        lists = read(tmp_path, *lines)
    assert list(lists.answers) == ["", "42", "42", "", "0.5"]
    assert lists.n_features == 0
    named = [{"text": "a", "pred": "1"}, {"text": "b"}]
    assert list(read(tmp_path, {"id": 1, "candidates": named}, answer_column="pred").answers) == ["1", ""]
    with pytest.raises(FormatError, match=r"jsonl:1: found an array of 1 at candidates\[0\].answer"):
        read(tmp_path, {"id": 1, "candidates": [{"answer": ["4"]}]})


# Against the slow reader


def check_against(lists: CandidateLists, twin: slow.Twin) -> None:
    items = [item for candidates in twin.lists.values() for item in candidates]
    assert lists.lengths.tolist() == [len(candidates) for candidates in twin.lists.values()]
    ids = list(twin.lists)
    assert (lists.list_ids is None) == ids[0].startswith("\0")
    if lists.list_ids is not None:
        assert list(lists.list_ids) == ids
    assert set(lists.feature_names) == set(twin.names)
    dense = lists.features.to_dense()
    for i, item in enumerate(items):
        assert dict(zip(lists.feature_names, dense[i].tolist(), strict=True)) == {
            name: item["features"].get(name, 0.0) for name in twin.names
        }
    for column, role in ((lists.texts, "text"), (lists.item_ids, "id")):
        assert ([] if column is None else list(column)) == [item[role] for item in items if role in item]
    for column, role in ((lists.labels, "label"), (lists.base_scores, "score")):
        assert (column is None) == (not any(f"raw {role}" in item for item in items))
        if column is not None:
            assert np.array_equal(column, [item[role] for item in items], equal_nan=True)
    rows = [item["row"] for item in items]
    assert (list(range(lists.n_items)) if lists.rows is None else lists.rows.tolist()) == rows
    assert [list(refs) for refs in zip(*lists.references, strict=True)] == (
        list(twin.references.values()) if lists.references else []
    )


def random_candidate(rng: random.Random) -> dict[str, Any]:
    item: dict[str, Any] = {"text": rng.choice(["", "a b", "é\u2028", '"\\'])}
    if rng.random() < 0.6:
        item["features"] = {f"f{j}": rng.choice([1, 0.5, -2e-9, True]) for j in range(rng.randrange(4))}
    if rng.random() < 0.5:
        item[rng.choice(["label", "correct"])] = rng.choice([1, 0, None, True, 2.5])
    if rng.random() < 0.5:
        item["score"] = rng.choice([1, -2.5, None])
    if rng.random() < 0.3:
        item[rng.choice(["logprobs", "token_logprobs"])] = [None, -1, -2.5][: rng.randrange(4)]
    if rng.random() < 0.3:
        item.update(reward=rng.random(), index=3, finish_reason="stop")
    return item


def random_file(rng: random.Random) -> bytes:
    lines: list[dict[str, Any]] = []
    by_list = rng.random() < 0.5
    refs = rng.randrange(3)
    key = rng.choice(["list", "prompt_id", "id"])
    for i in range(rng.randrange(1, 5)):
        entry: dict[str, Any] = {key: rng.choice([i, f"s{i}"])}
        if refs:
            entry["references"] = [f"r{i}{r}" for r in range(refs)]
        items = [random_candidate(rng) for _ in range(rng.randrange(1, 4))]
        if by_list:
            lines.append({**entry, "candidates": items})
        else:
            lines += [{**entry, **item} for item in items]
    if not by_list and rng.random() < 0.3:
        rng.shuffle(lines)
    newline = rng.choice(["\n", "\r\n"])
    return newline.join(json.dumps(line, ensure_ascii=rng.random() < 0.5) for line in lines).encode()


@pytest.mark.parametrize("seed", range(40))
def test_reads_as_the_slow_reader(tmp_path: Path, seed: int) -> None:
    check_as_slowly(tmp_path / "any.jsonl", random_file(random.Random(seed)), slow.read, check_against)


PIECES = [b"NaN", b"null", b"{", b"}", b'"', b",", b"\n", b"\xff", b"1e999", b'"text":1,', b'"list":', b"[]"]


@settings(max_examples=120)
@given(content=mutated_files(random_file, PIECES, most=2))
def test_a_mutated_file_reads_the_same_or_fails_at_the_same_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    check_as_slowly(tmp_path_factory.getbasetemp() / "any.jsonl", content, slow.read, check_against)


def test_trees_of_candidates(tmp_path: Path) -> None:
    lists = quietly(
        tmp_path,
        {"list": "a", "text": "x", "tree": "(S x)", "trees": {"question": "(Q (W w))", "r-1": ""}},
        {"list": "a", "text": "y", "label": 1},
        {"list": "b", "text": "z", "tree": "", "trees": None},
        {"list": "a", "text": "u", "tree": None, "trees": {"question": None, "late": "(L l)"}},
    )
    assert list(lists.trees.to_strings()) == ["(S x)", "", "", ""]
    assert lists.tree_names() == ["tree", "question", "r-1", "late"]
    assert list(lists.forest("question").to_strings()) == ["(Q (W w))", "", "", ""]
    assert list(lists.forest("late").to_strings()) == ["", "", "(L l)", ""]
    save(replace(lists, rows=None), str(tmp_path / "again.jsonl"))
    again = load(tmp_path / "again.jsonl")
    assert again.structures == lists.structures
    assert again.trees == lists.trees


def test_no_candidate_has_a_tree(tmp_path: Path) -> None:
    lists = quietly(tmp_path, {"id": 1, "candidates": [{"text": "a"}]})
    assert (lists.trees, lists.structures, lists.tree_names()) == (None, {}, [])
    text = quietly(tmp_path, {"id": 1, "candidates": [{"tree": "no bracket"}]}, text_column="tree")
    assert (list(text.texts), text.trees) == (["no bracket"], None)


def test_trees_of_many_candidates(tmp_path: Path) -> None:
    """More than are read at a time."""
    items = [{"list": i // 7, "text": "t", "tree": f"(S (N n{i % 50}))"} for i in range(600)]
    for i in range(0, 600, 3):
        items[i]["trees"] = {"q": f"(Q q{i})"}
    lists = read(tmp_path, *items)
    assert list(lists.trees.to_strings()) == [item["tree"] for item in items]
    assert list(lists.forest("q").to_strings()) == [f"(Q q{i})" if i % 3 == 0 else "" for i in range(600)]


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (
            {"tree": "(S (N a)"},
            "brackets that are not closed: '(S (N a)' at candidates[1].tree, expected a )",
        ),
        ({"tree": "S"}, "'S' at candidates[1].tree, expected a tree in brackets"),
        ({"tree": 3}, "the number 3 at candidates[1].tree, expected a string"),
        ({"trees": ["(S a)"]}, "an array of 1 at candidates[1].trees, expected an object of names and trees"),
        ({"trees": {"q": "(S a) b"}}, "'b' after the tree at candidates[1].trees.q, expected one tree"),
        ({"trees": {"q": False}}, "false at candidates[1].trees.q, expected a string"),
        ({"trees": {"1": "(S a)"}}, "the name '1' at candidates[1].trees, expected a letter or _, then"),
        ({"trees": {"tree": "(S a)"}}, "the name 'tree' at candidates[1].trees, expected a letter"),
        (
            {"trees": {"q": "(S"}, "tree": "(T"},
            "brackets that are not closed: '(T' at candidates[1].tree, exp",
        ),
    ],
)
def test_a_bad_tree_is_a_fault_of_its_line(tmp_path: Path, item: dict[str, Any], message: str) -> None:
    good = {"candidates": [{"tree": "(S a)"}, {"tree": ""}]}
    bad = {"candidates": [{"tree": "(S a)"}, item, {"tree": "(S"}]}
    later = {"candidates": [{"tree": "(S a)", "label": "x"}]}
    assert message in fault(tmp_path, good, bad, later)
    assert fault(tmp_path, good, bad, later).startswith("set.jsonl:2: ")


def test_a_tree_that_brackets_cannot_hold_is_refused(tmp_path: Path) -> None:
    lists = CandidateLists.from_arrays(np.ones((1, 1)), structures={"q": ["(S a)"]})
    odd = Forest(*list(lists.forest("q").arrays().values())[:3], STRINGS(["S", "a b"]))
    with pytest.raises(DataError, match="jsonl would read a tree back as another"):
        save(replace(lists, structures={"q": odd}), str(tmp_path / "x.jsonl"))
