"""Files of references and how they find their lists."""

from pathlib import Path

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataNote, FormatError, RerankError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats import ReadOptions, load
from rerank.formats.texts import attach_references, read_lines


def lists_of(ids: list[str]) -> CandidateLists:
    return CandidateLists(
        np.arange(len(ids) + 1),
        Dense(np.zeros((len(ids), 1))),
        list_ids=StringColumn.from_strings(ids),
        source="x",
    )


def written(tmp_path: Path, content: bytes, name: str = "ref") -> str:
    path = tmp_path / name
    path.write_bytes(content)
    return str(path)


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"a\nb\n", ["a", "b"]),
        (b"a\nb", ["a", "b"]),
        (b"\n", [""]),
        (b"\n\na", ["", "", "a"]),
        (b"a\r\n\r\nb\r\r\n\r", ["a", "", "b\r", ""]),
        (b"\xef\xbb\xbfa\xe2\x80\xa8b\x0b\x0cc\xc2\x85\n", ["a\u2028b\x0b\x0cc\x85"]),
        (b"\xff \x00\n", ["\udcff \x00"]),
        (b"a\rb\n", ["a\rb"]),
    ],
)
def test_lines_end_at_newlines_alone(tmp_path: Path, content: bytes, lines: list[str]) -> None:
    assert list(read_lines(written(tmp_path, content))) == lines


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    for content in (b"", b"\xef\xbb\xbf"):
        with pytest.raises(FormatError, match="found an empty file, expected one string per line"):
            read_lines(written(tmp_path, content))
    with pytest.raises(RerankError, match="no such file"):
        read_lines(str(tmp_path / "none"))


def test_sentence_numbers_choose_lines(tmp_path: Path) -> None:
    path = written(tmp_path, b"r0\nr1\nr2\n")
    lists = attach_references(lists_of(["0", "1", "2"]), [path, path])
    assert [list(column) for column in lists.references] == [["r0", "r1", "r2"]] * 2
    with pytest.warns(DataNote, match="1 of 3 references have no list in x"):
        lists = attach_references(lists_of(["2", "0"]), [path])
    assert list(lists.references[0]) == ["r2", "r0"]
    with pytest.raises(FormatError) as caught:
        attach_references(lists_of(["1", "3"]), [path])
    assert str(caught.value) == (
        f"{path}: found 3 references, expected one for sentence 3 of x (numbers count from 0)"
    )


def test_other_ids_take_lines_in_order(tmp_path: Path) -> None:
    path = written(tmp_path, b"r0\nr1\n")
    assert list(attach_references(lists_of(["1", "0"]), [path]).references[0]) == ["r1", "r0"]
    assert list(attach_references(lists_of(["b", "0"]), [path]).references[0]) == ["r0", "r1"]
    with pytest.warns(DataNote, match="count from 1; references are taken in order"):
        lists = attach_references(lists_of(["1", "2"]), [path])
    assert list(lists.references[0]) == ["r0", "r1"]
    with pytest.raises(FormatError, match="found 2 references, expected 3, one for each list of x"):
        attach_references(lists_of(["a", "b", "c"]), [path])


def test_references_are_not_given_twice(tmp_path: Path) -> None:
    path = written(tmp_path, b"r0\n")
    lists = attach_references(lists_of(["0"]), [path])
    assert attach_references(lists, ()) is lists
    with pytest.raises(ConfigError, match="x: holds its own references"):
        attach_references(lists, [path])


def test_paths_may_be_one_or_several(tmp_path: Path) -> None:
    assert ReadOptions(refs="a").refs == ("a",)
    assert ReadOptions(refs=[Path("a"), "b"]).refs == ("a", "b")
    assert ReadOptions(merge=["c"]).changed() == ["merge"]
    assert ReadOptions().changed() == []
    with pytest.raises(ConfigError, match="n_best: found -1"):
        ReadOptions(n_best=-1)


@pytest.mark.parametrize(
    ("format", "line"),
    [
        ("svmlight", b"1 qid:1 1:1 # a"),
        ("moses", b"0 ||| a ||| l= 1 ||| 1"),
        ("flat", b"a"),
        ("parses", b"-1\t(S a)"),
        ("bllip", b"S=1"),
    ],
)
def test_carriage_returns_alone_end_no_line(tmp_path, format, line):
    path = tmp_path / "set"
    path.write_bytes(line + b"\r" + line + b"\r")
    with pytest.raises(FormatError, match="found carriage returns without newlines"):
        load(path, format, **({"n_best": 1} if format == "flat" else {}))


def test_a_byte_order_mark_within_joined_files_is_reported(tmp_path):
    path = tmp_path / "set"
    path.write_bytes(b"\xef\xbb\xbf0 ||| a ||| l= 1 ||| 1\n\xef\xbb\xbf0 ||| b ||| l= 1 ||| 1\n")
    with pytest.warns(DataNote, match=r"the ids '\\ufeff0' and '0' are those of two lists"):
        load(path, "moses")
