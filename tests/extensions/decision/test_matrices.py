"""Utilities from files: every form, and what is refused in one line."""

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.extensions.decision.expressions import utility_of
from rerank.extensions.decision.utilities import Pairing

IDS = StringColumn.from_strings


def lists(sizes=(2, 3)):
    made = CandidateLists.from_arrays(np.zeros((sum(sizes), 1)), group=sizes)
    ids = [f"c{k}" for size in sizes for k in range(size)]
    names = [f"L{i}" for i in range(len(sizes))]
    return CandidateLists(made.offsets, made.features, list_ids=IDS(names), item_ids=IDS(ids), source="set")


TABLES = [np.array([[1.0, 0.5], [0.25, 1.0]]), np.arange(9.0).reshape(3, 3)]


def read(text, some=None):
    return list(utility_of(text).tables(Pairing.within(some or lists())))


def lines_of(tables=TABLES):
    return [
        f"L{i}\tc{c}\tc{o}\t{float(table[c, o])!r}"
        for i, table in enumerate(tables)
        for c in range(len(table))
        for o in range(len(table))
    ]


def named(table):
    head = "\t" + "\t".join(f"c{k}" for k in range(len(table)))
    return "\n".join([head, *("\t".join([f"c{c}", *map(repr, row)]) for c, row in enumerate(table.tolist()))])


def assert_tables(found):
    for one, other in zip(found, TABLES, strict=True):
        np.testing.assert_array_equal(one, other)


def test_every_form_gives_the_same_tables(tmp_path):
    (tmp_path / "folder").mkdir()
    np.save(tmp_path / "folder" / "L0.npy", TABLES[0])
    (tmp_path / "folder" / "L1.tsv").write_text(named(TABLES[1]))
    assert_tables(read(f"matrix:{tmp_path / 'folder'}"))
    np.save(tmp_path / "flat.npy", np.concatenate([table.ravel() for table in TABLES]).astype(np.float32))
    assert_tables(read(f"matrix:{tmp_path / 'flat.npy'}"))
    (tmp_path / "long.tsv").write_text("\n".join(lines_of()[::-1]) + "\n")
    assert_tables(read(f"matrix:{tmp_path / 'long.tsv'}"))
    rows = named(TABLES[1]).split("\n")
    swapped = ["\t".join(np.array(row.split("\t"))[[0, 3, 1, 2]]) for row in [rows[0], *rows[:0:-1]]]
    (tmp_path / "folder" / "L1.tsv").write_text("\n".join(swapped))
    assert_tables(read(f"matrix:{tmp_path / 'folder'}"))


def test_lists_of_one_size_may_be_one_array(tmp_path):
    table = np.arange(8.0).reshape(2, 2, 2)
    np.save(tmp_path / "all.npy", table)
    np.testing.assert_array_equal(read(f"matrix:{tmp_path / 'all.npy'}", lists((2, 2))), table)


