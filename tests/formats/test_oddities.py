"""Notes about mistakes that a file shows once it is read."""

import json
import warnings
from pathlib import Path

import numpy as np
import pytest

from rerank import evaluate
from rerank.core.errors import ConfigError, DataNote
from rerank.data.lists import CandidateLists
from rerank.formats import load
from rerank.formats.sources import validate

WORDS = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa", "mu", "nu"]


def notes_of(path: Path, **options: object) -> tuple[CandidateLists, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataNote)
        lists = load(path, **options)
    return lists, [str(note.message).replace(f"{path}: ", "") for note in caught]


@pytest.mark.parametrize(
    ("qids", "note"),
    [
        (["1", "1.0", "2"], "the ids '1.0' and '1' are those of two lists"),
        (["1", "1.00", "2", "2.0"], "the ids '1.00' and '1' are those of two lists (and 1 more pair)"),
        (["1.5", "1.50", "a.0", "a"], None),
        (["1.0", "2.0"], None),
    ],
)
def test_ids_that_look_equal(tmp_path: Path, qids: list[str], note: str | None) -> None:
    path = tmp_path / "set.letor"
    path.write_text("".join(f"1 qid:{qid} 1:1\n" for qid in qids))
    assert notes_of(path)[1] == ([] if note is None else [note])


def test_ids_with_blanks_around_them(tmp_path: Path) -> None:
    path = tmp_path / "set.csv"
    path.write_text("list,x\n1,1\n1 ,2\n")
    _, notes = notes_of(path, list_column="list")
    assert notes == ["the ids '1 ' and '1' are those of two lists"]


def test_a_file_without_qids_is_one_list(tmp_path: Path) -> None:
    path = tmp_path / "set.letor"
    path.write_text("1 1:1\n0 1:2\n")
    assert notes_of(path)[1] == ["no qid: the file is one list of 2 items"]


def test_positive_log_probabilities_are_odd_for_validate_alone(tmp_path: Path) -> None:
    path = tmp_path / "set.parses"
    path.write_text("12.5\t(S a)\n-1\t(S a)\n\n")
    odd = "1 of 2 values of 'logprob' are positive; if smaller is better, negate the column"
    assert notes_of(path)[1] == []
    assert odd in validate(str(path)).warnings
    path = tmp_path / "set.jsonl"
    line = {"list": 1, "cumulative_logprob": 1e-9, "neg_logprob": 3, "NLogP": 3, "text": "a"}
    path.write_text(json.dumps(line) + "\n" + json.dumps({**line, "cumulative_logprob": 0.5}) + "\n")
    assert notes_of(path)[1] == []
    assert odd.replace("logprob", "cumulative_logprob") in validate(str(path)).warnings


def nbest(tmp_path: Path, n: int = 8) -> tuple[Path, list[str]]:
    """An N-best list of ``n`` sentences of three words, and their references."""
    sentences = [" ".join(WORDS[(i + k) % 12] + str(i) for k in range(3)) for i in range(n)]
    path = tmp_path / "set.moses"
    path.write_text("".join(f"{i} ||| {text} ||| a= 1 ||| 1\n" for i, text in enumerate(sentences)))
    return path, [f"{text} ." for text in sentences]


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda refs: refs, None),
        (
            lambda refs: [*refs[1:], "x"],
            "references fit the texts better on the line before; are they shifted?",
        ),
        (
            lambda refs: ["x", *refs[:-1]],
            "references fit the texts better on the line after; are they shifted?",
        ),
        (
            lambda refs: [*refs[:4], "x", *refs[4:-1]],
            "references fit the texts better on the line after; are",
        ),
        (lambda refs: [*refs[:-1], ""], "1 list of 8 without a reference (empty lines)"),
        (lambda refs: [f"0 ||| {ref}" for ref in refs], "the references look like an N-best list"),
    ],
)
def test_references(tmp_path: Path, change: object, note: str | None) -> None:
    path, references = nbest(tmp_path)
    (tmp_path / "refs").write_text("".join(f"{text}\n" for text in change(references)))  # type: ignore[operator]
    _, notes = notes_of(path, refs=str(tmp_path / "refs"))
    assert len(notes) == (note is not None)
    assert note is None or notes[0].startswith(note)


def test_references_given_twice_or_the_lists_themselves(tmp_path: Path) -> None:
    path, references = nbest(tmp_path)
    (tmp_path / "refs").write_text("".join(f"{text}\n" for text in references))
    (tmp_path / "copy").write_bytes((tmp_path / "refs").read_bytes())
    _, notes = notes_of(path, refs=[str(tmp_path / "refs"), str(tmp_path / "copy")])
    assert notes == ["references 2 are the same as earlier ones"]
    with pytest.raises(ConfigError, match="is the file of the lists, expected their references"):
        load(path, refs=str(path))


@pytest.mark.parametrize(
    ("metric", "noted"),
    [("BLEU", True), ("BLEU(lc=1)", False), ("chrF", True), ("WER(norm=lower)", False), ("TER", False)],
)
def test_metrics_that_tell_capital_letters_apart_note_texts_without_any(
    tmp_path: Path, metric: str, noted: bool
) -> None:
    path, references = nbest(tmp_path)
    (tmp_path / "refs").write_text("".join(f"{text.title()}\n" for text in references))
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        lists = load(path, refs=str(tmp_path / "refs"))
        evaluate(lists, np.zeros(lists.n_items), metric)
    notes = [str(one.message) for one in found if "no capital letters, the references do" in str(one.message)]
    assert len(notes) == noted
    assert all(f"{metric}(lc=1) counts them in one case" in one for one in notes)


@pytest.mark.parametrize(
    ("n", "last", "noted"), [(25, [1, 0], True), (25, [0, 1], False), (15, [1, 0], False)]
)
def test_a_file_sorted_by_label_has_no_first_stage(
    tmp_path: Path, n: int, last: list[int], noted: bool
) -> None:
    labels = [[2, 1, 1, 0]] * (n - 1) + [last]
    rows = [
        {
            "list": str(i),
            "candidates": [{"text": f"t{k}", "label": label, "x": k} for k, label in enumerate(own)],
        }
        for i, own in enumerate(labels)
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes = [note for note in notes_of(path)[1] if "first-best is no first stage" in note]
    assert notes == (
        [
            f"in all {n} lists with several labels they fall in the first-best order; if the "
            "file is sorted by label, first-best is no first stage"
        ]
        if noted
        else []
    )
