"""Score files: what is read as a number and what is refused with its line."""

from pathlib import Path

import numpy as np
import pytest

from rerank.core.errors import FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import scores
from rerank.formats.scores import holds_judgements, read_scores


@pytest.fixture(autouse=True, params=[1 << 20, 1], ids=["at once", "piece by piece"])
def piece(request, monkeypatch):
    """Lines are read some at a time."""
    monkeypatch.setattr(scores, "_AT_ONCE", request.param)


LISTS = CandidateLists.from_arrays(np.zeros((3, 1)), source="lists")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"1\n2\n3\n", [1, 2, 3]),
        (b"+1\r\n.5\r\n5.\r\n", [1, 0.5, 5]),
        (b"\xef\xbb\xbf1e5\n-0\n 2\t", [1e5, 0, 2]),
        (b"1e-400\n1E+2\n007", [0, 100, 7]),
    ],
)
def test_numbers(tmp_path: Path, content: bytes, expected: list[float]) -> None:
    path = tmp_path / "scores"
    path.write_bytes(content)
    assert read_scores(str(path), LISTS).tolist() == expected


ODD = (
    *("1_000", "1e999", "-1e999", "inf", "-Infinity", "nan", "0x1p3", "1,5", "\u0661", "\u22121", "--1"),
    *("1e", "e5", ".", "\x00", "1\u00a0", "\x0b1", "", "1 2", "1\r2"),
)


@pytest.mark.parametrize("token", ODD)
def test_everything_else_is_refused_with_its_line(tmp_path: Path, token: str) -> None:
    path = tmp_path / "scores"
    path.write_text(f"1\n{token}\n3\n", encoding="utf-8", newline="")
    with pytest.raises(FormatError, match="a finite number") as caught:
        read_scores(str(path), LISTS)
    assert caught.value.line == 2


def test_an_empty_file_has_too_few(tmp_path: Path) -> None:
    path = tmp_path / "scores"
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="found 0 scores, expected 3"):
        read_scores(str(path), LISTS)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("q1 0 d1 1\nq1 0 d2 0\n", True),
        ("q1 0 d1 1", True),
        ("query-id\tcorpus-id\tscore\nq1\td1\t1\n", True),
        ("q1 0 d1 1 x\nq1 0 d2 0 x\n", False),
        ("q1 0 d1\n", False),
        ("q1 0 d1 high\n", False),
        ("q1 d1 1 0.5\nq1 d2 2 0.25\n", False),
        ("q1 d1 1 0.5\nq1 d1 2 0.25\n", True),
        ("", False),
    ],
)
def test_judgements_are_recognised(tmp_path: Path, content: str, expected: bool) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert holds_judgements(str(path)) == expected
