"""Files of list weights: what is written reads back, and what does not belong to the lists is refused."""

import numpy as np
import pytest

from rerank.core.errors import DataError, FormatError
from rerank.core.files.write import write_lines
from rerank.data.lists import CandidateLists
from rerank.formats.weights import list_weight_lines, read_list_weights


@pytest.fixture
def lists():
    return CandidateLists.from_arrays(
        np.zeros((6, 1)), qid=["b", "b", "a", "c é", "c é", "c é"], source="train"
    )


def read(tmp_path, text, lists):
    path = tmp_path / "w.tsv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_list_weights(str(path), lists)


def test_weights_read_back_to_the_bit(lists, tmp_path):
    for group in (None, [2, 4]):
        some = lists if group is None else CandidateLists.from_arrays(np.zeros((6, 1)), group=group)
        weights = np.array([1 / 3, 2.5e-310, 1e300])[: some.n_lists]
        write_lines(str(tmp_path / "w"), list_weight_lines(some, weights))
        np.testing.assert_array_equal(read_list_weights(str(tmp_path / "w"), some), weights)
    assert (tmp_path / "w").read_text().splitlines()[:2] == [
        "list\titems\tweight",
        "1\t2\t0.3333333333333333",
    ]


def test_lists_are_matched_by_id_in_any_order_and_items_may_be_absent(lists, tmp_path):
    found = read(tmp_path, "list\tweight\nc é\t0\na\t2\r\nb\t1e0\n", lists)
    assert found.tolist() == [1, 2, 0]
    assert read(tmp_path, "\ufefflist\tweight\nc é\t3\na\t2\nb\t1", lists).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("b\t1\na\t1\nc é\t1\n", 1, "found the header .*expected list, items, weight or list, weight"),
        ("", 1, "expected list, items, weight or list, weight"),
        ("list\tweight\nb\t1\t2\n", 2, "expected list, weight"),
        ("list\tweight\nb\t1\n\n", 3, "expected list, weight"),
        ("list\tweight\nb\t1\nx\t1\n", 3, "found list 'x', expected one of the 3 training lists of train"),
        ("list\tweight\nb\t1\na\t1\nb\t1\n", 4, r"found list 'b' again, .*\(first on line 2\)"),
        ("list\tweight\nb\t-0.5\n", 2, "found weight '-0.5', expected a number that is not negative"),
        ("list\tweight\nb\tnan\n", 2, "nan"),
        ("list\tweight\nb\tinf\n", 2, "inf"),
        ("list\tweight\nb\tone\n", 2, "one"),
        ("list\titems\tweight\nb\t3\t1\n", 2, "found '3' items of list 'b', expected 2, as in train"),
    ],
)
def test_faults_are_reported_with_their_line(lists, tmp_path, text, line, expected):
    with pytest.raises(FormatError, match=expected) as error:
        read(tmp_path, text, lists)
    assert f"w.tsv:{line}:" in str(error.value)
    assert "\n" not in str(error.value)


def test_lists_without_a_weight_and_weights_of_0_are_refused(lists, tmp_path):
    with pytest.raises(DataError, match=r"w.tsv: found no weight of list 'b' of train, nor of 1 more"):
        read(tmp_path, "list\tweight\na\t1\n", lists)
    with pytest.raises(DataError, match=r"w.tsv: every weight is 0"):
        read(tmp_path, "list\tweight\na\t0\nb\t0\nc é\t0\n", lists)


def test_ids_that_do_not_name_one_list_are_refused(tmp_path):
    lists = CandidateLists.from_arrays(np.zeros((2, 1)), qid=["a", "b"], source="x")
    twice = lists.subset(np.array([0, 0]))
    with pytest.raises(DataError, match="x: two lists have the id 'a'"):
        list(list_weight_lines(twice, np.ones(2)))
    with pytest.raises(DataError, match="x: two lists have the id 'a'"):
        read(tmp_path, "list\tweight\na\t1\n", twice)
    odd = CandidateLists.from_arrays(np.zeros((1, 1)), qid=["a\tb"], source="x")
    with pytest.raises(DataError, match="cannot be written in a table"):
        list(list_weight_lines(odd, np.ones(1)))
