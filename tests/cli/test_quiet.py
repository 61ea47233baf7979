"""Messages: nothing but errors with --quiet; notes once, a few of a kind, with short names of files."""

import warnings

import pytest

from rerank.cli.messages import showing
from rerank.core.errors import DataNote

LISTS = "1 qid:1 1:1\n0 qid:1 1:2\n1 qid:2 1:3\n0 qid:2 1:1\n1 qid:1 1:4\n"  # qid 1 is not contiguous


def test_quiet_before_and_after_the_verb(rerank, tmp_path):
    (tmp_path / "a.letor").write_text(LISTS)
    train = ["train", "--data", tmp_path / "a.letor", "--out", tmp_path / "m"]
    loud = rerank(*train).err
    assert "perceptron: 2 lists" in loud
    assert "note:" in loud
    for words in (["-q", *train], [*train, "--quiet"]):
        assert rerank(*words).err == ""
    assert rerank(*train).err == loud  # it holds for one run
    assert "no such file" in rerank("-q", "train", "--data", tmp_path / "none", "--out", "m", code=2).err


def printed(capsys, *notes):
    with showing():
        for note in notes:
            warnings.warn(note, DataNote, stacklevel=2)
    return [line.removeprefix("rerank: note: ") for line in capsys.readouterr().err.splitlines()]


def test_a_note_is_printed_once_and_three_of_a_kind(capsys):
    notes = [f"part{i}.txt: {i} lists are unlabelled" for i in range(5)]
    assert printed(capsys, *notes, notes[0], "other: note") == [
        *notes[:3],
        "other: note",
        "and 2 more like 'part0.txt: 0 lists are unlabelled'",
    ]


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        ("data/a.txt: found x", "data/a.txt: found x"),
        ("/a/very/long/path/to/the/very/last/folder/a.txt: found x", "a.txt: found x"),
        ("b.txt and ../a/very/long/path/to/the/very/last/folder/a.txt:3: x", "b.txt and a.txt:3: x"),
        ("nDCG@10 is 1/2 of P(rel=1)/x", "nDCG@10 is 1/2 of P(rel=1)/x"),
    ],
)
def test_long_paths_are_cut(capsys, note, expected):
    assert printed(capsys, note) == [expected]


def test_files_with_one_name_stay_apart(capsys, monkeypatch):
    folder = "/some/where/far/away/in/a/deep/tree/of/folders"
    spaced = f"{folder}/my data/c.txt"
    monkeypatch.setattr(
        "sys.argv", ["rerank", "eval", f"--data={folder}/Fold1/t.txt", f"{folder}/Fold2/t.txt", spaced]
    )
    notes = [f"{folder}/Fold1/t.txt: x", f"{folder}/Fold2/t.txt: y", f"{spaced}: z"]
    assert printed(capsys, *notes) == ["Fold1/t.txt: x", "Fold2/t.txt: y", "c.txt: z"]
