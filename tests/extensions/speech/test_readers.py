"""N-best lists of recognisers: what is read, and what is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from rerank.core.errors import DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import load


def put(folder: Path, files: dict[str, str]) -> Path:
    """Write files into a folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def column(lists: CandidateLists, name: str) -> list[float]:
    return lists.features.to_dense()[:, lists.names().index(name)].tolist()


KALDI = {
    "words_text": "utt-a-10 the cat\nutt-a-1 the cat sat\nutt-b-1\nutt-a-2 a cat sat\nutt-b-2 hello\n",
    "ac_cost": "utt-a-1 100.5\nutt-a-2 101\nutt-a-10 99\nutt-b-1 3\nutt-b-2 4e1\n",
    "lmwt.nolm": "utt-a-1 10.5\nutt-a-2 11\nutt-a-10 9\nutt-b-1 3\nutt-b-2 4\n",
    "ali": "utt-a-1 1 2 2\n",
}
TEXT = "utt-b hello\nutt-a a cat sat\n"


def test_kaldi_folder(tmp_path: Path) -> None:
    path = put(tmp_path / "k", KALDI)
    (tmp_path / "text").write_text(TEXT)
    lists = load(path, refs=tmp_path / "text")
    assert list(lists.list_ids) == ["utt-a", "utt-b"]
    assert list(lists.texts) == ["the cat sat", "a cat sat", "the cat", "", "hello"]  # by rank, not by line
    assert list(lists.references[0]) == ["a cat sat", "hello"]
    assert lists.names() == ["ac_score", "lmwt.nolm", "n_words", "n_chars"]
    assert column(lists, "ac_score") == [-100.5, -101, -99, -3, -40]
    assert column(lists, "n_words") == [3, 3, 2, 0, 1]
    assert column(lists, "n_chars") == [9, 7, 6, 0, 5]


def test_kaldi_numbers_of_words(tmp_path: Path) -> None:
    files = {"words": "u-1 1 2\nu-2 2\n"}
    with pytest.warns(DataNote, match="the texts are numbers of words"):
        assert list(load(put(tmp_path / "a", files)).texts) == ["1 2", "2"]
    table = {"words.txt": "<eps> 0\ncat 1\nsat 2\n"}
    assert list(load(put(tmp_path / "b", files | table)).texts) == ["cat sat", "sat"]
    with pytest.raises(FormatError, match=r"words:2: found word 7, expected one of .*words\.txt"):
        load(put(tmp_path / "c", {"words": "u-1 1\nu-2 7\n"} | table))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"words_text": "u a\n"}, "words_text:1: found 'u', expected an utterance and its rank"),
        ({"words_text": "u-1 a\nu-01 b\n"}, "words_text:2: found 'u-01' again"),
        ({"words_text": "u-1 a\nu-1 b\n"}, r"words_text:2: found 'u-1' again, .*\(it is on line 1\)"),
        ({"words_text": "u-1 a\nu-2 b\n"}, "ac_cost: found no line of 'u-2', expected one, as words_text"),
        ({"ac_cost": "u-1 1\nu-2 2\n"}, "ac_cost:2: found 'u-2', which words_text lacks"),
        ({"ac_cost": "u-1 nan\n"}, "ac_cost:1: found score 'nan', expected a finite number"),
        ({"ac_cost": "u-1 1\nu-1 2\n"}, "ac_cost:2: found 'u-1' again"),
        ({"words_text": ""}, "words_text: found an empty file"),
    ],
)
def test_kaldi_faults(tmp_path: Path, change: dict[str, str], message: str) -> None:
    files = {"words_text": "u-1 a\n", "ac_cost": "u-1 1\n"}
    if set(change) == {"words_text"} and "u-2" not in change["words_text"]:
        del files["ac_cost"]
    with pytest.raises(FormatError, match=message):
        load(put(tmp_path, files | change), "kaldi")


LATTICE = """u-1
0 1 the 4.5,100,1_2_2
1	2 <eps> 0.25,0,
2 3 cat 1,20.25,3
3 0.5,0,

u-2
0 1 8 a 4.5,1
1

"""


