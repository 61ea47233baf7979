"""Texts alone, so many lines a list."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats import load
from rerank.formats.flat import Flat


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("flat")


def of(texts: list[str], n_best: int) -> CandidateLists:
    return CandidateLists(
        np.arange(0, len(texts) + 1, n_best),
        Dense(np.empty((len(texts), 0))),
        texts=StringColumn.from_strings(texts),
    )


def test_n_lines_a_list(tmp_path: Path) -> None:
    path, ref, other = tmp_path / "set", tmp_path / "ref", tmp_path / "other"
    path.write_bytes(b"a\nb\xe2\x80\xa8\n\nc\r\nd\ne")
    ref.write_bytes(b"x\ny\n")
    other.write_bytes(b"x\nz\n")
    for options in ({"n_best": 3}, {"refs": ref}, {"n_best": 3, "refs": [ref, other]}):
        lists = load(path, "flat", **options)
        assert lists.offsets.tolist() == [0, 3, 6]
        assert list(lists.texts) == ["a", "b\u2028", "", "c", "d", "e"]
        assert lists.n_features == 0
        assert lists.first_best.tolist() == [0, -1, -2, -3, -4, -5]
        assert [list(r) for r in lists.references] == [["x", "y"], ["x", "z"]][: len(lists.references)]
    assert len(lists.references) == 2


def test_what_does_not_divide_is_refused(tmp_path: Path) -> None:
    path, ref = tmp_path / "set", tmp_path / "ref"
    path.write_bytes(b"a\nb\nc\n")
    ref.write_bytes(b"x\ny\n")
    with pytest.raises(
        ConfigError, match="set: flat does not contain the length of lists; give n_best or refs"
    ):
        load(path, "flat")
    with pytest.raises(FormatError, match="set: found 3 lines, expected a multiple of n_best=2"):
        load(path, "flat", n_best=2)
    with pytest.raises(
        FormatError, match="set: found 3 lines, expected the same number for each of 2 references"
    ):
        load(path, "flat", refs=ref)
    with pytest.raises(FormatError, match="ref: found 2 references, expected 1"):
        load(path, "flat", refs=ref, n_best=3)
    path.write_bytes(b"a\nb\n")
    ref.write_bytes(b"x\n" * 4)
    with pytest.raises(
        FormatError, match="set: found 2 lines, expected the same number for each of 4 references"
    ):
        load(path, "flat", refs=ref)


def test_distinct(tmp_path: Path) -> None:
    path, ref = tmp_path / "set", tmp_path / "ref"
    path.write_bytes(b"a\na\nb\n\n\n\n")
    ref.write_bytes(b"x\ny\n")
    with pytest.warns(DataNote, match="3 of 6 items repeat a text of their list"):
        lists = load(path, "flat", refs=ref, distinct=True)
    assert list(lists.texts) == ["a", "b", ""]
    assert lists.offsets.tolist() == [0, 2, 3]


def test_flat_is_never_guessed(tmp_path: Path) -> None:
    path = tmp_path / "set"
    path.write_bytes(b"a b c\nd e f\n")
    with pytest.raises(ConfigError, match="unknown format"):
        load(path, n_best=1)


TEXTS = st.text(st.sampled_from("ab\r \u2028\x85\x0b\ufeff\udcff"), max_size=4)


@given(st.lists(TEXTS, min_size=1, max_size=6))
@settings(max_examples=200, deadline=None)
def test_round_trip_or_refused(folder: Path, texts: list[str]) -> None:
    path = folder / "out"
    fits = not any(t.endswith("\r") for t in texts) and not texts[0].startswith("\ufeff")
    if not fits:
        with pytest.raises(DataError, match=r"would read the text .* back as another"):
            Flat().write(of(texts, 1), str(path))
        return
    Flat().write(of(texts, 1), str(path))
    again = load(path, "flat", n_best=len(texts))
    assert list(again.texts) == texts
    assert again.n_lists == 1


def test_what_flat_cannot_hold(tmp_path: Path) -> None:
    path = str(tmp_path / "out")
    with pytest.raises(DataError, match="would read the text 'a\\\\nb' back as another"):
        Flat().write(of(["c", "a\nb"], 1), path)
    uneven = CandidateLists(
        np.array([0, 1, 3]), Dense(np.empty((3, 0))), texts=StringColumn.from_strings("abc")
    )
    with pytest.raises(DataError, match="flat holds lists of one length: list '1' has 1 items, '2' has 2"):
        Flat().write(uneven, path)
    with pytest.raises(DataError, match="flat holds texts, and the lists have none"):
        Flat().write(CandidateLists(np.array([0, 1]), Dense(np.ones((1, 1)))), path)
    assert list(tmp_path.iterdir()) == []
    labelled = CandidateLists(
        np.array([0, 1]), Dense(np.ones((1, 1))), labels=np.ones(1), texts=StringColumn.from_strings("a")
    )
    with pytest.warns(DataNote, match="flat holds no features, labels; left out"):
        Flat().write(labelled, path)
