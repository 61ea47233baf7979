"""Beams as JSON and the TSV files of NeMo: what is read, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from extensions.speech.test_readers import column, put

from rerank.core.errors import ConfigError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import load


def read(tmp_path: Path, *rows: Any, **options: Any) -> CandidateLists:
    """The lists of JSON texts, one per line."""
    path = tmp_path / "beams.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return load(path, "asr-json", **options)


def test_objects_on_lines(tmp_path: Path) -> None:
    lists = read(
        tmp_path,
        {
            "utt": "u",
            "ref": "a b",
            "nbest": [
                {"text": " a b", "score": -1.5, "lm": -2, "rank": 1},
                {"text": "b", "score": -2, "lm": 0},
            ],
        },
        {
            "audio_filepath": "x/v.w.wav",
            "text": "c",
            "hypotheses": [{"words": ["c", "d"], "score": -1, "lm": 3}],
        },
    )
    assert list(lists.list_ids) == ["u", "v.w"]
    assert list(lists.texts) == ["a b", "b", "c d"]
    assert list(lists.references[0]) == ["a b", "c"]
    assert lists.base_scores.tolist() == [-1.5, -2, -1]
    assert lists.names() == ["score", "lm", "n_words", "n_chars"]
    assert column(lists, "lm") == [-2, 0, 3]


def test_beams_of_pyctcdecode(tmp_path: Path) -> None:
    beams = [["a b", None, [["a", [0, 4]]], -1.5, -4.0], ["a", [], -1.0, -2.5]]
    lists = read(tmp_path, {"u": {"beams": beams}})
    assert column(lists, "logit_score") == [-1.5, -1.0]
    assert column(lists, "lm_score") == [-2.5, -1.5]
    assert lists.base_scores.tolist() == [-4.0, -2.5]


def test_parallel_arrays_of_transformers(tmp_path: Path) -> None:
    with pytest.warns(DataNote, match="read as asr-json"):
        lists = load(put(tmp_path, {"x": '{"id": 7, "sequences_scores": [-1], "sequences": ["a"]}'}) / "x")
    lists = read(tmp_path, [{"id": 7, "sequences": ["a", "b c"], "sequences_scores": [-0.25, -0.5]}])
    assert (list(lists.list_ids), list(lists.texts)) == (["7"], ["a", "b c"])
    assert lists.base_scores.tolist() == [-0.25, -0.5]


def test_documents_by_utterance(tmp_path: Path) -> None:
    found = read(tmp_path, {"u": [["a", -1], ["b", -2]], "v": {"hyp_1": ["c", -3], "hyp_2": ["d", -4]}})
    assert list(found.list_ids) == ["u", "v"]
    assert list(found.texts) == ["a", "b", "c", "d"]
    assert found.base_scores.tolist() == [-1, -2, -3, -4]


def whisper(texts: list[str], logprobs: list[float]) -> str:
    segments = [
        {"id": i, "text": text, "tokens": [0] * len(text), "avg_logprob": value, "no_speech_prob": 0.1 * i}
        for i, (text, value) in enumerate(zip(texts, logprobs, strict=True))
    ]
    return json.dumps({"text": "".join(texts), "segments": segments, "language": "en"}, indent=1)


def test_runs_of_whisper_are_merged(tmp_path: Path) -> None:
    first = put(
        tmp_path / "t0",
        {"u.json": whisper([" Hi", " you!"], [-0.5, -1.0]), "v.json": whisper([" Yes"], [-1])},
    )
    second = put(tmp_path / "t1", {"u.json": whisper([" Hi you"], [-2.0]), "v.json": whisper([" No"], [-3])})
    (tmp_path / "refs").write_text("v yes\nu hi you\n")
    lists = load(first, merge=[second], refs=tmp_path / "refs")
    assert list(lists.list_ids) == ["u", "v"]
    assert list(lists.texts) == ["Hi you!", "Hi you", "Yes", "No"]
    assert list(lists.references[0]) == ["hi you", "yes"]
    assert lists.base_scores.tolist() == pytest.approx([(3 * -0.5 + 5 * -1.0) / 8, -2, -1, -3])
    assert column(lists, "no_speech_prob") == [0.1, 0, 0, 0]
    assert column(lists, "file_2") == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"utt": "u", "nbest": [{"score": 1}]}, r":?found no text at nbest\[0\], expected one of text"),
        ({"utt": "u", "nbest": [3]}, r"found the number 3 at nbest\[0\], expected a hypothesis"),
        ({"utt": "u", "nbest": "a"}, "found the string 'a' at nbest, expected an array"),
        (
            {"utt": "u", "sequences": [["a"]]},
            r"at sequences, expected an array of texts \(decode tokens first\)",
        ),
        (
            {"utt": "u", "sequences": ["a"], "scores": [1, 2]},
            "found an array of 2 at scores, expected 1 numbers",
        ),
        ({"utt": "u", "nbest": [["a", "b"]]}, r"found the string 'b' at nbest\[0\]\[1\], expected a number"),
        (
            {"utt": "u", "nbest": [{"words": [1]}]},
            r"found the number 1 at nbest\[0\]\.words\[0\], expected a text",
        ),
        ({"utt": 1.5, "nbest": ["a"]}, "found the number 1.5 at utt, expected an id"),
        ([{"utt": "u", "nbest": ["a"]}, {"x": 1}], r"found an object at \[1\], expected an utterance"),
        ([{"utt": "u", "nbest": ["a"]}, {"utt": "u", "nbest": ["a"]}], "found utterance 'u' again"),
        ([], "found no utterance"),
        (3, "found the number 3, expected an utterance"),
    ],
)
def test_json_faults(tmp_path: Path, row: Any, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, row)


def test_a_fault_has_its_line(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"beams\.json:2: found no text at nbest\[0\]"):
        read(tmp_path, {"utt": "u", "nbest": ["a"]}, {"utt": "v", "nbest": [{}]})


BEAMS = "a b\t-1.5\na\t-2\n\t-3\nc\t-4\n"


def test_nemo(tmp_path: Path) -> None:
    put(tmp_path, {"b.tsv": BEAMS, "plain": "a b\nc\n"})
    manifest = [
        {"audio_filepath": f"/x/{name}.wav", "text": text} for name, text in (("u", "a b"), ("v", "c"))
    ]
    put(tmp_path, {"manifest": "".join(json.dumps(row) + "\n" for row in manifest)})
    lists = load(tmp_path / "b.tsv", "nemo-beams", refs=tmp_path / "manifest")
    assert (list(lists.list_ids), lists.lengths.tolist()) == (["u", "v"], [2, 2])
    assert list(lists.texts) == ["a b", "a", "", "c"]
    assert list(lists.references[0]) == ["a b", "c"]
    assert lists.base_scores.tolist() == [-1.5, -2, -3, -4]
    lists = load(tmp_path / "b.tsv", "nemo-beams", n_best=2, refs=tmp_path / "plain")
    assert (list(lists.list_ids), list(lists.references[0])) == (["0", "1"], ["a b", "c"])
    with pytest.raises(FormatError, match="plain: found 2 references, expected 1, one for each list of"):
        load(tmp_path / "b.tsv", "nemo-beams", n_best=4, refs=tmp_path / "plain")
    with pytest.raises(FormatError, match="found 4 lines, expected a multiple of 3"):
        load(tmp_path / "b.tsv", "nemo-beams", n_best=3)
    with pytest.raises(ConfigError, match="does not contain the size of the beam"):
        load(tmp_path / "b.tsv", "nemo-beams")


def test_a_wrong_size_of_the_beam_is_noted(tmp_path: Path) -> None:
    put(tmp_path, {"b.tsv": "a\t-1\nb\t-2\nc\t-3\nd\t-1\ne\t-2\nf\t-3\n"})
    with pytest.warns(DataNote, match="scores rise within 1 of 3 lists: is 2 the size of the beam"):
        load(tmp_path / "b.tsv", "nemo-beams", n_best=2)
    assert load(tmp_path / "b.tsv", "nemo-beams", n_best=3).n_lists == 2


@pytest.mark.parametrize(
    ("text", "message"), [("a b\n", ":1: found 'a b'"), ("a\tx\n", ":1: found score 'x'"), ("", "an empty")]
)
def test_nemo_faults(tmp_path: Path, text: str, message: str) -> None:
    put(tmp_path, {"b.tsv": text})
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "b.tsv", "nemo-beams", n_best=1)


@pytest.mark.parametrize("key", ["nbest", "hypotheses", "beams", "alternatives"])
def test_a_document_by_utterance_is_recognised_and_a_run_is_not(tmp_path: Path, key: str) -> None:
    rows = [{"text": "a b", "score": -1}, {"text": "a c", "score": -2}]
    put(tmp_path, {"one.json": json.dumps({"u1": {key: rows}, "u2": {key: rows}})})
    with pytest.warns(DataNote, match="read as asr-json"):
        lists = load(tmp_path / "one.json")
    assert [lists.list_id(i) for i in range(2)] == ["u1", "u2"]
    put(tmp_path, {"run.json": json.dumps({"q": {"nbest": 1.5, "d": 2}})})
    assert list(load(tmp_path / "run.json").item_ids or ()) == ["nbest", "d"]
