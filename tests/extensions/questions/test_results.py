"""Results of a search engine with files of questions and passages."""

import warnings
from pathlib import Path

import pytest

from rerank.core.errors import DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.extensions.questions.results import read_results

QUESTIONS = "7\tWho feeds dogs?\n8\tWhere is Rome?\n"
PASSAGES = "7\tKeepers feed dogs.\n8\tRome is\tin Italy.\n9\tCats sleep.\n"
RESULTS = "7 9 2.5\n7\t7\t1.5\r\n\n8 8 3\n8 9 -1e1\n"


def read(
    folder: Path, results: str = RESULTS, questions: str = QUESTIONS, passages: str = PASSAGES
) -> CandidateLists:
    for name, text in (("r", results), ("q", questions), ("p", passages)):
        (folder / name).write_bytes(text.encode())
    return read_results(*(str(folder / name) for name in "rqp"))


def test_lists_of_results(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lists = read(tmp_path)
    assert list(lists.list_ids or ()) == ["7", "8"]
    assert list(lists.prompts or ()) == ["Who feeds dogs?", "Where is Rome?"]
    assert list(lists.texts or ()) == [
        "Cats sleep.",
        "Keepers feed dogs.",
        "Rome is\tin Italy.",
        "Cats sleep.",
    ]
    assert list(lists.item_ids or ()) == ["9", "7", "8", "9"]
    assert lists.names() == ["engine"]
    assert lists.base_scores is not None
    assert lists.labels is not None
    assert lists.first_best is not None
    assert lists.features.column(0).tolist() == lists.base_scores.tolist() == [2.5, 1.5, 3, -10]
    assert lists.labels.tolist() == [0, 1, 1, 0]
    assert lists.first_best.tolist() == [0, -1, -2, -3]


def test_lines_of_a_question_are_brought_together(tmp_path: Path) -> None:
    with pytest.warns(DataNote) as notes:
        lists = read(tmp_path, "7 9 1\n8 8 3\n7 7 2\n")
    assert [str(note.message).split(": ")[1] for note in notes] == [
        "the lines of 1 list are not contiguous (from line 3); they are brought together",
        "the lines of 1 of 2 lists are not in the order of the scores",
    ]
    assert lists.labels is not None
    assert lists.labels.tolist() == [0, 1, 1]
    assert lists.rows is not None
    assert lists.rows.tolist() == [0, 2, 1]


def test_no_right_passage_is_noted(tmp_path: Path) -> None:
    with pytest.warns(DataNote, match="no passage has the id of its question"):
        read(tmp_path, "7 9 1\n8 9 3\n")


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"results": "7 9 2\n7 9\n"}, "r:2: found '7 9', expected question id, passage id and score"),
        ({"results": "7 9 two\n"}, "r:1: found score 'two', expected a number"),
        ({"results": "7 9 inf\n"}, "r:1: found score 'inf', expected a finite number"),
        ({"results": "1 9 2\n"}, "r:1: found question '1', expected an id of "),
        ({"results": "7 1 2\n"}, "r:1: found passage '1', expected an id of "),
        (
            {"results": "7 9 2\n7 9 1\n"},
            "r:2: found passage '9' again, expected each passage of a question once",
        ),
        ({"results": "\n"}, "r: found no result, expected question id"),
        ({"questions": PASSAGES, "passages": QUESTIONS}, " swapped?), expected an id of "),
        (
            {"questions": "7\tWho?\n8 Where?\n"},
            "q:2: found '8 Where?', expected an id without blanks, a tab and",
        ),
        ({"passages": "7\ta\n7\tb\n"}, "p:2: found id '7' again, expected each id once"),
        ({"passages": "\ta\n"}, "p:1: found '\\ta', expected an id without blanks"),
    ],
)
def test_faults(files: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as raised:
        read(tmp_path, **files)
    assert message.replace("\\t", "\t") in str(raised.value) or message in str(raised.value).replace(
        "\\\\t", "\\t"
    )
