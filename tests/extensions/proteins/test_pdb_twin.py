"""The PDB reader against a slow twin on random files and on damaged ones, and against gemmi on real ones."""

import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import pdb as twin
from small_structures import atom

from rerank.core.errors import FormatError
from rerank.data.columns.traces import key_of
from rerank.extensions.proteins.sources import files_of, read_file

RESIDUES = ("ALA", "MSE", "CYS", "DUM", "XYZ", " CA", "G  ", "HISD", "CGLU", "POPC", "ALAX")
OTHERS = (
    "TER", "END", "REMARK   1", "MODRES 1ABC DUM A    4  TRP", "ENDMDL", "", "ATOMS", "HETNAM", "atom",
    "MODEL  9  REFINED",
)  # fmt: skip


def random_lines(draw: random.Random) -> list[str]:
    """A file with a bit of everything; often without a fault."""
    lines = []
    n = draw.randint(0, 12)
    numbers = sorted(draw.choices(range(-3, 20), k=n)) if draw.random() < 0.5 else range(n)
    for number in numbers:
        lines.append(
            atom(
                number,
                tuple(round(draw.uniform(-99, 999), 3) for _ in range(3)),
                name=draw.choices((" CA ", " N  ", "CA  "), (9, 3, 0.2))[0],
                residue=draw.choices(RESIDUES, (9, 2, 2, 1, 1, 0.3, 0.3, 1, 1, 1, 0.2))[0],
                chain=draw.choice("AB "),
                insertion=draw.choices(" B", (9, 1))[0],
                altloc=draw.choices(" AB", (8, 2, 2))[0],
                occupancy=draw.choice(("  1.00", "  0.50", "", "  0.25")),
                record=draw.choices(("ATOM  ", "HETATM"), (6, 1))[0],
                rest=draw.choice(("", "  0.00           C  ", "\r")),
            )
        )
    if draw.random() < 0.3:
        lines.insert(0, "MODEL        1")
        lines.insert(draw.randint(1, len(lines)), "MODEL        2")
    for _ in range(draw.choice((0, 0, 1, 2))):
        lines.insert(draw.randint(0, len(lines)), draw.choice(OTHERS))
    return lines


def damaged(draw: random.Random, text: str) -> str:
    """The text with some characters replaced, dropped or added."""
    for _ in range(draw.choice((0, 0, 1, 1, 2))):
        at = draw.randrange(len(text) + 1)
        text = (
            text[:at] + draw.choice(" .-01A*\t\n\x7fé") * draw.randint(0, 2) + text[at + draw.randint(0, 2) :]
        )
    return text


def outcome(text: str) -> tuple[twin.FaultError | None, list]:
    """The fault that the twin finds, or the models that it reads."""
    try:
        return None, twin.read(text)
    except twin.FaultError as fault:
        return fault, []


@settings(max_examples=250, deadline=None)
@given(st.integers(0, 10**9))
def test_equal_to_the_twin(seed: int) -> None:
    draw = random.Random(seed)
    text = damaged(draw, "\n".join(random_lines(draw)) + "\n")
    fault, expected = outcome(text)
    if fault is not None:
        with pytest.raises(FormatError) as caught:
            read_file("m.pdb", text.encode("latin-1"))
        assert caught.value.line == fault.line
        return
    found = read_file("m.pdb", text.encode("latin-1"))
    assert [name for name, _ in found] == [name for name, _ in expected]
    for (_, traces), (_, residues) in zip(found, expected, strict=True):
        assert traces.keys.tolist() == [key for key, _, _ in residues]
        assert traces.xyz.tolist() == [list(xyz) for _, xyz, _ in residues]
        assert traces.residues.tobytes().decode() == "".join(letter for _, _, letter in residues)


def test_equal_to_gemmi_on_real_files(shared_data: Path) -> None:
    gemmi = pytest.importorskip("gemmi")
    files = [one for one in files_of(str(shared_data / "gdt" / "pdb.tar.gz")) if ".pdb" in one[0]]
    assert len(files) > 100
    for name, content in files:
        [(_, traces)] = read_file(name, content)
        expected = {}
        for chain in gemmi.read_pdb_string(bytes(content))[0]:
            for residue in chain:
                for one in residue:
                    if one.name == "CA":
                        key = key_of(chain.name, residue.seqid.num, residue.seqid.icode.strip())
                        expected[key] = (one.pos.tolist(), gemmi.find_tabulated_residue(residue.name))
        assert traces.keys.tolist() == sorted(expected)
        assert np.allclose(traces.xyz, [expected[key][0] for key in sorted(expected)], rtol=0, atol=1e-9)
        letters = [expected[key][1].one_letter_code.upper() for key in sorted(expected)]
        assert traces.residues.tobytes().decode() == "".join(letters)


def test_a_million_atoms() -> None:
    """So many that anything quadratic would not end."""
    rng = random.Random(2)
    body = [atom(i % 9999 + 1, chain=chr(33 + i // 9999), serial=i % 99999) for i in range(100_000)]
    rng.shuffle(body)
    lines = [line for i in range(10) for line in (f"MODEL {i}", *body)]
    found = read_file("m.pdb", "\n".join(lines).encode())
    assert [len(traces.keys) for _, traces in found] == [100_000] * 10
