"""What fairseq-generate prints."""

import warnings
from pathlib import Path

import pytest

from rerank.core.errors import ConfigError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import load

LOG = """2021-03-02 10:11:12 | INFO | fairseq_cli.generate | loading model(s) from model.pt
H is no hypothesis, nor is H-x\t1
"""
OUTPUT = """S-7\tein Haus
T-7\ta house
H-7\t-0.5\ta hou@@ se
D-7\t-0.5\ta house
P-7\t-0.1 -0.2 -0.3 -1.0
A-7\t0-0 1-1
H-7\t-1.25\tone house
D-7\t-1.25\tone house
P-7\t-0.5 -2.0 -0.25
S-2\tja
T-2\tyes
H-2\t-0.25\t
D-2\t-0.25\t
P-2\t-0.25
W-2\t0.041\tseconds
"""
END = "Generate test with beam=2: BLEU4 = 12.3\n"


def written(tmp_path: Path, text: str) -> str:
    path = tmp_path / "gen.out"
    path.write_text(text, encoding="utf-8", newline="")
    return str(path)


def read(tmp_path: Path, text: str, **options: object) -> CandidateLists:
    return load(written(tmp_path, text), "fairseq", **options)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_reads_all_of_it(tmp_path: Path, end: str) -> None:
    lists = read(tmp_path, (LOG + OUTPUT + END).replace("\n", end))
    assert list(lists.list_ids) == ["2", "7"]
    assert list(lists.texts) == ["", "a house", "one house"]
    assert lists.rows.tolist() == [2, 0, 1]
    assert lists.first_best.tolist() == [-2, 0, -1]
    assert lists.base_scores.tolist() == [-0.25, -0.5, -1.25]
    assert list(lists.references[0]) == ["yes", "a house"]
    assert lists.feature_names == ["score", "P_sum", "P_mean", "P_min", "length"]
    total = -0.1 + -0.2 + -0.3 + -1.0
    assert lists.features.to_dense().tolist() == [
        [-0.25, -0.25, -0.25, -0.25, 0],
        [-0.5, total, total / 4, -1.0, 3],
        [-1.25, -2.75, -2.75 / 3, -2.0, 2],
    ]


def test_without_d_t_and_p_lines(tmp_path: Path) -> None:
    text = "".join(line + "\n" for line in OUTPUT.split("\n") if line[:1] in "SH" and line)
    lists = read(tmp_path, text)
    assert list(lists.texts) == ["", "a hou@@ se", "one house"]
    assert lists.feature_names == ["score", "length"]
    assert lists.references == ()
    (tmp_path / "ref").write_text("r0\nr1\nr2\nr3\nr4\nr5\nr6\nr7\n")
    with pytest.warns(DataNote, match="6 of 8 references have no list"):
        lists = read(tmp_path, text, refs=tmp_path / "ref")
    assert list(lists.references[0]) == ["r2", "r7"]


def test_references_are_not_given_twice(tmp_path: Path) -> None:
    (tmp_path / "ref").write_text("a\nb\n")
    with pytest.raises(ConfigError, match="holds its own references"):
        read(tmp_path, OUTPUT, refs=tmp_path / "ref")


def test_found_by_content(tmp_path: Path) -> None:
    with pytest.warns(DataNote, match="read as fairseq"):
        assert load(written(tmp_path, LOG + OUTPUT)).n_items == 3


def test_lists_that_are_not_contiguous(tmp_path: Path) -> None:
    text = "H-1\t-1\ta\nH-0\t-1\tb\nH-1\t-2\ta\nH-1\t-3\tc\n"
    with pytest.warns(DataNote, match=r"lines of 1 list are not contiguous \(from line 3\)"):
        lists = read(tmp_path, text)
    assert list(lists.texts) == ["b", "a", "a", "c"]
    assert lists.rows.tolist() == [1, 0, 2, 3]
    with pytest.raises(FormatError, match=":3: found H-1 again, expected the hypotheses of a sentence"):
        read(tmp_path, text, strict=True)
    with warnings.catch_warnings(record=True) as notes:
        warnings.simplefilter("always")
        lists = read(tmp_path, text, distinct=True)
    assert ["not contiguous" in str(n.message) for n in notes] == [True, False]
    assert "1 of 4 items repeat" in str(notes[1].message)
    assert list(lists.texts) == ["b", "a", "c"]
    assert lists.rows.tolist() == [1, 0, 2]


BAD = [
    ("", ": found an empty file, expected lines H-ID<TAB>score<TAB>hypothesis"),
    (LOG, ": found no H line, expected lines H-ID<TAB>score<TAB>hypothesis"),
    ("H-1\t-1\n", r":1: found 'H-1\\t-1', expected H-ID<TAB>score<TAB>hypothesis"),
    ("H-1 -1 a\n", r":1: found 'H-1 -1 a', expected H-ID<TAB>score<TAB>hypothesis"),
    ("H-1\tx\ta\n", ":1: found score 'x', expected a number"),
    ("H-1\t-inf\ta\n", ":1: found score '-inf', expected a finite number"),
    ("H-1\t1_0\ta\n", ":1: found score '1_0', expected a number"),
    ("H-1\t1e400\ta\n", ":1: found score '1e400', too large for float64, expected a finite number"),
    ("Q-1\ta\n", r":1: found 'Q-1\\ta', expected lines D, H, P, S, T-ID"),
    ("S-1\ta\nT-1\n", ":2: found 'T-1', expected T-ID<TAB>reference"),
    ("T-1\ta\nT-1\tb\n", ":2: found another T-1, expected one source and one reference per sentence"),
    ("D-1\t-1\ta\n", ":1: found D-1 without a hypothesis of its own, expected it after its H-1"),
    ("H-1\t-1\ta\nP-2\t-1\n", ":2: found P-2 without a hypothesis of its own, expected it after its H-2"),
    ("H-1\t-1\ta\nP-1\t-1\nP-1\t-1\n", ":3: found P-1 without a hypothesis"),
    ("H-1\t-1\ta\nP-1\t\n", ":2: found no score, expected P-ID<TAB>scores"),
    ("H-1\t-1\ta\nP-1\t-1 nan\n", ":2: found score 'nan', expected a finite number"),
    (
        "H-1\t-1\ta\nP-1\t-1\nH-2\t-1\tb\n",
        ":3: found H-2 without a P line, expected one, as H-1 has on line 1",
    ),
    (
        "H-1\t-1\ta\nT-2\tx\nH-2\t-1\tb\n",
        ":1: found H-1 without a T line, expected one, as H-2 has on line 3",
    ),
]


@pytest.mark.parametrize(("text", "message"), BAD)
def test_bad_files_are_one_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(f"{tmp_path / 'gen.out'}{message}".replace("\\\\", "\\"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "line", "found"),
    [
        ("S-0\ts\nT-0\tr\nH-3\t-1\tz\n", 1, "S-0 without a hypothesis"),
        ("T-0\tr\nH-3\t-1\tz\n", 1, "T-0 without a hypothesis"),
        ("T-3\tr\nH-3\t-1\tz\nS-5\ts\n", 3, "S-5 without a hypothesis"),
    ],
)
def test_a_sentence_without_a_hypothesis(tmp_path, content, line, found):
    path = tmp_path / "out"
    path.write_text(content)
    with pytest.raises(FormatError) as caught:
        load(path, format="fairseq")
    assert (caught.value.line, caught.value.found) == (line, found)
