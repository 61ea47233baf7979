"""SVM-light-TK's examples and pairs: every part of a line, a slow twin, faults, what is written."""

import random
import tracemalloc
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from reading import silent
from reference.svmtk import parsed

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.forests import Forest
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense, as_features
from rerank.formats import load
from rerank.formats.base import save

STRINGS = StringColumn.from_strings


def read(tmp_path: Path, *lines: str, format: str = "svmtk", **options: Any) -> CandidateLists:
    """The lists of lines, without their notes."""
    path = tmp_path / "set"
    path.write_text("".join(line + "\n" for line in lines))
    return silent(load, path, format=format, **options)


def notes_of(tmp_path: Path, *lines: str, format: str = "svmtk", **options: Any) -> list[str]:
    path = tmp_path / "set"
    path.write_text("".join(line + "\n" for line in lines))
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always", DataNote)
        load(path, format=format, **options)
    return [str(note.message).removeprefix(f"{path}: ") for note in notes]


def trees_of(lists: CandidateLists) -> dict[str, list[str]]:
    return {name: list(lists.forest(name).to_strings()) for name in lists.tree_names()}


def test_every_part_of_a_line(tmp_path: Path) -> None:
    lists = read(
        tmp_path,
        "# two questions",
        "+1 qid:a |BT| (Q (W what)) |BT| (S (N (wicca))(V is)) |ET| 1:0.5 3:-2 |BV| 2:1e-3 |EV| # d1",
        "",
        "-1 qid:a |BT|(Q x)|BT|EMPTY|ET||BV|1:4|EV| # d2",
        "  0 qid:b |BT|  |BT| (BOX (a) (b ) c) |ET| 2:7 |BV|  |EV| # d3 |BT| x",
    )
    assert trees_of(lists) == {
        "tree1": ["(Q (W what))", "(Q x)", ""],
        "tree2": ["(S (N wicca) (V is))", "", "(BOX a b c)"],
    }
    assert lists.feature_names == ["v1:1", "v1:2", "v1:3", "v2:1", "v2:2"]
    assert lists.features.to_dense().tolist() == [[0.5, 0, -2, 0, 1e-3], [0, 0, 0, 4, 0], [0, 7, 0, 0, 0]]
    assert lists.labels is not None
    assert lists.labels.tolist()[:2] == [1, 0]
    assert np.isnan(lists.labels[2])
    assert (list(lists.list_ids), list(lists.item_ids)) == (["a", "b"], ["d1", "d2", "d3 |BT| x"])
    assert lists.offsets.tolist() == [0, 2, 3]


def test_one_tree_is_the_parse_and_one_vector_has_plain_indices(tmp_path: Path) -> None:
    lists = read(tmp_path, "2.5 |BT| (S a) |ET| 2:1", "-0.5 |BT| (S b) |ET|")
    assert (trees_of(lists), lists.feature_names) == ({"tree": ["(S a)", "(S b)"]}, None)
    assert lists.features.to_dense().tolist() == [[0, 1], [0, 0]]
    assert lists.labels.tolist() == [2.5, -0.5]


def test_line_ends_of_windows(tmp_path: Path) -> None:
    lists = read(tmp_path, "+1 qid:1 trees:q |BT| (S a) |ET| 1:2 |EV|\r", "\r", "-1 qid:1 |BT| (S b) |ET|\r")
    assert trees_of(lists) == {"q": ["(S a)", "(S b)"]}
    assert (lists.features.to_dense().tolist(), lists.item_ids) == ([[2], [0]], None)


def test_lines_without_trees_or_vectors(tmp_path: Path) -> None:
    lists = read(tmp_path, "1 qid:1 |BT| (S a) |ET|", "1 qid:1 1:2 |BV| 1:3 |EV|", "-1 qid:2 |EV|")
    assert trees_of(lists) == {"tree": ["(S a)", "", ""]}
    assert lists.features.to_dense().tolist() == [[0, 0], [2, 3], [0, 0]]


