"""Folders and archives of structures as lists, and structures joined to lists of other formats."""

from __future__ import annotations

import gzip
import io
import tarfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from small_structures import atom, text, trace

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.describe import describe
from rerank.data.reading import DataSection
from rerank.extensions.proteins.sources import natural
from rerank.formats import load
from rerank.formats.base import save
from rerank.training.config import read_config

MODEL = text(*trace(5))
TWO = text("MODEL 1", *trace(5), "ENDMDL", "MODEL 2", *trace(4), "ENDMDL")


def put(folder: Path, files: dict[str, bytes]) -> Path:
    """Write files, whose names may have folders."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def tar(files: dict[str, bytes], mode: str = "w:gz", format: int = tarfile.GNU_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=format) as archive:  # type: ignore[call-overload]
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


def names(path: Path) -> dict[str, list[str]]:
    """The ids of the items of each list."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lists = load(path)
    assert lists.item_ids is not None
    assert lists.n_features == 0
    assert lists.traces is not None
    assert len(lists.traces) == lists.n_items
    return {
        lists.list_id(i): [lists.item_ids[k] for k in range(*lists.offsets[i : i + 2].tolist())]
        for i in range(lists.n_lists)
    }


def refused(path: Path, kind: type[RerankError] = FormatError, **options: str) -> str:
    with pytest.raises(kind) as caught:
        load(path, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_names_in_natural_order() -> None:
    names = ["m10", "m2", "m02", "m1b", "m1a", "M3", "", "9", "x" + "0" * 5000, "x" + "9" * 5000]
    expected = ["", "9", "M3", "m1a", "m1b", "m02", "m2", "m10", "x" + "0" * 5000, "x" + "9" * 5000]
    assert sorted(names, key=natural) == expected


def test_a_folder_is_a_list(tmp_path: Path) -> None:
    files = {"T1TS10_1": MODEL, "T1TS2_1": MODEL, "a.pdb": MODEL, "b.ent.gz": gzip.compress(MODEL)}
    expected = {"T1": ["T1TS2_1", "T1TS10_1", "a", "b", "c.d:1", "c.d:2"]}
    folder = put(tmp_path / "T1", {**files, "c.d.PDB": TWO})
    assert names(folder) == expected
    assert names(Path(f"{folder}/")) == expected


def test_folders_and_archives_are_lists_each(tmp_path: Path) -> None:
    put(tmp_path / "all", {"T10/b": MODEL, "T9/a": MODEL, "T9/b": MODEL})
    (tmp_path / "all/T1-D1.tar.gz").write_bytes(tar({"T1-D1/m2": MODEL, "T1-D1/m1": TWO}))
    (tmp_path / "all/T2.tar").write_bytes(tar({"./x.pdb": MODEL}, "w"))
    assert names(tmp_path / "all") == {
        "T1-D1": ["m1:1", "m1:2", "m2"],
        "T2": ["x"],
        "T9": ["a", "b"],
        "T10": ["b"],
    }


@pytest.mark.parametrize("format", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT])
@pytest.mark.parametrize("mode", ["w", "w:gz", "w:bz2", "w:xz"])
def test_an_archive(tmp_path: Path, mode: str, format: int) -> None:
    longest = "d" * 60 + "/" + "m" * 90
    files = {f"T2/{longest.split('/')[0]}/{longest.split('/')[1]}": MODEL, "T1/a.pdb": MODEL, "T1/b": MODEL}
    (tmp_path / "models.tar").write_bytes(tar(files, mode, format))
    assert names(tmp_path / "models.tar") == {"T1": ["a", "b"], "d" * 60: ["m" * 90]}


def test_a_file(tmp_path: Path) -> None:
    put(tmp_path, {"one.pdb": MODEL, "two.pdb": TWO, "T1TS1": b"PFRMAT TS\n" + MODEL})
    assert names(tmp_path / "one.pdb") == {"one": ["one"]}
    assert names(tmp_path / "two.pdb") == {"two": ["two:1", "two:2"]}
    with pytest.warns(DataNote, match="read as structures"):
        assert load(tmp_path / "T1TS1").list_id(0) == "T1TS1"


