"""Choosing a format, the options of reading, files of feature names."""

import gzip
import io
import sys
from pathlib import Path

import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.formats import FORMATS, ReadOptions, load
from rerank.formats.feature_columns import read_feature_names

TEXT = b"# made by hand\n1 qid:1 1:0.5 2:3\n0 qid:1 1:2 2:1\n"


@pytest.mark.parametrize("name", ["x.txt", "x.DAT", "x.letor", "x.svm.gz"])
def test_a_format_is_found_by_suffix(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith(".gz") else TEXT)
    assert load(path).n_items == 2


@pytest.mark.parametrize("name", ["train", "x.train", "x.gz"])
def test_a_format_found_by_content_is_reported(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(TEXT) if name.endswith(".gz") else TEXT)
    with pytest.warns(DataNote) as notes:
        assert load(path).n_items == 2
    assert [str(note.message) for note in notes] == [f"{path}: read as svmlight (by content)"]
    assert load(str(path), format="letor").n_items == 2


def test_a_format_is_found_on_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(io.BytesIO(TEXT))))
    with pytest.warns(DataNote, match="<stdin>: read as svmlight"):
        lists = load("-")
    assert lists.source == "<stdin>"
    assert lists.n_items == 2


@pytest.mark.parametrize("content", [b"hello world\n", b'[{"a": 1}]\n', b"1\t2\tx\n"])
def test_unknown_content_names_the_formats(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "what"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    names = ", ".join(name for name in FORMATS.names() if FORMATS.get(name).refines is None)
    assert str(caught.value) == f"{path}: unknown format; name it by --format (known: {names})"


def test_an_empty_file_is_not_of_an_unknown_format(tmp_path: Path) -> None:
    path = tmp_path / "what"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match=f"^{path}: found nothing in it, expected lists$"):
        load(path)


def test_mistakes_of_the_caller_are_one_line(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match="no such file"):
        load(tmp_path / "none")
    with pytest.raises(ConfigError, match="unknown format 'svmlite'; did you mean 'svmlight'"):
        load(tmp_path, format="svmlite")
    with pytest.raises(ConfigError, match="unknown setting 'stric'; did you mean 'strict'"):
        load(tmp_path, stric=True)
    with pytest.raises(ConfigError, match="missing: found 'nil', expected 'error', 'nan', 'zero'"):
        ReadOptions(missing="nil")
    with pytest.raises(ConfigError, match="threads: found -1, expected 0 or more"):
        ReadOptions(threads=-1)


def named(tmp_path: Path, text: str, first: int = 1) -> list[str]:
    path = tmp_path / "names.tsv"
    path.write_text(text)
    found = read_feature_names(str(path), first)
    return found.at(range(found.n_columns))


def test_feature_names(tmp_path: Path) -> None:
    assert named(tmp_path, "bm25\nlm score\r\n") == ["bm25", "lm score"]
    assert named(tmp_path, "3\tc\n1\ta") == ["a", "2", "c"]
    assert named(tmp_path, "0\ta\n2\tc\n", first=0) == ["a", "1", "c"]
    path = tmp_path / "set.txt"
    path.write_bytes(TEXT)
    (tmp_path / "names.tsv").write_text("a\nb\nc\n")
    lists = load(path, feature_names=str(tmp_path / "names.tsv"))
    assert lists.names() == ["a", "b", "c"]
    assert lists.features.to_dense().tolist() == [[0.5, 3, 0], [2, 1, 0]]
    (tmp_path / "names.tsv").write_text("a\n")
    with pytest.raises(DataError) as caught:
        load(path, feature_names=str(tmp_path / "names.tsv"))
    assert str(caught.value) == f"{tmp_path}/names.tsv: found 1 feature names, expected 2, as {path} has"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "found an empty file, expected one feature name per line"),
        ("a\n\nb\n", ":2: found an empty name, expected a feature name"),
        ("a\nb\na\n", ":3: found 'a' again (line 1), expected each feature name once"),
        ("1\ta\n1\tb\n", ":2: found index 1 again, expected each index once"),
        ("1\ta\nb\n", ":2: found 'b', expected index<TAB>name, as on line 1"),
        ("0\ta\n", ":1: found index 0, expected an index from 1 to 2147483647"),
        ("9999999999\ta\n", ":1: found index 9999999999, expected an index from 1 to 2147483647"),
        ("1\t2\n3\tc\n", "feature 2 has no name, and another one is named '2'"),
    ],
)
def test_bad_files_of_names(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(RerankError) as caught:
        named(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "names.tsv"))
    assert str(caught.value).endswith(message)


def test_names_that_are_not_text(tmp_path: Path) -> None:
    path = tmp_path / "names"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FormatError, match="bytes that are not UTF-8"):
        read_feature_names(str(path))