def test_lists_that_are_not_contiguous(tmp_path: Path) -> None:
    lists = read(tmp_path, *(f"+1 qid:{q} |BT| (S {q}{i}) |ET| 1:{i} |EV|" for i, q in enumerate("abab")))
    assert lists.rows.tolist() == [0, 2, 1, 3]
    assert trees_of(lists) == {"tree": ["(S a0)", "(S a2)", "(S b1)", "(S b3)"]}


PAIRS = (
    "+1 |BT| (Q a) |BT| (P b) |BT| (Q a) |BT| (P c) |ET| 1:1 |BV| 2:2 |EV|",
    "-1 |BT| (Q d) |BT|  |BT| (Q d) |BT| (P e) |ET| 1:3 2:4 |BV| 1:5 |EV|",
)


def test_pairs_are_lists_of_two(tmp_path: Path) -> None:
    lists = read(tmp_path, *PAIRS, format="svmtk-pairs")
    assert lists.offsets.tolist() == [0, 2, 4]
    assert lists.labels.tolist() == [1, 0, 0, 1]
    assert trees_of(lists) == {
        "tree1": ["(Q a)", "(Q a)", "(Q d)", "(Q d)"],
        "tree2": ["(P b)", "(P c)", "", "(P e)"],
    }
    assert lists.features.to_dense().tolist() == [[1, 0], [0, 2], [3, 4], [5, 0]]


def test_an_empty_candidate_among_pairs_is_reported(tmp_path: Path) -> None:
    line = "+1 |BT| (Q a) |BT|  |ET| 1:1 |BV|  |EV|"
    found = "1 candidate of 2 pairs without a tree or feature"
    assert found in notes_of(
        tmp_path, "-1 |BT| (Q a) |BT| (Q b) |ET| 1:1 |BV| |EV|", line, format="svmtk-pairs"
    )


def test_single_candidates(tmp_path: Path) -> None:
    lines = [f"+1 |BT| (Q q) |BT| (P {p}) |BT|  |BT| |ET| 1:{i} |BV|  |EV|" for i, p in enumerate("abc")]
    lists = read(tmp_path, *lines, format="svmtk-pairs")
    assert trees_of(lists) == {"tree1": ["(Q q)"] * 3, "tree2": ["(P a)", "(P b)", "(P c)"]}
    assert lists.features.to_dense().tolist() == [[0], [1], [2]]
    assert lists.offsets.tolist() == [0, 3]
    (tmp_path / "ids").write_text("x 0\ny\nx\n")
    lists = read(tmp_path, *lines, format="svmtk-pairs", ids=str(tmp_path / "ids"))
    assert (list(lists.list_ids), lists.rows.tolist()) == (["x", "y"], [0, 2, 1])
    assert trees_of(lists)["tree2"] == ["(P a)", "(P c)", "(P b)"]
    (tmp_path / "qrels").write_text("x 7 0 0.5\nx 8 1 0.25\ny 7 2\n")
    lists = read(tmp_path, *lines, format="svmtk-pairs", qrels=str(tmp_path / "qrels"))
    assert (list(lists.item_ids), lists.labels.tolist()) == (["7", "8", "7"], [0, 1, 2])
    with pytest.raises(
        ConfigError, match="ids and qrels are of single candidates, found pairs, the first on ex"
    ):
        read(tmp_path, *PAIRS, format="svmtk-pairs", ids=str(tmp_path / "ids"))
    with pytest.raises(FormatError, match=r"ids: found 3 lines, expected 2, one per example"):
        read(tmp_path, *lines[:2], ids=str(tmp_path / "ids"))
    with pytest.raises(FormatError, match="ids:1: found 2 fields, expected list, item and label"):
        read(tmp_path, *lines, qrels=str(tmp_path / "ids"))
    with pytest.raises(ConfigError, match="found qids in its lines, expected none"):
        read(tmp_path, "1 qid:1 |BT| (S a) |ET|", ids=str(tmp_path / "ids"))


