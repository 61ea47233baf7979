"""PDB files to CA traces: which atoms are taken, and one-line errors for everything that is wrong."""

import random
from pathlib import Path

import numpy as np
import pytest
from small_structures import atom, text, trace

from rerank.core.errors import FormatError
from rerank.data.columns.traces import Traces, key_of, residue_name
from rerank.extensions.proteins.sources import read_file


def read(*lines: str) -> Traces:
    """The only model of a file with these lines."""
    [(_, traces)] = read_file("m.pdb", text(*lines))
    return traces


def names(traces: Traces) -> list[str]:
    return [residue_name(key) for key in traces.keys.tolist()]


def letters(traces: Traces) -> str:
    return traces.residues.tobytes().decode()


def refused(*lines: str) -> str:
    """The error for a file with these lines, which is one line."""
    with pytest.raises(FormatError) as caught:
        read_file("m.pdb", text(*lines))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_an_atom() -> None:
    traces = read(atom(-3, (-1.5, 1234.125, 9999.999), residue="TRP", chain="b", insertion="C"))
    assert traces.keys.tolist() == [key_of("b", -3, "C")]
    assert traces.xyz.tolist() == [[-1.5, 1234.125, 9999.999]]
    assert (letters(traces), traces.offsets.tolist()) == ("W", [0, 1])


def test_every_value_of_a_coordinate_is_what_float_reads() -> None:
    draw = random.Random(1)
    values = [f"{draw.uniform(-999, 9999):8.{draw.randint(1, 3)}f}"[:8] for _ in range(300)]
    lines = [atom(i, values[3 * i : 3 * i + 3]) for i in range(100)]
    assert read(*lines).xyz.ravel().tolist() == [float(value) for value in values]


def test_which_atoms_are_taken() -> None:
    traces = read(
        "HEADER    PROTEIN",
        "PFRMAT TS",
        "TARGET T0949",
        "REMARK ATOM  like",
        atom(1, name=" N  "),
        atom(1, residue="MET"),
        atom(2, residue="MSE", record="HETATM"),
        atom(3, residue="SEC", record="HETATM"),
        atom(4, residue="DUM", record="HETATM"),
        atom(5, residue="DUM"),
        atom(201, name="CA  ", residue=" CA", record="HETATM"),
        atom(202, name="CA  ", residue=" CA"),
        atom(203, residue=" CA"),
        atom(204, residue="UNK", rest="  0.00          CA  "),
        "TER",
        "CONECT    1    2",
        "END",
        "",
    )
    assert (names(traces), letters(traces)) == (["A:1", "A:2", "A:3", "A:5"], "MMCX")


def test_names_of_force_fields() -> None:
    traces = read(
        "REMARK of a simulation",
        *[atom(i, residue=name) for i, name in enumerate(("NALA", "HISD", "HSE", "CYX", "POPC", "CLYS"), 1)],
        atom(7, residue="TIP3", name=" OH2", chain="W"),
        atom("9999", residue="TIP3", name=" H1 ", chain="X", insertion="9"),
        atom(8, residue="LIG1", record="HETATM"),
    )
    assert (names(traces), letters(traces)) == ([f"A:{i}" for i in range(1, 7)], "AHHCXK")
    assert "found 'ALAH ' in columns 18-22" in refused(atom(1, residue="ALAH", chain=" "))


def test_words_after_the_number_of_a_model() -> None:
    [(name, _)] = read_file("m.pdb", text("PFRMAT TS", "MODEL  1  REFINED", "PARENT N/A", *trace(2), "TER"))
    assert name == "1"


def test_modres_names_further_amino_acids() -> None:
    modres = "MODRES 1ABC DUM A    4  ALA  A MODIFIED"
    lines = (atom(9), atom(4, residue="DUM", record="HETATM"), atom(5, residue="XYZ", record="HETATM"))
    assert (names(read(modres, *lines)), letters(read(*lines, modres))) == (["A:4", "A:9"], "AA")


def test_residues_are_sorted_by_key_whatever_the_order_of_atoms() -> None:
    lines = [
        *trace(9, chain=" "),
        *trace(12, chain="B", start=-4),
        atom(3, (9.0, 9.0, 9.0), chain="B", insertion="A"),
        atom(20, altloc="A", occupancy="  0.50"),
        atom(20, (5.0, 5.0, 5.0), altloc="B", occupancy="  0.50"),
    ]
    expected = read(*lines)
    assert names(expected)[:2] + names(expected)[-3:] == ["1", "2", "B:5", "B:6", "B:7"]
    for seed in range(5):
        shuffled = random.Random(seed).sample(lines, len(lines))
        for name, column in read(*shuffled).arrays().items():
            assert np.array_equal(column, expected.arrays()[name]), name


