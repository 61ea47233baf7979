"""Natives beside models: files, folders and archives of them, ranges of residues, and doubtful matches."""

import csv
import tarfile
import warnings
from dataclasses import replace

import numpy as np
import pytest
from msgspec import structs

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.columns.strings import StringColumn
from rerank.data.columns.traces import Traces, key_of, residue_name
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms.amino_acids import LETTERS
from rerank.extensions.proteins.matching import partners
from rerank.extensions.proteins.natives import attach_natives
from rerank.extensions.proteins.sources import files_of, read_file

SEQUENCE = "MKTAYIAKQRQISFVKSHFSRQLEERLGLIEVQAPILSRVGDGTQDNLSG"
NAMES = {letter: name for name, letter in LETTERS.items() if len(name) == 3}


def pdb(*chains, model=None):
    """A PDB file of chains: (name, first number, sequence, x of the first residue)."""
    lines = [
        f"ATOM  {n:5d}  CA  {NAMES[letter]} {chain or ' '}{first + i:4d}    "
        f"{x + 3.8 * i:8.3f}{i % 3:8.3f}{0.0:8.3f}  1.00  0.00           C"
        for chain, first, sequence, x in chains
        for n, (i, letter) in enumerate(enumerate(sequence), 1)
    ]
    body = "\n".join(lines) + "\n"
    return body if model is None else f"MODEL     {model:4d}\n{body}ENDMDL\n"


def traces(*structures):
    """A column of structures, each a list of (chain, first number, sequence)."""
    rows = [[(c, f + i, s) for c, f, text in one for i, s in enumerate(text)] for one in structures]
    n = sum(map(len, rows))
    return Traces(
        np.cumsum([0, *map(len, rows)]).astype(np.int64),
        np.array([key_of(c, k) for row in rows for c, k, _ in row], dtype=np.uint64),
        np.random.default_rng(0).normal(0, 9, (n, 3)),
        np.array([ord(s) for row in rows for *_, s in row], dtype=np.uint8),
    )


def lists_of(**structures):
    """Lists of models by id, models m1, m2, ..."""
    sizes = [len(models) for models in structures.values()]
    flat = [model for models in structures.values() for model in models]
    return replace(
        CandidateLists.from_arrays(np.zeros((len(flat), 0)), group=sizes, source="models"),
        list_ids=StringColumn.from_strings(structures),
        item_ids=StringColumn.from_strings([f"m{k + 1}" for size in sizes for k in range(size)]),
        traces=traces(*flat),
    )


def write(path, content):
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    return str(path)