def test_notes(tmp_path: Path) -> None:
    one_list = "no qid: the file is one list of 1 item"
    assert notes_of(tmp_path, "+1 |BT| (S a) |ET| 1:1 |EV|") == [one_list]
    found = notes_of(tmp_path, PAIRS[0])
    assert (
        found[0] == "4 trees and 2 vectors per line; if each half is a candidate, the format is svmtk-pairs"
    )
    found = notes_of(tmp_path, "+1 qid:1 |BT| (S a) |ET|", "0 qid:1 |BT| (S b) |ET|")
    assert found == ["1 example with the label 0, which SVM-light takes as not judged"]


def test_content_tells_the_format(tmp_path: Path) -> None:
    (tmp_path / "set.dat").write_text("\n# x\n" + PAIRS[0])
    with pytest.warns(DataNote) as notes:
        load(tmp_path / "set.dat")
    assert str(notes[0].message).endswith("set.dat: read as svmtk (by content)")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("+1 |BT| (S a) 1:1", "|BT| without |ET|, expected |ET| after the last tree"),
        ("+1 |BT| (S a) |EV|", "|BT| without |ET|"),
        ("+1 |ET| 1:1 |EV|", "|ET| without |BT|, expected trees, |ET|, vectors, |EV|"),
        ("+1 |BT| (S a) |ET| 1:1 |BT| (S b) |ET|", "|BT| after |ET|"),
        ("+1 |BT| (S a) |ET| 1:1 |ET| |EV|", "|ET| after |ET|"),
        ("+1 |BV| 1:1 |BT| (S a) |ET|", "|BT| after |BV|"),
        ("+1 |BT| (S a) |BT| (S (N b) |ET|", "brackets that are not closed: '(S (N b)' in tree 2"),
        ("+1 |BT| Empty |ET|", "'Empty' in tree 1, expected a tree in brackets"),
        ("+1 |BT| (S a) (S b) |ET|", "'(S b)' after the tree in tree 1"),
        ("+1 |BT| (S (A)(B (C ()))) |ET|", "a bracket without a word"),
        ("x |BT| (S a) |ET|", "label 'x', expected a number"),
        ("|BT| (S a) |ET| 1:1", "'1:1' instead of the label"),
        ("+1 |BT| (S a) |ET| 1:nan |EV|", "value of feature 1: 'nan', expected a number"),
        ("+1 |BT| (S a) |ET| 1:1e999 |EV|", "value of feature 1: '1e999', too large for float64"),
        ("+1 |BT| (S a) |ET| 0:1 |EV|", "index 0, expected indices from 1"),
        ("+1 |BT| (S a) |ET| 1:1 1:2 |EV|", "feature 1 twice"),
        ("+1 |BT| (S a) |ET| 1:1 |BV| 1:1 1:2 |EV|", "feature 1 twice"),
        ("+1 |BT| (S a) |ET| cost:1 1:1 |EV|", "'cost:1', expected index:value"),
        ("+1 odd |BT| (S a) |ET| 1:1 |EV|", "'odd', expected index:value"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    good = "+1 |BT| (S a) |BT| (S b) |ET| 1:1 |BV| 1:1 |EV|"
    for lines, number in (((line,), 1), ((good, "", line, "x y"), 3)):
        with pytest.raises(FormatError) as caught:
            read(tmp_path, *lines)
        assert message in str(caught.value)
        assert str(caught.value).startswith(f"{tmp_path}/set:{number}: ")
        assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("+1 |BT| (S a) |ET| 1:1 |BV| |EV|", "set:1: found 1 tree, expected an even number of trees"),
        ("+1 |BT| (S a) |BT| |ET| 1:1", "set:1: found 1 vector, expected an even number of vectors"),
        ("+1 |BT| (S a) |BT| |ET| 3000000:1 |BV| |EV|", "set: found indices of features that are far apart"),
    ],
)
def test_a_bad_pair_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read(tmp_path, line, format="svmtk-pairs")