@pytest.mark.parametrize(
    ("occupancies", "x"),
    [(("  0.30", "  0.70"), 2.0), (("  0.50", "  0.50"), 1.0), (("  0.70", "  0.30"), 1.0), (("", ""), 1.0)],
)
@pytest.mark.parametrize("turned", [False, True])
def test_alternative_locations(occupancies: tuple[str, str], x: float, turned: bool) -> None:
    first, second = (
        atom(1, (at, 0.0, 0.0), altloc=altloc, occupancy=occupancy, rest="", residue=residue)
        for at, altloc, occupancy, residue in zip((1.0, 2.0), "AB", occupancies, ("SER", "THR"), strict=True)
    )
    traces = read(*((second, first) if turned else (first, second)))
    assert (traces.xyz[0, 0], letters(traces)) == (x, "S" if x == 1 else "T")


def test_lines_may_be_short_or_end_in_carriage_returns_and_blanks() -> None:
    lines = trace(4)
    expected = read(*lines)
    for changed in (
        [line[:54] for line in lines],
        [line + "   " for line in lines],
        [*lines[:-1], lines[-1][:56]],
    ):
        assert np.array_equal(read(*changed).xyz, expected.xyz)
    for content in ("\r\n".join(lines), "\ufeff" + "\n".join(lines)):
        [(_, traces)] = read_file("m.pdb", content.encode())
        assert np.array_equal(traces.xyz, expected.xyz)


def test_models() -> None:
    lines = ("MODEL        7", *trace(2), "ENDMDL", "MODEL  12", "PARENT N/A", *trace(3)[::-1], "TER", "END")
    found = read_file("m.pdb", text(*lines))
    assert [(name, names(traces)) for name, traces in found] == [
        ("7", ["A:1", "A:2"]),
        ("12", ["A:1", "A:2", "A:3"]),
    ]
    assert [name for name, _ in read_file("m.pdb", text("MODEL", *trace(2), "MODEL", *trace(1)))] == [
        "1",
        "2",
    ]


def test_many_models() -> None:
    lines = [line for i in range(200) for line in (f"MODEL {i}", atom(1))]
    assert [name for name, _ in read_file("m.pdb", text(*lines))] == [str(i) for i in range(200)]


GOOD = atom(1)