def test_kaldi_lattices(tmp_path: Path) -> None:
    (tmp_path / "lat").write_text(LATTICE)
    with pytest.warns(DataNote, match="read as kaldi"):
        lists = load(tmp_path / "lat")
    assert list(lists.texts) == ["the cat", "a"]
    assert column(lists, "ac_score") == [-120.25, -1]
    assert column(lists, "lm_score") == [-6.25, -4.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("u-1\n0 1 a 1,2,\n0 2 b 1,2,\n1\n", "3: found a lattice of several paths"),
        ("u-1\n0 1 a 1,2,\n1\n1\n", "4: found a lattice of several paths"),
        ("u-1\n0 1 a 1,2,\n\nu-2\n", "1: found a lattice without a final state"),
        ("u-1\n0 1 a 1,x,\n1\n", "2: found acoustic cost 'x'"),
        ("u-1\n0 x a 1,2,\n1\n", "2: found '0 x a', expected an arc"),
        ("0 1 a 1,2,\n", "1: found '0 1 a 1,2,', expected an utterance and its rank"),
    ],
)
def test_kaldi_lattice_faults(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "lat").write_text(text)
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "lat", "kaldi")


def espnet(job: str = "") -> dict[str, str]:
    return {
        f"{job}1best_recog/text": "u HELLO WORLD\nv B\n",
        f"{job}1best_recog/score": "u tensor(-1.5, device='cuda:0')\nv -2.5\n",
        f"{job}1best_recog/token": "u _HEL LO _WORLD\nv _B\n",
        f"{job}2best_recog/text": "u HELLO\n",
        f"{job}2best_recog/score": "u tensor(-1.75)\n",
        f"{job}2best_recog/token": "u _HEL LO\n",
    }


def test_espnet(tmp_path: Path) -> None:
    lists = load(put(tmp_path / "a", espnet()))
    assert list(lists.list_ids) == ["u", "v"]
    assert list(lists.texts) == ["HELLO WORLD", "HELLO", "B"]
    assert lists.base_scores.tolist() == [-1.5, -1.75, -2.5]
    assert lists.names() == ["score", "n_tokens", "n_words", "n_chars"]
    assert column(lists, "n_tokens") == [3, 2, 1]
    jobs = {
        f"logdir/output.{job}/1best_recog/{name}": f"u{job} 1\n"
        for job in (10, 2)
        for name in ("text", "score")
    }
    assert list(load(put(tmp_path / "b", jobs)).list_ids) == ["u2", "u10"]


def test_espnet_faults(tmp_path: Path) -> None:
    files = espnet() | {"2best_recog/text": "u A\nw B\n", "2best_recog/score": "u 1\nw 2\n"}
    with pytest.raises(FormatError, match="text:2: found 'w', which 1best_recog lacks"):
        load(put(tmp_path / "a", files))
    files = espnet() | {"1best_recog/score": "u 1\nv tensor(nan)\n"}
    with pytest.raises(FormatError, match="score:2: found score 'nan', expected a finite number"):
        load(put(tmp_path / "b", files))
    with pytest.raises(FormatError, match="found utterance 'u' of another job again"):
        load(put(tmp_path / "c", espnet("output.1/") | espnet("output.2/")))


def test_espnet_1(tmp_path: Path) -> None:
    output = [
        {
            "name": "target1[1]",
            "rec_text": "a b<eos>",
            "rec_token": "a b <eos>",
            "score": -1.5,
            "text": "a c",
        },
        {"name": "target1[2]", "rec_text": "a", "rec_token": "a <eos>", "score": -2.5, "text": "a c"},
    ]
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"utts": {"u": {"utt2spk": "s", "output": output}}}))
    with pytest.warns(DataNote, match="read as espnet"):
        lists = load(path)
    assert list(lists.texts) == ["a b", "a"]
    assert list(lists.references[0]) == ["a c"]
    assert column(lists, "n_tokens") == [3, 2]
    path.write_text(json.dumps({"utts": {"u": {"output": [{"text": "a"}]}}}))
    with pytest.raises(FormatError, match=r"found null at utts\.u\.output\[0\]\.rec_text"):
        load(path, "espnet")


RECOGS = (
    "c-1:\tref=['A', \"B'S\"]\nc-1:\thyp=['A']\nc-1:\ttimestamp_hyp=[0.040]\nc-1:\tscore=-3\nc-1:\tlm=-1\n"
)