def test_many_bad_trees_on_a_line_take_no_memory(tmp_path: Path) -> None:
    line = "1 " + "|BT| (S (NP a (S c) " * 200 + "|ET| |EV|"
    tracemalloc.start()
    with pytest.raises(FormatError, match="in tree 1, expected a \\) for every"):
        read(tmp_path, line)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 50e6  # a reader takes 2 MB


def test_names_of_trees_on_the_first_line(tmp_path: Path) -> None:
    for names, message in (("a,a", "set:1: found 'a', expected names"), ("1", "set:1: found '1'")):
        with pytest.raises(FormatError, match=message):
            read(tmp_path, f"+1 trees:{names} |BT| (S a) |BT| |ET|")
    for names in ("a", "a,b,c"):
        with pytest.raises(
            FormatError, match=r"set: found 2 trees, expected [13], as named on its first line"
        ):
            read(tmp_path, f"+1 trees:{names} |BT| (S a) |BT| |ET|")


def test_a_file_without_an_example(tmp_path: Path) -> None:
    for lines, found in (((), "an empty file"), (("", "# x"), "no example")):
        with pytest.raises(FormatError, match=f"set: found {found}, expected lines 'label .BT. tree"):
            read(tmp_path, *lines)


def random_line(rng: random.Random) -> str:
    """A line of odd spacing, with up to three trees and vectors."""

    def blank(least: int = 0) -> str:
        return "".join(rng.choice("  \t") for _ in range(least + rng.randrange(2)))

    def tree(depth: int) -> str:
        leaf = rng.choice(["a", "é", "b|c", "1:2", "#", "|", "EMPTY", "|BT", "x-y"])
        if depth == 0:
            return f"({leaf}{blank()})" if rng.random() < 0.5 else f"({rng.choice('NV')} {blank()}{leaf})"
        inner = blank().join(tree(rng.randrange(depth)) for _ in range(rng.randrange(1, 4)))
        return f"({rng.choice('SP')} {inner})"

    label = rng.choice(["+1", "-1", "1.0", "-1e0"])
    qid = rng.choice(["", f" qid:{rng.randrange(3)}"])
    trees = [rng.choice(["", "EMPTY", "(S " + tree(2) + ")"]) for _ in range(rng.randrange(4))]
    cells = [sorted(rng.sample(range(1, 6), rng.randrange(4))) for _ in range(rng.randrange(4))]
    vectors = [
        " ".join(f"{i}:{rng.choice(['1', '0', '-2.5', '1e-3', '.5'])}" for i in some) for some in cells
    ]
    text = label + qid
    if trees:
        text += blank() + "".join(f"|BT|{blank()}{one}{blank()}" for one in trees) + "|ET|"
    text += blank(1) + f"{blank()}|BV|{blank()}".join(vectors) + blank()
    if vectors and rng.random() < 0.7:
        text += "|EV|" + rng.choice(["", " ", " # d (a) |BT|", " # x"])
    return blank() + text