@pytest.mark.parametrize(
    ("lines", "error"),
    [
        (
            (GOOD, atom(2, (" abc", "1.000", "2.000"))),
            "m.pdb:2: found x '     abc', expected a number in columns 31-38",
        ),
        (
            (atom(2, ("1.000", "nan", "2.000")),),
            "m.pdb:1: found y '     nan', expected a number in columns 39-46",
        ),
        (
            (atom(2, ("1.000", "2.000", "inf")),),
            "m.pdb:1: found z '     inf', expected a number in columns 47-54",
        ),
        ((atom(2, ("********",) * 3),), "found x '********', expected a number in columns 31-38"),
        (
            (atom(2, ("1.000", "2.000", "********"), name=" N  "),),
            "found z '********', expected a number in columns 47",
        ),
        ((atom(2, ("", "", "")),), "found x '        ', expected a number in columns 31-38"),
        (
            (atom(2, ("100001.0", "1.0", "1.0")),),
            "found x '100001.0', expected at most 100,000 Å in columns 31-38",
        ),
        ((atom(2, ("1", "2.0", "3.0")),), "found x '       1', expected a number in columns 31-38"),
        ((atom("    "),), "found residue number '     ', expected a whole number that ends in column 26"),
        ((atom("A000"),), "found residue number 'A000 ', expected a whole number"),
        ((atom(1000, insertion="0"),), "found residue number '10000', expected a whole number"),
        ((atom("1   "),), "found residue number '1    ', expected a whole number"),
        (
            (atom(1, occupancy="   abc"),),
            "found occupancy '   abc', expected a number in columns 55-60, or blanks",
        ),
        ((GOOD.replace("ALA A", "ALAAA"),), "found 'ALAAA' in columns 18-22, expected a residue in 18-20"),
        ((GOOD[:28] + "x" + GOOD[29:],), "found ' x ' in columns 28-30, expected blanks"),
        (
            (atom(1, name="CA  "),),
            "found 'CA  ' in columns 13-16 of residue ALA, expected ' CA ' for an alpha carbon",
        ),
        ((atom(1, name="  CA"),), "found '  CA' in columns 13-16 of residue ALA"),
        ((GOOD, GOOD[:38]), "m.pdb:2: found a line of 38 columns, expected x, y and z in columns"),
        ((GOOD, " " + atom(2)), "m.pdb:2: found ' ATOM     ', expected ATOM or HETATM from column 1 on"),
        ((GOOD, atom(2).lower()), "m.pdb:2: found 'atom      ', expected ATOM or HETATM from column 1 on"),
        (
            (GOOD, atom(2).replace("ATOM  ", "ATOM   ")),
            "m.pdb:2: found y '0   2.00', expected a number in columns 39-46",
        ),
        ((GOOD, atom(2).replace("ATOM  ", "ATOM ")), "its columns are shifted or separated by blanks"),
        (
            ("ATOM 1 CA MET A 1 -7.067 -16.950 3.324 1.00 0.00",),
            "its columns are shifted or separated by blanks",
        ),
        ((GOOD, GOOD), "m.pdb:2: found an alpha carbon of residue A:1 again, expected one per residue"),
        (
            (atom(1, altloc="B"), GOOD, atom(1, altloc="B")),
            "m.pdb:3: found an alpha carbon of residue A:1 with alternative location B again",
        ),
        (
            (atom(2), atom(2, chain="B"), GOOD, atom(2, chain="B")),
            "m.pdb:4: found an alpha carbon of residue B:2 again",
        ),
        ((atom(1, name=" N  "), atom(1, name=" C  ")), "m.pdb: found 2 atoms, none of them an alpha carbon"),
        (
            (atom(1, record="HETATM", residue="HOH", name=" O  "),),
            "m.pdb: found 1 atom, none of them an alpha carbon",
        ),
        ((atom(1, record="HETATM", residue="XYZ"),), "m.pdb: found 1 atom, none of them an alpha carbon"),
        (("REMARK nothing",), "m.pdb: found no ATOM record, expected a structure in PDB format"),
        (
            ("MODEL 1", GOOD, "MODEL 2", atom(1, name=" N  ")),
            "m.pdb:3: found a model with 1 atom, none of them an alpha",
        ),
        (("MODEL 1", "ENDMDL", "MODEL 2", GOOD), "m.pdb:1: found a model with 0 atoms"),
        (
            ("MODEL 1", GOOD, "MODEL 1", GOOD),
            "m.pdb:3: found model 1 again, expected serial numbers that differ",
        ),
        (("MODEL x1", GOOD), "m.pdb:1: found model 'x1', expected a number after MODEL"),
        ((GOOD, "MODEL 1", atom(2)), "m.pdb:2: found MODEL after atoms that are in no model"),
        (("MODEL 1", GOOD, "ENDMDL", atom(2)), "m.pdb:4: found an atom outside the models"),
        ((GOOD, "REMARK \0"), "m.pdb:2: found byte 0x00 in column 8, expected printable ASCII characters"),
        ((GOOD.replace(" 1.000", "\t1.000"),), "found byte 0x09 in column 33, expected printable ASCII"),
    ],
)
def test_faults(lines: tuple[str, ...], error: str) -> None:
    assert error in refused(*lines)


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "m.pdb: found an empty file"),
        (b"\xef\xbb\xbf", "m.pdb: found an empty file"),
        (b"\n", "m.pdb: found no ATOM record"),
        (GOOD.encode().replace(b"ALA", b"\xc3\x85A"), "m.pdb:1: found byte 0xc3 in column 18"),
        (bytes(1000), "m.pdb:1: found byte 0x00 in column 1"),
        ("\r".join(trace(3)).encode(), "carriage returns without newlines"),
    ],
)
def test_faults_of_content(content: bytes, error: str) -> None:
    with pytest.raises(FormatError, match=error):
        read_file("m.pdb", content)


def test_a_remark_may_hold_any_text() -> None:
    [(_, traces)] = read_file("m.pdb", "REMARK 3.8 Å\tapart\n".encode() + text(GOOD))
    assert len(traces.keys) == 1


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "m.pdb").write_bytes(text(*trace(5)))
    assert names(read_file(str(tmp_path / "m.pdb"))[0][1]) == ["A:1", "A:2", "A:3", "A:4", "A:5"]


def test_a_value_that_fills_its_columns_is_not_called_shifted():
    # "1.000", "2.000" and the occupancy are three decimal numbers in a row.
    with pytest.raises(FormatError) as caught:
        read_file("m.pdb", f"{atom(1, ('********', '1.000', '2.000'))}\n".encode())
    assert str(caught.value).endswith("expected a number in columns 31-38")
