"""Comparisons from tables, JSON Lines and arrays of several tools, records and frames; and their faults."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from reading import quietly

from rerank.core.errors import ConfigError, DataError, FormatError, RerankError
from rerank.extensions.preferences.comparisons import comparisons_of


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return str(path)


def outcome(found, k):
    return found.items[found.first[k]], found.items[found.second[k]], found.outcomes[k].tolist()


def test_a_table_with_verdicts_of_all_words(tmp_path):
    path = written(
        tmp_path / "a.tsv",
        "list\tfirst\tsecond\twinner\tjudge\n"
        "1\tm\tn\tfirst\tx\n1\tn\to\tmodel_b\ty\n2\tm\to\ttie\tx\n2\to\tm\tm\tx\n",
    )
    found = comparisons_of(path)
    assert [outcome(found, k) for k in range(4)] == [
        ("m", "n", [1, 0, 0]),
        ("n", "o", [0, 0, 1]),
        ("m", "o", [0, 1, 0]),
        ("o", "m", [0, 0, 1]),
    ]
    assert found.lists.tolist() == [0, 0, 1, 1]
    assert found.judge_ids == ["x", "y"]
    assert found.ordered
    assert found.places == [2, 3, 4, 5]


def test_preferences_between_are_chances_and_the_middle_is_a_tie(tmp_path):
    path = written(tmp_path / "a.csv", "system_1,system_2,preference\na,b,1.25\na,b,1.5\na,b,2\n")
    found = comparisons_of(path)
    assert found.outcomes.tolist() == [[0.75, 0, 0.25], [0, 1, 0], [0, 0, 1]]
    assert found.soft


def test_quotes_line_ends_and_texts_of_several_lines(tmp_path):
    text = 'first,second,winner,text_1,text_2\r\na,b,first,"x, ""y""\nz",w\r\n\r\nb,a,tie,v,u\r\n'
    (tmp_path / "a.csv").write_bytes(text.encode())
    found = comparisons_of(str(tmp_path / "a.csv"))
    assert found.outcomes.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.lengths[0].tolist() == [len('x, "y"\nz'), 1]
    (tmp_path / "b.tsv").write_bytes(b"winner\tloser\r\na\tb\r\n\r\nb\tc\r\n")
    plain = comparisons_of(str(tmp_path / "b.tsv"))
    assert plain.items == ["a", "b", "c"]
    assert plain.places == [2, 4]


@pytest.mark.parametrize("array", [False, True])
def test_annotations_of_alpaca_eval(tmp_path, array):
    row = {"instruction": "i", "output_1": "xy", "generator_1": "a", "output_2": "xyz", "generator_2": "b"}
    entries = [{**row, "preference": 1.9, "annotator": "g"}, {**row, "preference": None, "annotator": "g"}]
    text = json.dumps(entries) if array else "".join(json.dumps(one) + "\n" for one in entries)
    with pytest.warns(UserWarning, match="1 comparisons without a preference"):
        found = comparisons_of(written(tmp_path / "annotations.json", text))
    assert found.lengths.tolist() == [[2, 3]]
    np.testing.assert_allclose(found.outcomes, [[0.1, 0, 0.9]])
    assert found.texts == {(0, 0): "xy", (0, 1): "xyz"}


def test_battles_of_the_arena(tmp_path):
    talk = [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]
    rows = [
        {"question_id": "q", "model_a": "a", "model_b": "b", "winner": winner, "judge": "j"}
        | {"conversation_a": talk, "conversation_b": [*talk, {"role": "assistant", "content": "!"}]}
        for winner in ("model_a", "tie (bothbad)")
    ]
    found = comparisons_of(written(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)))
    assert found.outcomes.tolist() == [[1, 0, 0], [0, 1, 0]]
    assert found.lengths.tolist() == [[5, 7], [5, 7]]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "p", "chosen": "good", "rejected": "bad"},
        {"chosen": "\n\nHuman: hi\n\nAssistant: good", "rejected": "\n\nHuman: hi\n\nAssistant: bad"},
        {
            "chosen": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "good"}],
            "rejected": [{"role": "user", "content": "p"}, {"role": "assistant", "content": "bad"}],
        },
    ],
    ids=["prompt", "plain", "messages"],
)
def test_chosen_and_rejected_answers(tmp_path, row):
    found = comparisons_of(written(tmp_path / "a.jsonl", json.dumps(row) + "\n"))
    assert outcome(found, 0) == ("good", "bad", [1, 0, 0])
    assert found.by_text
    assert not found.ordered
    assert found.named_lists


def test_rankings(tmp_path):
    found = comparisons_of(written(tmp_path / "a.tsv", "list\tranking\n1\tb > a > c\n2\ta > c\n"))
    assert [[found.items[i] for i in ranking] for ranking in found.rankings] == [["b", "a", "c"], ["a", "c"]]
    same = comparisons_of([{"ranking": ["b", "a", "c"]}, {"ranking": ["a", "c"]}])
    assert [one.tolist() for one in same.rankings] == [one.tolist() for one in found.rankings]


def test_python_takes_pairs_records_frames_and_other_names():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    records = [{"x": "a", "y": "b", "winner": "second"}]
    columns = {"first": "x", "second": "y"}
    for given in (records, pandas.DataFrame(records)):
        assert outcome(comparisons_of(given, columns), 0) == ("a", "b", [0, 0, 1])
    assert outcome(comparisons_of([("a", "b")]), 0) == ("a", "b", [1, 0, 0])


def test_files_are_read_together_and_contrary_answers_count(tmp_path):
    paths = [
        written(tmp_path / f"{k}.tsv", f"first\tsecond\twinner\na\tb\t{k}\n") for k in ("first", "second")
    ]
    found = comparisons_of(paths)
    assert found.outcomes.tolist() == [[1, 0, 0], [0, 0, 1]]
    assert [found.place(k) for k in (0, 1)] == [f"{path}:2" for path in paths]
    wrong = written(tmp_path / "wrong.tsv", "first\tsecond\twinner\na\tb\tc\n")
    with pytest.raises(FormatError, match=r"wrong\.tsv:2: found winner 'c'"):
        comparisons_of([paths[0], wrong])
    with pytest.raises(DataError, match="found"):
        comparisons_of([paths[0], written(tmp_path / "c.tsv", "winner\tloser\na\tb\n")])


HEAD = "first\tsecond\twinner\n"


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        (HEAD + "a\tb\tc\n", 2, "winner 'c'"),
        (HEAD + "a\tb\tfirst\na\ta\tfirst\n", 3, "'a' compared with itself"),
        (HEAD + "a\ta\ttie\n", 2, "compared with itself, as in every comparison"),
        (HEAD + "a\t \tfirst\n", 2, "an empty name"),
        (HEAD + "a\tb\n", 2, "2 cells"),
        (HEAD + "2\t1\t1\n", 2, "an item and a place"),
        (HEAD, None, "no comparison"),
        ("", None, "an empty file"),
        ("a\tb\nx\ty\n", 1, "columns a, b"),
        ("first\tsecond\tpreference\na\tb\tnan\n", 2, "'nan' at preference"),
        ("first\tsecond\tpreference\na\tb\t0\n", 2, "0 at preference"),
        ("first\tsecond\twinner\tlength_1\tlength_2\na\tb\tfirst\t3\t-1\n", 2, "-1 at length_2"),
        ("ranking\na > b > a\n", 2, "'a' twice"),
        ("ranking\na\n", 2, "the string 'a'"),
        ("ranking\na = b > c\n", 2, "'a = b'"),
        ('{"chosen": "x", "rejected": "x"}\n', 1, "'x' compared with itself"),
        ('{"prompt": "p", "chosen": "x", "rejected": " "}\n', 1, "an empty text"),
        ('{"model_a": "a", "model_b": "b", "winner": "a"}\n{"model_a": "a", "winner": "a"}\n', 2, "no key"),
        ('{"generator_1": "a", "generator_2": "b", "preference": "x"}\n', 1, "'x' at preference"),
        ('{"first": "a", "second": "b", "winner": NaN}\n', 1, "NaN"),
        ('["a"]\n', None, "the string 'a'"),
    ],
)
def test_a_fault_is_one_line_with_the_line_of_the_file(tmp_path, text, line, found):
    path = written(tmp_path / "a.tsv", text)
    with pytest.raises(RerankError) as caught:
        quietly(path, comparisons_of)
    message = str(caught.value)
    assert message.startswith(f"{path}{'' if line is None else f':{line}'}: found ") or line is None
    assert found in message
    assert "\n" not in message


def test_ties_with_itself_are_left_out_and_reported(tmp_path):
    path = written(tmp_path / "a.tsv", HEAD + "a\ta\ttie\na\tb\tfirst\n")
    with pytest.warns(UserWarning, match="1 ties of an item with itself"):
        found = comparisons_of(path)
    assert outcome(found, 0) == ("a", "b", [1, 0, 0])
    assert found.places == [3]


def test_bytes_that_are_no_text_are_refused(tmp_path):
    (tmp_path / "a.tsv").write_bytes(HEAD.encode() + b"a\tb\tfirst\n\xff\tb\tfirst\n")
    with pytest.raises(FormatError, match=r"a\.tsv:3: found bytes"):
        comparisons_of(str(tmp_path / "a.tsv"))


@pytest.mark.parametrize(
    ("rows", "winner"),
    [
        ([("c", "a", "a"), ("c", "b", "c")], "a"),  # names: no place is called c
        ([("1", "2", "first"), ("2", "1", "second")], "1"),
        ([("x", "y", "A"), ("y", "x", "B")], "x"),
    ],
)
def test_verdicts_that_could_be_names_or_places_are_what_all_of_them_can_be(rows, winner):
    found = comparisons_of([dict(zip(("first", "second", "winner"), row, strict=True)) for row in rows])
    first = found.first[0] if found.outcomes[0, 0] else found.second[0]
    assert found.items[first] == winner


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "found none"),
        ([("a", "b"), ("a",)], "comparison 2: found"),
        ([{"first": "a", "second": "b"}], "expected columns first and second"),
        ([{"winner": "a", "loser": 1.5}], "comparison 1: found the number"),
    ],
)
def test_faults_of_python(given, message):
    with pytest.raises(RerankError, match=message):
        comparisons_of(given)
    with pytest.raises(ConfigError, match="unknown role"):
        comparisons_of([("a", "b")], {"frist": "x"})
    with pytest.raises(ConfigError, match="column 'winner' as first: not used with winner, loser"):
        comparisons_of([("a", "b")], {"first": "winner"})


def test_copies_of_all_comparisons_are_reported(tmp_path):
    """Some may be the verdicts of several judges that agree."""
    rows = ["q\ta\tb\t1\tj\n", "q\tb\tc\t1\tj\n", "q\tb\ta\t2\tj\n", "q\ta\tb\t1\tk\n"]
    head = "list\tfirst\tsecond\twinner\tjudge\n"
    for some, copied in (
        (rows, False),
        (rows[:1] + rows[2:3], True),
        (2 * rows, True),
        (rows + rows[:3], False),
    ):
        path = written(tmp_path / "a.tsv", head + "".join(some))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            comparisons_of(path)
        assert [str(one.message).partition(";")[0] for one in caught] == copied * [
            f"{path}: each comparison comes twice at least, with its prompt and verdict"
        ]
    with pytest.raises(ConfigError, match=r"a\.tsv: given twice, expected each file once"):
        comparisons_of([path, str(tmp_path / "." / "a.tsv")])


def test_names_that_differ_in_blanks_or_capitals_are_reported():
    for other in (" a", "A", "a "):
        with pytest.warns(UserWarning, match=f"the names 'a' and '{other}' are those of two items"):
            comparisons_of([("a", "b"), (other, "b")])
