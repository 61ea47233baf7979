"""All atoms are read again from the files of CA traces: formats, alternative locations, archives, faults."""

import tarfile

import numpy as np
import pytest
from reference import atoms

from rerank import load
from rerank.core.errors import DataError, FormatError
from rerank.data.columns.traces import key_of
from rerank.data.joining import joined
from rerank.extensions.proteins.atoms.file_traces import FileTraces
from rerank.extensions.proteins.atoms.rows import atom_name
from rerank.extensions.proteins.atoms.structures import structure_of


def found(traces, i=0):
    """Structure ``i`` as a dictionary of positions by key and atom."""
    one = structure_of(traces, i)
    names = [atom_name(name) for name in one.names.tolist()]
    residues = one.keys[one.residue].tolist()
    return {(key, name): tuple(xyz) for key, name, xyz in zip(residues, names, one.xyz.tolist(), strict=True)}


def expected(structure):
    return {
        (key_of(*key), atom): tuple(xyz.tolist())
        for key, (_, own) in structure.items()
        for atom, xyz in own.items()
    }


@pytest.fixture
def protein():
    rng = np.random.default_rng(1)
    return atoms.made_chain(rng, "A", 12, first=5) | atoms.made_chain(rng, "B", 9, at=(6.0, 0, 0))


@pytest.mark.parametrize("form", ["pdb", "cif"])
def test_all_heavy_atoms_are_read(protein, tmp_path, form):
    if form == "cif":
        pytest.importorskip("gemmi")
    path = tmp_path / f"one.{form}"
    path.write_text(atoms.pdb_text(protein) if form == "pdb" else atoms.cif_text(protein))
    lists = load(str(path))
    assert isinstance(lists.traces, FileTraces)
    assert found(lists.traces) == expected(protein)


def test_hydrogens_ligands_and_water_are_left_out(protein, tmp_path):
    key = ("A", 5, "")
    lines = [
        atoms.pdb_line(1, key, "ALA", "HA", (0, 0, 0)),
        atoms.pdb_line(2, key, "ALA", "1HB", (0, 0, 0)),
        atoms.pdb_line(3, ("A", 900, ""), "HOH", "O", (0, 0, 0), record="HETATM"),
        atoms.pdb_line(4, ("A", 901, ""), "ZN", "ZN", (0, 0, 0), record="HETATM"),
    ]
    path = tmp_path / "one.pdb"
    path.write_text(atoms.pdb_text(protein).replace("END\n", "".join(lines)))
    assert found(load(str(path)).traces) == expected(protein)


def test_of_alternative_locations_the_first_with_the_highest_occupancy(tmp_path):
    key, line = ("A", 1, "B"), atoms.pdb_line
    path = tmp_path / "one.pdb"
    path.write_text(
        line(1, key, "SER", "CA", (1, 0, 0), "A", 0.5)
        + line(2, key, "SER", "CA", (2, 0, 0), "B", 0.5)
        + line(3, key, "SER", "OG", (3, 0, 0), "A", 0.4)
        + line(4, key, "SER", "OG", (4, 0, 0), "B", 0.6)
        + line(5, key, "THR", "CB", (5, 0, 0), "C", 1.0)  # another amino acid at the same place
        + line(6, key, "SER", "CB", (6, 0, 0))
    )
    k = key_of("A", 1, "B")
    assert found(load(str(path)).traces) == {(k, "CA"): (1, 0, 0), (k, "OG"): (4, 0, 0), (k, "CB"): (6, 0, 0)}
    assert atoms.read(path.read_text())[key][1]["OG"].tolist() == [4, 0, 0]


def test_models_of_a_file_and_files_of_an_archive(protein, tmp_path):
    rng = np.random.default_rng(2)
    other = atoms.moved(protein, rng)
    both = "".join(f"MODEL {k}\n{atoms.pdb_text(one)[:-4]}ENDMDL\n" for k, one in ((3, protein), (7, other)))
    folder = tmp_path / "set"
    folder.mkdir()
    (folder / "both.pdb").write_text(both)
    (folder / "alone.pdb").write_text(atoms.pdb_text(other))
    with tarfile.open(tmp_path / "set.tar.gz", "w:gz") as archive:
        archive.add(folder, arcname="set")
    for source in (folder, tmp_path / "set.tar.gz"):
        lists = load(str(source))
        assert list(lists.item_ids) == ["alone", "both:3", "both:7"]
        for traces in (lists.traces, lists.subset([0]).traces):
            assert [found(traces, i) for i in range(3)] == [expected(one) for one in (other, protein, other)]


def test_a_set_of_several_files_keeps_them(protein, tmp_path):
    other = atoms.moved(protein, np.random.default_rng(3))
    parts = []
    for name, one in (("a", protein), ("b", other)):
        (tmp_path / f"{name}.pdb").write_text(atoms.pdb_text(one))
        parts.append(load(str(tmp_path / f"{name}.pdb")))
    lists = joined(parts)
    assert [found(lists.traces, i) for i in range(2)] == [expected(protein), expected(other)]


def test_faults_of_atoms_name_file_and_line(protein, tmp_path):
    path = tmp_path / "one.pdb"
    lines = atoms.pdb_text(protein).splitlines(keepends=True)

    def refused(change, match):
        text = list(lines)
        text[2] = change(text[2])
        path.write_text("".join(text))
        with pytest.raises(FormatError, match=rf"one.pdb:3: {match}"):
            structure_of(load(str(path)).traces, 0)

    refused(lambda line: f"{line[:32]}x{line[33:]}", "found x .*expected a number in columns 31-38")
    refused(lambda line: f"{line[:54]}  ABCD{line[60:]}", "found occupancy")
    refused(lambda _: lines[0], r"found atom N of residue A:5 again, expected one per residue")


def test_files_that_changed_or_are_gone(protein, tmp_path):
    path = tmp_path / "one.pdb"
    path.write_text(atoms.pdb_text(protein))
    traces = load(str(path)).traces
    path.write_text(atoms.pdb_text(atoms.moved(protein, np.random.default_rng(0))))
    with pytest.raises(DataError, match="are not those that were read before"):
        structure_of(traces, 0)
    path.unlink()
    with pytest.raises(DataError, match="it is not there any more"):
        structure_of(traces, 0)