def test_a_symmetric_utility_needs_each_pair_once(tmp_path):
    table = np.array([[1.0, 0.5], [0.5, 1.0]])
    path = tmp_path / "half.tsv"
    path.write_text("L0\tc0\tc0\t1\nL0\tc0\tc1\t0.5\nL0\tc1\tc1\t1\n")
    np.testing.assert_array_equal(read(f"matrix:{path},symmetric", lists((2,)))[0], table)
    with pytest.raises(FormatError, match="found no value for 'c1' and 'c0' of list 'L0', expected one for"):
        read(f"matrix:{path}", lists((2,)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda rows: rows[1:],
            "long.tsv: found no value for 'c0' and 'c0' of list 'L0', expected one for each",
        ),
        (
            lambda rows: [*rows, rows[0]],
            "long.tsv:14: found a pair that is given twice, expected each pair once",
        ),
        (lambda rows: ["L9\tc0\tc0\t1", *rows], "long.tsv:1: found list 'L9', expected a list of set"),
        (lambda rows: ["L0\tc7\tc0\t1", *rows], "long.tsv:1: found item 'c7', expected an item of list 'L0'"),
        (lambda rows: ["L0\tc0\tc7\t1", *rows], "long.tsv:1: found item 'c7', expected an item of list 'L0'"),
        (
            lambda rows: [rows[0].replace("1.0", "nan"), *rows[1:]],
            "long.tsv:1: found 'nan', expected a finite",
        ),
        (
            lambda rows: [rows[0].replace("1.0", "one"), *rows[1:]],
            "long.tsv:1: found 'one', expected a finite",
        ),
        (lambda rows: ["L0 c0 c0 1", *rows], "long.tsv:1: found 1 cells, expected list, candidate"),
    ],
)
def test_lines_that_are_refused(change, message, tmp_path):
    (tmp_path / "long.tsv").write_text("\n".join(change(lines_of())))
    with pytest.raises(FormatError, match=message):
        read(f"matrix:{tmp_path / 'long.tsv'}")


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros(12), "found 12 values, expected 13 in a row, or 2 tables"),
        (np.zeros((13, 1)), "found 13 x 1 values"),
        (np.zeros((2, 2, 2)), "found a table of 2 x 2 for list 'L1', expected 3 x 3"),
        (np.array([np.nan, *np.zeros(12)]), "found nan for candidate 'c0' and reference 'c0' of list 'L0'"),
        (np.array(["a"]), "found an array of something else, expected an array of numbers"),
        (np.array([None]), "found something else, or a damaged file"),
    ],
)
def test_arrays_that_are_refused(values, message, tmp_path):
    np.save(tmp_path / "all.npy", values)
    with pytest.raises(FormatError, match=message):
        read(f"matrix:{tmp_path / 'all.npy'}")


def test_asymmetry_is_refused_where_symmetry_is_declared(tmp_path):
    np.save(tmp_path / "all.npy", np.concatenate([table.ravel() for table in TABLES]))
    message = (
        "found 0.5 and 0.25 for the two orders of 'c0' and 'c1' of list 'L0', expected a symmetric table"
    )
    with pytest.raises(FormatError, match=message):
        read(f"matrix:{tmp_path / 'all.npy'},symmetric")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("L2.tsv", "", "found 'L2.tsv', which is no list of set, expected LIST.npy or LIST.tsv"),
        (
            "L1.tsv",
            named(TABLES[1]).replace("c2", "c9"),
            "L1.tsv:1: found item 'c9', expected the 3 items of",
        ),
        ("L1.tsv", named(TABLES[1]) + "\t3", "L1.tsv:4: found 4 values, expected 3"),
        ("L1.tsv", named(TABLES[1]) + "\nc0\t1\t2\t3", "L1.tsv:5: found item 'c0' again, expected each"),
        ("L1.tsv", named(TABLES[1]) + "\nc5\t1\t2\t3", "L1.tsv:5: found item 'c5', expected an item of list"),
        ("L1.tsv", named(TABLES[1]).rpartition("\n")[0], "L1.tsv: found no line for candidate 'c2'"),
        ("L1.tsv", "", "L1.tsv: found no line for candidate 'c0'"),
        ("x", None, "found no file for list 'L1', expected L1.npy or L1.tsv"),
    ],
)
def test_folders_that_are_refused(name, text, message, tmp_path):
    np.save(tmp_path / "L0.npy", TABLES[0])
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(FormatError, match=message):
        read(f"matrix:{tmp_path}")


def test_ids_must_be_unique_where_they_are_used(tmp_path):
    (tmp_path / "long.tsv").write_text("\n".join(lines_of()))
    some = lists()
    twice = CandidateLists(some.offsets, some.features, list_ids=some.list_ids, item_ids=IDS(["c0"] * 5))
    with pytest.raises(DataError, match="two items with the id 'c0'"):
        read(f"matrix:{tmp_path / 'long.tsv'}", twice)


def test_symmetry_is_of_candidates_with_each_other(tmp_path):
    np.save(tmp_path / "all.npy", np.zeros(13))
    some = lists()
    pairing = Pairing.by_id(some, lists())
    with pytest.raises(ConfigError, match="only candidates with each other can be symmetric"):
        list(utility_of(f"matrix:{tmp_path / 'all.npy'},symmetric").tables(pairing))
    assert [table.sum() for table in utility_of(f"matrix:{tmp_path / 'all.npy'}").tables(pairing)] == [0, 0]