@pytest.mark.filterwarnings("ignore:.*feature values are absent")
def test_icefall(tmp_path: Path) -> None:
    a, b = tmp_path / "recogs-a.txt", tmp_path / "recogs-b.txt"
    a.write_text(RECOGS + "c-1:\thyp=['A', \"B'S\"]\nc-1:\tscore=tensor(-4.5)\nc-1:\tlm=-2\n")
    b.write_text("c-1:\tref=['A', \"B'S\"]\nc-1:\thyp=[]\nd:\tref=D\nd:\thyp=D E\n")
    lists = load(a, "icefall")
    assert list(lists.texts) == ["A", "A B'S"]
    assert list(lists.references[0]) == ["A B'S"]
    assert lists.base_scores.tolist() == [-3, -4.5]
    assert column(lists, "lm") == [-1, -2]
    with pytest.warns(DataNote, match="1 of 2 files lack utterances that others have"):
        lists = load(b, "icefall", merge=[a])
    assert list(lists.texts) == ["", "A", "A B'S", "D E"]
    assert column(lists, "file_2") == [0, 1, 1, 0]
    assert column(lists, "file_1") == [1, 0, 0, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("c: ref=a\n", "1: found 'c: ref=a'"),
        ("c:\tscore=1\n", "1: found 'score' before a hypothesis"),
        ("c:\tref=a\n", "1: found 'c' without hyp="),
        ("c:\tref=a\nc:\tref=b\nc:\thyp=a\n", "2: found another reference of 'c'"),
        ("c:\thyp=a\nc:\tlm=1\nc:\tlm=1\n", "3: found 'lm' again"),
        ("c:\thyp=['a', __import__('os')]\n", "1: found .*, expected a list of words"),
        ("c:\thyp=[1]\n", "1: found .*, expected a list of words"),
    ],
)
def test_icefall_faults(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "r").write_text(text)
    with pytest.raises(FormatError, match=message):
        load(tmp_path / "r", "icefall")


def refs_of(tmp_path: Path, text: str, ids: str = "u v") -> list[str]:
    """The references of two lists."""
    words = "".join(f"{name}-1 a\n" for name in ids.split())
    path = put(tmp_path / "k", {"text": words})
    (tmp_path / "refs").write_text(text, encoding="utf-8")
    return list(load(path, "kaldi", refs=tmp_path / "refs").references[0])


@pytest.mark.parametrize(
    "text",
    [
        "v b (c)\nu a b\n",
        "b (c) (v)\na b (u)\n",
        '{"audio_filepath": "x/v.wav", "text": "b (c)"}\n{"audio_filepath": "u.tar.gz.flac", "text": "no"}\n'
        '{"audio_filepath": "u.flac", "text": "a b"}\n',
        "v\tb (c)\nu\ta  b\n".replace("  ", " "),
    ],
)
@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_references_by_utterance(tmp_path: Path, text: str) -> None:
    assert refs_of(tmp_path, text) == ["a b", "b (c)"]


def test_references_that_are_missing_or_left_over(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"no reference of 1 utterance of .*, the first is 'v'"):
        refs_of(tmp_path, "u a\nw b\n")
    with pytest.raises(FormatError, match="refs:3: found utterance 'u' again"):
        refs_of(tmp_path, "u a\nv b\nu c\n")
    with pytest.raises(FormatError, match="no reference of 2 utterances"):
        refs_of(tmp_path, "a line of plain text\nanother line\n")  # never taken in order: ids are no numbers
    with pytest.warns(DataNote, match="1 of 3 references have no list in"):
        assert refs_of(tmp_path, "u a\nv b\nw c\n") == ["a", "b"]


def test_references_in_order_of_numbered_lists(tmp_path: Path) -> None:
    assert refs_of(tmp_path, "a b\na c\n", "0 1") == ["a b", "a c"]
    assert refs_of(tmp_path, "1 x\n0 y\n", "0 1") == ["y", "x"]


def test_references_of_the_file_and_others(tmp_path: Path) -> None:
    (tmp_path / "r").write_text(RECOGS)
    (tmp_path / "refs").write_text("c-1 A\n")
    options: dict[str, Any] = {"refs": tmp_path / "refs"}
    with pytest.raises(Exception, match="holds its own references"):
        load(tmp_path / "r", "icefall", **options)
