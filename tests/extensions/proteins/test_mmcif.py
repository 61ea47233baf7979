"""mmCIF files through gemmi: the same structures as in PDB format, and one-line errors."""

import builtins
from typing import Any

import numpy as np
import pytest
from small_structures import atom, text, trace

from rerank.core.errors import FormatError, RerankError
from rerank.extensions.proteins.sources import read_file

gemmi = pytest.importorskip("gemmi")

HEAD = "data_x\nloop_\n" + "".join(
    f"_atom_site.{name}\n"
    for name in (
        *("group_PDB", "id", "type_symbol", "label_atom_id", "label_alt_id", "label_comp_id", "auth_asym_id"),
        *("auth_seq_id", "pdbx_PDB_ins_code", "Cartn_x", "Cartn_y", "Cartn_z", "occupancy"),
        "pdbx_PDB_model_num",
    )
)


def row(number: Any = 1, **values: Any) -> str:
    """A line of the loop."""
    given = {
        "group": "ATOM", "id": 1, "element": "C", "name": "CA", "altloc": ".", "residue": "ALA",
        "chain": "A", "number": number, "insertion": "?", "x": 1.0, "y": 2.0, "z": 3.0, "occupancy": 1.0,
        "model": 1,
    } | values  # fmt: skip
    return " ".join(str(value) for value in given.values()) + "\n"


def read(*rows: str) -> list[tuple[str, Any]]:
    return read_file("m.cif", (HEAD + "".join(rows)).encode())


def test_equal_to_the_same_structure_in_pdb_format() -> None:
    lines = [
        *("MODEL        1", *trace(30), *trace(9, chain="B", start=-4)),
        atom(5, (9.0, 9.0, 9.0), chain="B", insertion="A", residue="MSE", record="HETATM"),
        atom(6, (8.0, 8.0, 8.0), chain="B", altloc="A", occupancy="  0.40"),
        atom(6, (7.0, 7.0, 7.0), chain="B", altloc="B", occupancy="  0.60", residue="THR"),
        atom(900, name="CA  ", residue=" CA", record="HETATM", chain="B", rest="  0.00          CA  "),
        "ENDMDL",
        *("MODEL        2", *trace(30, shift=2.0), "ENDMDL"),
    ]
    expected = read_file("m.pdb", text(*lines))
    document = gemmi.read_pdb_string("\n".join(lines)).make_mmcif_document()
    found = read_file("m.cif", document.as_string().encode())
    assert [name for name, _ in found] == [name for name, _ in expected] == ["1", "2"]
    for (_, one), (_, other) in zip(found, expected, strict=True):
        for name, column in one.arrays().items():
            assert np.array_equal(column, other.arrays()[name]), name


def test_chains_of_several_letters_and_content_that_names_the_format() -> None:
    [(_, traces)] = read_file("noname", ("# comment\n" + HEAD + row(chain="ABCD", name='"CA"')).encode())
    assert traces.keys[0] >> np.uint64(32) == int.from_bytes(b"ABCD", "big")


@pytest.mark.parametrize(
    ("rows", "error"),
    [
        ((row(x="abc"),), "m.cif: found Cartn_x 'abc' of atom 1, expected a number"),
        ((row(y="nan"),), "m.cif: found Cartn_y 'nan' of atom 1, expected a number"),
        ((row(1), row(2, z="?")), "m.cif: found Cartn_z '' of atom 2, expected a number"),
        ((row(x=1e6),), "found Cartn_x '1000000.0' of atom 1, expected at most 100,000 Å"),
        ((row(occupancy="x"),), "found occupancy 'x' of atom 1, expected a number"),
        ((row("."),), "found residue number '' of atom 1, expected a whole number"),
        ((row(chain="ABCDE"),), "found chain 'ABCDE', expected up to 4 printable ASCII characters of atom 1"),
        ((row(insertion="AB"),), "found pdbx_PDB_ins_code 'AB' of atom 1, expected a letter"),
        ((row(1), row(1)), "found an alpha carbon of residue A:1 again of atom 2, expected one per residue"),
        ((row(name="N"), row(residue="CA", element="CA")), "found 2 atoms, none of them an alpha carbon"),
        ((row(group="HETATM", residue="XYZ"),), "found 1 atom, none of them an alpha carbon"),
        ((row(), row(name="N", model=2)), "found model '2' without an alpha carbon"),
        ((row(), "1 2 3\n"), "m.cif:2: found what gemmi cannot read (Wrong number of values in loop"),
        ((row(), "'abc\n"), "m.cif:18: found what gemmi cannot read (unterminated"),
        ((row(), HEAD.replace("data_x", "data_y"), row()), "m.cif: found 2 blocks with atoms, expected one"),
    ],
)
def test_faults(rows: tuple[str, ...], error: str) -> None:
    with pytest.raises(FormatError) as caught:
        read(*rows)
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"data_x\n_cell.a 1\n", "m.cif: found 0 blocks with atoms, expected one"),
        (b"", "m.cif: found"),
        (b"hello\n", "m.cif:1: found what gemmi cannot read"),
        (b"data_x\n\n_a.b \xff\n", "m.cif:3: found byte 0xff, expected text in UTF-8"),
    ],
)
def test_faults_of_content(content: bytes, error: str) -> None:
    with pytest.raises(FormatError, match=error):
        read_file("m.cif", content)


def test_without_gemmi_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    importing = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name == "gemmi":
            raise ImportError(name)
        return importing(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(RerankError, match=r"m.cif: mmCIF files need the extra rerank\[structures\]"):
        read(row())