def attach(lists, native, residues=None, match="number", strict=False):
    """The lists with natives, and the notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataNote)
        out = attach_natives(lists, native, residues, match, strict)
    return out, [str(one.message) for one in caught]


def names(column, i=0):
    return [residue_name(key) for key in column.keys[column.of(i)]]


A = [("A", 1, SEQUENCE)]


def test_a_native_of_one_list_gives_its_keys_to_the_models(tmp_path):
    native = write(tmp_path / "anything.pdb", pdb(("H", 3, SEQUENCE[2:], 0.0)))
    out, notes = attach(lists_of(T1=[A, [("", 1, SEQUENCE[:10])]]), native)
    assert names(out.natives) == names(out.traces, 0) == [f"H:{k}" for k in range(3, 51)]
    assert names(out.traces, 1) == [f"H:{k}" for k in range(3, 11)]
    assert notes == []


@pytest.mark.parametrize("kind", ["folder", "tar.gz"])
def test_natives_are_found_by_the_ids_of_lists(tmp_path, kind):
    lists = lists_of(**{"T1": [A], "T2-D1.pdb": [A], "T3": [A]})
    folder = tmp_path / "natives"
    write(folder / "T1.ent", pdb(("A", 1, SEQUENCE[:20], 0.0)))
    write(
        folder / "T2-D1.pdb", pdb(("A", 5, SEQUENCE[4:20], 0.0), model=1) + pdb(("A", 1, "MKT", 0.0), model=2)
    )
    write(folder / "T9.pdb", pdb(("A", 1, SEQUENCE[:20], 0.0)))
    write(folder / "README", "what this is\n")
    native = folder
    if kind == "tar.gz":
        native = tmp_path / "natives.tar.gz"
        with tarfile.open(native, "w:gz") as archive:
            archive.add(folder, "natives")
    out, notes = attach(lists, str(native))
    assert out.natives.lengths.tolist() == [20, 16, 0]
    assert out.traces.lengths.tolist() == [20, 16, 50]
    assert [note.rpartition("natives")[2] for note in notes if "models; the first one" in note]
    assert f"{native}: 1 list without a native, which is not judged (T3)" in notes
    assert f"{native}: 1 native of no list (T9.pdb)" in notes
    assert len(notes) == 3


def test_natives_that_are_not_those_of_the_lists(tmp_path):
    two = lists_of(T1=[A], T2=[A])
    file = write(tmp_path / "n" / "T8.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    with pytest.raises(DataError, match=r"T8.pdb: one native for 2 lists, expected a folder or .tar of"):
        attach(two, file)
    with pytest.raises(DataError, match=r"found natives T8.pdb, expected files named by the lists: T1, T2"):
        attach(two, str(tmp_path / "n"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"empty: found no structures, expected"):
        attach(two, str(tmp_path / "empty"))
    with pytest.raises(RerankError, match=r"absent: no such file"):
        attach(two, str(tmp_path / "absent"))
    write(tmp_path / "n" / "T1.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    write(tmp_path / "n" / "T1.ent", pdb(("A", 1, SEQUENCE, 0.0)))
    with pytest.raises(DataError, match=r"T1.pdb: a second native of list 'T1', beside .*T1.ent"):
        attach(two, str(tmp_path / "n"))
    with pytest.raises(FormatError):
        attach(lists_of(T1=[A]), write(tmp_path / "bad.pdb", "HEADER\n"))


def test_options_that_would_have_no_effect_are_refused(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    with pytest.raises(ConfigError, match="match=sequence: not used without natives"):
        attach(lists_of(T1=[A]), None, match="sequence")
    with pytest.raises(ConfigError, match="unknown match 'sequenc'; did you mean 'sequence'"):
        attach(lists_of(T1=[A]), native, match="sequenc")
    lists = lists_of(T1=[A])
    assert attach(lists, None) == (lists, [])
    with pytest.raises(DataError, match="found no structures"):
        attach(replace(lists, traces=None), native)


def test_a_shifted_model_is_reported_with_its_shift(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    shifted, poly = [("A", 12, SEQUENCE)], [("A", 12, "A" * 39)]
    lists = lists_of(T1=[A, shifted, poly, shifted])
    out, notes = attach(lists, native)
    assert out.traces.lengths.tolist() == [50, 39, 39, 39]
    assert notes == [
        "models: 2 models of doubtful numbering: list 'T1', item 'm2': 5 of 39 matched residues have the "
        "native's amino acid (A:12 is M, the native's A:12 is I); shifted by 11 (too high): --match sequence "
        "matches 50 residues"
    ]
    with pytest.raises(DataError, match="2 models of doubtful numbering"):
        attach(lists, native, strict=True)
    out, notes = attach(lists_of(T1=[A, shifted]), native, match="sequence")
    assert out.traces.lengths.tolist() == [50, 50]
    assert notes == []


def test_the_native_of_another_protein_is_reported(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, "".join(sorted(SEQUENCE)), 0.0)))
    _, (note,) = attach(lists_of(T1=[A, A]), native)
    assert note.startswith("models: 2 models of doubtful numbering: list 'T1', item 'm1': ")
    assert note.endswith("; their sequences do not align, is it the native of another protein?")


def test_a_model_that_is_shifted_in_part_is_reported(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    model = [("A", 1, SEQUENCE[:38]), ("A", 40, SEQUENCE[38:48])]
    _, (note,) = attach(lists_of(T1=[model]), native)
    assert "item 'm1': 38 of 48 matched" in note
    assert note.endswith(
        "(A:40 is R, the native's A:40 is V); --match sequence matches 48 residues, 100 % of them equal"
    )


def test_models_that_share_no_residue_score_0_unless_none_shares_any(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    far = [("A", 101, SEQUENCE)]
    out, (note,) = attach(lists_of(T1=[far, A, far]), native)
    assert out.traces.lengths.tolist() == [0, 50, 0]
    assert note == (
        "models: 2 models without a residue of the native, scored 0: list 'T1', item 'm1' has A:101-150, "
        "the native A:1-50; shifted by 100 (too high): --match sequence matches 50 residues"
    )
    with pytest.raises(
        DataError, match="no model has a residue of the native: list 'T1', item 'm1' has A:101-150"
    ):
        attach(lists_of(T1=[far, far]), native)
    with pytest.raises(DataError, match="2 models without a residue"):
        attach(lists_of(T1=[far, A, far]), native, strict=True)


def test_chains_that_do_not_agree_are_an_error_that_names_them(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("H", 1, SEQUENCE[:25], 0.0), ("L", 1, SEQUENCE[25:], 200.0)))
    lists = lists_of(T1=[[("A", 1, SEQUENCE[25:])]])
    message = "item 'm1' has A:1-25, the native H:1-25, L:1-25; no chain of the same name"
    with pytest.raises(DataError, match=message):
        attach(lists, native)
    assert attach(lists, native, match="sequence")[0].traces.lengths.tolist() == [25]
    out, notes = attach(lists, native, residues="L")
    assert names(out.traces) == names(out.natives) == [f"L:{k}" for k in range(1, 26)]
    assert notes == []


def test_a_native_with_a_chain_that_no_model_has_is_reported(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0), ("B", 1, SEQUENCE, 30.0)))
    out, notes = attach(lists_of(T1=[A, A]), native)
    assert out.natives.lengths.tolist() == [2 * len(SEQUENCE)]
    n = len(SEQUENCE)
    [text] = [note for note in notes if "chain" in note]
    assert "1 native with a chain of which no model has a residue; it counts as wrong, --residues" in text
    assert f"(list 'T1', chain B: {n} of {2 * n} residues)" in text
    with pytest.raises(DataError, match="no model has a residue"):
        attach(lists_of(T1=[A]), native, strict=True)
    assert not [note for note in attach(lists_of(T1=[A]), native, residues="A")[1] if "chain" in note]


def test_ranges_restrict_the_native_and_all_that_is_compared_with_it(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    for match in ("number", "sequence"):
        out, notes = attach(lists_of(T1=[A]), native, "A:5-9,A:40-99", match)
        assert names(out.natives) == names(out.traces) == [f"A:{k}" for k in (*range(5, 10), *range(40, 51))]
        assert notes == []
    for residues, message in (
        ("B", "models: list 'T1', native: residues: found no chain 'B', expected ranges of A:1-50"),
        ("60-70", "found no 60-70, expected ranges of A:1-50"),
        ("9-5", "'9-5' is reversed"),
        ("no/such.tsv", "found 'no/such.tsv', expected ranges"),
    ):
        with pytest.raises(DataError, match=message):
            attach(lists_of(T1=[A]), native, residues)


def test_ranges_without_natives_restrict_the_models():
    lists = lists_of(T1=[A, [("B", 1, "MKT")]], T2=[[("A", 8, SEQUENCE)]])
    out, (note,) = attach(lists, None, "8-12")
    assert out.traces.lengths.tolist() == [5, 0, 5]
    assert out.natives is None
    assert note == "models: 1 model without a residue in the ranges (list 'T1', item 'm2')"
    with pytest.raises(DataError, match="models: list 'T2': residues: found no chain 'B', expected"):
        attach(lists, None, "B:1-3")
    with pytest.raises(
        DataError, match="item 'm1' has several chains, expected ranges with a chain, as in A:1-3"
    ):
        attach(lists_of(T1=[[("A", 1, "MKT"), ("B", 1, "MKT")]]), None, "1-3")


def test_a_file_of_domains(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lists = lists_of(T1=[A], T2=[A], T3=[A])
    file = write(tmp_path / "domains.tsv", "# CASP\nT1\t1-10, 21-30\r\n\nT2 A:5-9\nT8 1-5\n")
    out, notes = attach(lists, None, file)
    assert out.traces.lengths.tolist() == [20, 5, 50]
    assert notes == [
        f"{file}: 1 line of lists that are not there (T8)",
        f"{file}: 1 list without a line (T3); all their residues count",
    ]
    for content, message in (
        ("T1\n", ":1: found 'T1', expected a list and its ranges"),
        ("T1 1-5\nT1 7-9\n", ":2: found list 'T1' again, expected one line (it is in line 1)"),
        ("T1 5-1\n", ":1: residues: '5-1' is reversed"),
        ("T8 1-5\n", ": found lists T8, expected some of T1, T2, T3"),
        ("", ": found lists none"),
    ):
        file = write(tmp_path / "domains.tsv", content)
        with pytest.raises(RerankError) as caught:
            attach(lists, None, file)
        assert str(caught.value).startswith(file + message)
    write(tmp_path / "A", "T1 1-5\n")
    with pytest.raises(
        DataError, match=r"'A' is a file and a range; expected one of the two: \./A is the file, A: the"
    ):
        attach(lists, None, "A")
    assert attach(lists, None, "./A")[0].traces.lengths.tolist() == [5, 50, 50]
    assert attach(lists, None, "A:")[0].traces.lengths.tolist() == [50, 50, 50]


def test_the_native_among_its_models_is_reported(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    lists = lists_of(T1=[A, A, [("A", 1, SEQUENCE[:-1])]])
    xyz = lists.traces.xyz.copy()
    copy = attach(lists, native)[0].natives.xyz
    xyz[50:100], xyz[100:] = copy, copy[:-1]
    _, notes = attach(lists.with_structures(traces=structs.replace(lists.traces, xyz=xyz)), native)
    assert notes == ["models: 1 model with the native's own coordinates (list 'T1', item 'm2')"]


def test_sequences_that_are_not_alike_are_reported(tmp_path):
    native = write(tmp_path / "n.pdb", pdb(("A", 1, SEQUENCE, 0.0)))
    for sequence in ("A" * 50, "X" * 50, "".join(sorted(SEQUENCE))):
        _, (note,) = attach(lists_of(T1=[A, [("A", 1, sequence)]]), native, match="sequence")
        assert note.startswith("models: 1 model of doubtful sequence: list 'T1', item 'm2': ")


def test_shared_residues_of_146_pairs_are_those_of_tmscore(shared_data):
    folder = shared_data / "gdt"
    structures = {
        name.rpartition("/")[2]: read_file(name, content)[0][1]
        for name, content in files_of(str(folder / "pdb.tar.gz"))
        if name.endswith(".pdb")
    }
    with open(folder / "tmscore_reference.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    models, natives = (Traces.joined([structures[row[key]] for row in rows]) for key in ("model", "native"))
    lists = np.arange(len(rows) + 1)
    by_number = partners(models, natives, lists, "number")
    assert by_number.matched.tolist() == [int(row["n_common"]) for row in rows]
    assert np.count_nonzero(models.lengths != natives.lengths) == 20
    assert by_number.identity.min() == 1.0
    assert np.array_equal(partners(models, natives, lists, "sequence").of, by_number.of)