def test_residues_that_are_left_out_are_in_one_note(tmp_path: Path) -> None:
    lines = (*trace(5), *(atom(k, residue="LIG", record="HETATM") for k in (8, 9)))
    more = (atom(20, residue="ABX", record="HETATM"), atom(21, residue=" CA", record="HETATM"))
    put(tmp_path / "T1", {"a": text(*lines), "b": text(*lines, *more)})
    with pytest.warns(DataNote) as caught:
        lists = load(tmp_path / "T1", native=str(tmp_path / "T1" / "b"))
    left = "of HETATM records with a CA atom left out, no known amino acids"
    assert [str(one.message).removeprefix(str(tmp_path)) for one in caught][:2] == [
        f"/T1: 5 residues {left} (ABX, LIG 4 times)",
        f"/T1/b: 3 residues {left} (ABX, LIG 2 times)",
    ]
    assert lists.traces is not None
    assert lists.traces.lengths.tolist() == [5, 5]


def test_foreign_files_are_skipped_with_a_note(tmp_path: Path) -> None:
    put(tmp_path / "T1", {"a": MODEL, ".DS_Store": b"\0", "README": b"x", "scores.csv": b"a", "b.txt": b""})
    with pytest.warns(DataNote, match=r"T1: 4 files skipped.*\(.DS_Store, README, b.txt, ...\)"):
        assert load(tmp_path / "T1").n_items == 1
    (tmp_path / "m.tar").write_bytes(tar({"T1/a": MODEL, "T1/._a": b"\0\5"}))
    with pytest.warns(DataNote, match=r"m.tar: 1 file skipped.*\(._a\)"):
        assert load(tmp_path / "m.tar").n_items == 1


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.pdb": MODEL, "notes": b"nothing\n"}, "s/notes: found no ATOM record"),
        ({"a.pdb": MODEL, "b.pdb": b""}, "s/b.pdb: found an empty file"),
        ({"T1/a.pdb": MODEL, "T1/T2/a.pdb": MODEL}, "s/T1/T2: found a folder or archive in a folder"),
        ({"T1/a.pdb": MODEL, "a.pdb": MODEL}, "s: found folders or archives beside files ('T1' and 'a.pdb')"),
        ({"a.pdb": MODEL, "b.pdb": MODEL[:-40]}, "s/b.pdb:5: found a line of"),
        ({"x.bin": b"\0\1"}, "or PDB or mmCIF files"),
        ({"README": b"hello"}, "or PDB or mmCIF files"),
        ({"x.tar": b"hello"}, "s/x.tar: found tar data that is cut off"),
    ],
)
def test_faults_of_folders(tmp_path: Path, files: dict[str, bytes], error: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        assert error in refused(put(tmp_path / "s", files))


@pytest.mark.parametrize(
    ("files", "error"),
    [
        ({"a.pdb": MODEL, "a.ent": MODEL}, "s/a.pdb: an item 'a' again, as "),
        ({"a.pdb": TWO, "a:1": MODEL}, "an item 'a:1' again"),
        ({"T1.tar": tar({"T2/a": MODEL}), "T2/a": MODEL}, "two folders are both list 'T2'"),
    ],
)
def test_names_that_occur_twice(tmp_path: Path, files: dict[str, bytes], error: str) -> None:
    assert error in refused(put(tmp_path / "s", files), DataError)


def entry(name: str, **values: object) -> bytes:
    """An archive with one entry that is not a plain file, followed by a model."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.GNU_FORMAT) as archive:
        odd = tarfile.TarInfo(name)
        for key, value in values.items():
            setattr(odd, key, value)
        out.write(odd.tobuf(tarfile.GNU_FORMAT))  # addfile() of Python 3.13 wants as many bytes as it states
        one = tarfile.TarInfo("T1/a")
        one.size = len(MODEL)
        archive.addfile(one, io.BytesIO(MODEL))
    return out.getvalue()


WHOLE = tar({"T1/a": MODEL}, "w")


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (entry("T1/l", type=tarfile.SYMTYPE, linkname="/etc/passwd"), "m.tar: found a symbolic link, 'T1/l'"),
        (entry("T1/l", type=tarfile.LNKTYPE, linkname="T1/a"), "m.tar: found a link, 'T1/l'"),
        (entry("T1/l", type=tarfile.FIFOTYPE), "m.tar: found a pipe, 'T1/l'"),
        (entry("../l"), "m.tar: found the path '../l', expected paths within the archive"),
        (entry("/l"), "m.tar: found the path '/l', expected paths within the archive"),
        (entry("T1/l", size=1 << 40), "m.tar: found 'T1/l' of 1099511627776 bytes, expected at most"),
        (entry("T1/l", type=b"x", size=1 << 40), "m.tar: found a header of 1099511627776 bytes"),
        (entry("a/" * 3000 + "l"), "m.tar: found a path of 6001 characters"),
        (WHOLE[:1000], "m.tar: found tar data that is cut off in a file"),
        (WHOLE[:1024], "m.tar: found tar data that is cut off in a header"),
        (WHOLE[:1024] + b"y" * 2000, "m.tar: found a damaged header"),
        (tar({"T1/a": MODEL})[:100], "m.tar: found gzip data that is cut off"),
        (tar({"T1/a": MODEL, "b": MODEL}), "m.tar/b: found folders beside files"),
        (tar({"b": MODEL, "T1/a": MODEL}), "m.tar/T1/a: found folders beside files"),
        (tar({"T1/a": b"nothing"}), "m.tar/T1/a: found no ATOM record"),
        (tar({}, "w"), "m.tar: found no structures, expected PDB or mmCIF files"),
    ],
    ids=lambda value: value if isinstance(value, str) else "tar",  # gzip data have the time in them
)
def test_faults_of_archives(tmp_path: Path, content: bytes, error: str) -> None:
    (tmp_path / "m.tar").write_bytes(content)
    assert error in refused(tmp_path / "m.tar", format="structures")


def test_nothing_is_written_to_the_disk(tmp_path: Path) -> None:
    (tmp_path / "m.tar").write_bytes(tar({"T1/a": MODEL}))
    load(tmp_path / "m.tar")
    assert [path.name for path in tmp_path.iterdir()] == ["m.tar"]


IDS = (("T1", "a"), ("T1", "b"), ("T2", "a"))
LINES = "".join(f'{{"list": "{name}", "id": "{item}", "label": 1}}\n' for name, item in IDS)


def test_structures_are_joined_to_items_by_ids(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(LINES)
    models = put(tmp_path / "models", {"T2/a": text(*trace(7)), "T1/b": text(*trace(6)), "T1/a.pdb": MODEL})
    lists = load(tmp_path / "t.jsonl", structures=models)
    assert lists.traces is not None
    assert lists.traces.lengths.tolist() == [5, 6, 7]
    again = tmp_path / "t.store"
    save(lists, str(again))
    stored = load(again)
    assert stored.traces is not None
    assert np.array_equal(stored.traces.xyz, lists.traces.xyz)
    message = refused(again, ConfigError, structures=str(models))
    assert "holds its own structures" in message


def test_partial_joins_are_reported(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(LINES)
    models = put(tmp_path / "models", {"T2/a": MODEL, "T2/x": MODEL, "T1/b": MODEL})
    with pytest.warns(DataNote) as notes:
        lists = load(tmp_path / "t.jsonl", structures=models)
    assert lists.traces is not None
    assert lists.traces.lengths.tolist() == [0, 5, 5]
    assert [str(one.message).replace(str(tmp_path), "") for one in notes] == [
        "1 item of /t.jsonl without a structure in /models (the first is list 'T1', item 'a')",
        "/models: 1 structure of 3 without an item in /t.jsonl",
    ]
    with pytest.raises(DataError, match=r"1 item of .* without a structure"):
        load(tmp_path / "t.jsonl", structures=models, strict=True)


def test_a_join_of_nothing_shows_both_sides(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(LINES)
    models = put(tmp_path / "T1", {"a-D1": MODEL})
    message = refused(tmp_path / "t.jsonl", DataError, structures=str(models))
    assert message.endswith(
        "that is all: the first is list 'T1', item 'a', the first structure list 'T1', item 'a-D1'"
    )
    (tmp_path / "t.letor").write_text("1 qid:1 1:1\n")
    assert "has no ids of items" in refused(tmp_path / "t.letor", ConfigError, structures=str(models))


def test_natives_and_ranges_are_read_beside_structures_of_any_format(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text(LINES)
    models = put(tmp_path / "models", {"T2/a": MODEL, "T1/b": text(*trace(6)), "T1/a": text(*trace(3))})
    natives = put(
        tmp_path / "natives", {"T1.pdb": text(*trace(8, start=2)), "T2.pdb": text(*trace(5, shift=1.0))}
    )
    options = {"structures": models, "native": natives}
    lists = load(tmp_path / "t.jsonl", **options)
    assert lists.natives is not None
    assert lists.traces is not None
    assert (lists.natives.lengths.tolist(), lists.traces.lengths.tolist()) == ([8, 5], [2, 5, 5])
    facts = dict(describe(lists).facts)
    assert facts["models"] == "3, 2 to 5 residues, median 5, 1 chain"
    assert facts["matched"] == "2 to 5 residues of model and native, median 5"
    assert facts["coverage"] == "25 to 100% of the native, median 62.5%; 1 of 3 models complete"
    part = load(tmp_path / "t.jsonl", **options, residues="A:2-3")
    assert part.natives is not None
    assert part.natives.lengths.tolist() == [2, 2]
    assert load(tmp_path / "t.jsonl", structures=models, residues="A:2-3").natives is None


@pytest.mark.parametrize("option", [{"native": "models"}, {"residues": "A:1-2"}, {"match": "sequence"}])
def test_options_of_natives_need_structures_and_no_natives(tmp_path: Path, option: dict[str, str]) -> None:
    (tmp_path / "t.jsonl").write_text(LINES)
    assert "holds no structures for" in refused(tmp_path / "t.jsonl", ConfigError, **option)
    models = put(tmp_path / "T1", {"a": MODEL})
    native = put(tmp_path / "n", {"T1": text(*trace(5, shift=1.0))})
    save(load(models, native=native), str(tmp_path / "t.store"))
    assert "holds its own natives" in refused(tmp_path / "t.store", ConfigError, **option)


def test_matches_by_sequence_need_natives(tmp_path: Path) -> None:
    models = put(tmp_path / "T1", {"a": MODEL})
    assert "not used without natives" in refused(models, ConfigError, match="sequence")


def test_development_lists_have_their_own(tmp_path: Path) -> None:
    data = DataSection(train="a", dev="b", structures="m", native="n", dev_structures="o", match="sequence")
    assert (data.reading("train").structures, data.reading("train").match) == ("m", "sequence")
    dev = data.reading("dev")
    assert (dev.structures, dev.native, dev.match) == ("o", None, "number")
    assert data.reading("unlabelled").changed() == []


def test_a_file_of_ranges_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "ranges").write_text("T1\tA:1-2\n")
    (tmp_path / "a.yaml").write_text("data: {train: t.csv, residues: ranges}\n")
    data = read_config(str(tmp_path / "a.yaml")).data
    assert data.residues == str(tmp_path / "ranges")
    assert str(tmp_path / "ranges") in data.files()
    (tmp_path / "a.yaml").write_text("data: {train: t.csv, residues: 'A:1-2'}\n")
    assert read_config(str(tmp_path / "a.yaml")).data.residues == "A:1-2"