@pytest.mark.parametrize("seed", range(60))
def test_a_slow_reader_agrees(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a block holds a line."""
    rng = random.Random(seed)
    lines = [random_line(rng) for _ in range(rng.randrange(1, 7))]
    if not seed % 3:  # all or none have a qid
        lines = [line.replace(" qid:0", "").replace(" qid:1", "").replace(" qid:2", "") for line in lines]
    else:
        lines = [line for line in lines if "qid" in line] or ["1 qid:2 |EV|"]
    lines.insert(rng.randrange(len(lines)), rng.choice(["", " # c |BT|", "#"]))
    rows = [row for row in map(parsed, lines) if row is not None]
    if seed % 2:
        blocks = [line.encode() + b"\n" for line in lines]
        monkeypatch.setattr("rerank.extensions.parsing.svmtk.whole_lines", lambda path: iter(blocks))
    lists = read(tmp_path, *lines)
    order = range(len(rows)) if lists.rows is None else lists.rows.tolist()
    rows = [rows[i] for i in order]
    labels, qids, trees, vectors, comments = zip(*rows, strict=True)
    assert lists.labels.tolist() == [max(label, 0) for label in labels]
    found = [lists.list_id(i) if lists.list_ids else None for i in lists.list_index.tolist()]
    assert found == list(qids)
    assert ([""] * len(rows) if lists.item_ids is None else list(lists.item_ids)) == list(comments)
    n_trees = max(map(len, trees))
    assert list(trees_of(lists).values()) == [
        [one[k] if k < len(one) else "" for one in trees] for k in range(n_trees)
    ]
    n_vectors = max(map(len, vectors))
    names = lists.names()
    X = lists.features.to_dense()
    for i, some in enumerate(vectors):
        for k, cells in enumerate(some, 1):
            prefix = f"v{k}:" if n_vectors > 1 else ""
            own = {int(n.rpartition(":")[2]): X[i, j] for j, n in enumerate(names) if n.startswith(prefix)}
            assert {j: v for j, v in own.items() if v} == {j: v for j, v in cells.items() if v}
        assert np.count_nonzero(X[i]) == sum(v != 0 for cells in some for v in cells.values())


def some_lists() -> CandidateLists:
    return CandidateLists.from_arrays(
        np.array([[1.5, 0.0], [0.0, 0.0], [-2e-7, 0.0], [3.0, 0.0]]),
        [1, 0, 0, np.nan],
        qid=["a", "a", "b", "a"],
        structures={
            "question": ["(Q (W w))", "(Q (W w) v)", "", "(Q (R r))"],
            "p-2": ["(P a b)", "", "", "(P c)"],
        },
    )


def test_examples_read_back(tmp_path: Path) -> None:
    lists = some_lists()
    save(lists, str(tmp_path / "x.svmtk"))
    assert (tmp_path / "x.svmtk").read_text() == (
        "+1 qid:a trees:question,p-2 |BT| (Q (W w)) |BT| (P (a) (b)) |ET| 1:1.5 2:0.0 |EV|\n"
        "-1 qid:a |BT| (Q (W w) (v)) |BT|  |ET|  |EV|\n"
        "-1 qid:b |BT|  |BT|  |ET| 1:-2e-07 |EV|\n"
        "0 qid:a |BT| (Q (R r)) |BT| (P c) |ET| 1:3.0 |EV|\n"
    )
    again = silent(load, tmp_path / "x.svmtk")
    assert (again.structures, list(again.list_ids)) == (lists.structures, ["a", "b"])
    assert np.array_equal(again.labels, lists.labels, equal_nan=True)
    assert again.features.to_dense().tolist() == lists.features.to_dense().tolist()
    assert again.rows.tolist() == lists.rows.tolist()


def test_pairs_are_those_of_different_labels_with_both_signs(tmp_path: Path) -> None:
    lists = CandidateLists.from_arrays(
        None, [2, 1, np.nan, 0, 1, 0], group=[4, 2], trees=[f"(S {c})" for c in "abcdef"]
    )
    with (
        pytest.warns(DataNote, match="svmtk-pairs holds no") if lists.list_ids else warnings.catch_warnings()
    ):
        save(lists, str(tmp_path / "x.svmtk-pairs"))
    pairs = [("+1", "ab"), ("-1", "da"), ("+1", "bd"), ("-1", "fe")]
    assert (tmp_path / "x.svmtk-pairs").read_text().splitlines() == [
        f"{sign} |BT| (S {a}) |BT| (S {b}) |ET|" for sign, (a, b) in pairs
    ]
    again = load(tmp_path / "x.svmtk-pairs")
    assert again.labels.tolist() == [1, 0, 0, 1, 1, 0, 0, 1]
    assert trees_of(again) == {"tree": [f"(S {c})" for _, both in pairs for c in both]}


def test_lists_without_labels_are_single_candidates(tmp_path: Path) -> None:
    lists = some_lists().replace_labels(None)
    save(lists, str(tmp_path / "x"), "svmtk-pairs")
    first = (tmp_path / "x").read_text().splitlines()[0]
    assert first == (
        "0 qid:a trees:question,p-2 |BT| (Q (W w)) |BT| (P (a) (b)) |BT|  |BT|  |ET| 1:1.5 2:0.0 |BV|  |EV|"
    )
    again = silent(load, tmp_path / "x", format="svmtk-pairs")
    assert (again.labels, again.structures) == (None, lists.structures)
    assert again.rows.tolist() == lists.rows.tolist()


@pytest.mark.parametrize("layout", ["dense", "sparse"])
def test_several_vectors_read_back(tmp_path: Path, layout: str) -> None:
    X = np.array([[1.0, 0, 0, 2, 0], [0, 0, 3, 0, 0]])
    features = Dense(X) if layout == "dense" else as_features(X).compressed()
    lists = CandidateLists.from_arrays(
        features, [1, 0], trees=["(S a)", "(S b)"], feature_names=["v1:1", "v1:2", "v2:1", "v2:2", "v2:3"]
    )
    for format in ("svmtk", "svmtk-pairs"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            save(lists, str(tmp_path / "x"), format)
            again = load(tmp_path / "x", format=format, layout=layout)
        assert again.feature_names == lists.feature_names
        assert again.features.layout == layout
        assert again.features.to_dense().tolist() == X.tolist()


def test_wide_indices_survive(tmp_path: Path) -> None:
    line = "+1 |BT| (S a) |ET| 3:1 2000000000:2 |EV|"
    lists = read(tmp_path, line)
    assert lists.feature_names == ["3", "2000000000"]
    save(lists, str(tmp_path / "y"), "svmtk")
    assert (tmp_path / "y").read_text() == "+1 |BT| (S a) |ET| 3:1.0 2000000000:2.0 |EV|\n"
    with pytest.raises(DataError, match="svmtk-pairs cannot hold feature 2000000000, at most"):
        save(lists, str(tmp_path / "y"), "svmtk-pairs")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"trees": None}, "svmtk holds trees, and the lists have none"),
        (
            {"trees": Forest.from_strings(["(S a|BT|b)", "(S b)"])},
            r"cannot hold \|BT\| in the tree '\(S a\|BT\|b\)'",
        ),
        ({"item_ids": STRINGS(["a|ET|", "b"])}, r"cannot hold \|ET\| in the item id"),
        ({"item_ids": STRINGS([" a", "b"])}, "svmtk would read the item id ' a' back as another"),
        ({"list_ids": STRINGS(["a b"])}, "svmtk cannot hold the list id 'a b'"),
        ({"labels": np.array([2.0, np.nan])}, "svmtk cannot hold items without a label beside labels 2"),
        ({"features": Dense(np.array([[np.nan], [1.0]]))}, "svmtk cannot hold missing features"),
    ],
)
def test_what_a_line_cannot_hold_is_refused(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    lists = CandidateLists.from_arrays(np.ones((2, 1)), [1, 0], trees=["(S a)", "(S b)"])
    with pytest.raises(DataError, match=message):
        save(replace(lists, **changes), str(tmp_path / "x.svmtk"))
    assert list(tmp_path.iterdir()) == []


def test_labels_that_would_be_read_back_as_others(tmp_path: Path) -> None:
    lists = CandidateLists.from_arrays(None, [1, -1], trees=["(S a)", "(S b)"])
    with pytest.warns(DataNote, match="the labels -1 are read back as 0"):
        save(lists, str(tmp_path / "x.svmtk"))
    three = CandidateLists.from_arrays(None, [1, -1, 0], trees=["(S a)"] * 3)
    with pytest.raises(DataError, match="would read the label 0 beside -1 and 1 as not judged"):
        save(three, str(tmp_path / "x.svmtk"))
    with pytest.raises(DataError, match="no list has items with different labels"):
        save(lists.replace_labels(np.ones(2)), str(tmp_path / "x.svmtk-pairs"))
