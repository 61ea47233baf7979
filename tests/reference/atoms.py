"""Made-up proteins with all atoms, PDB files of them, a slow reader of these, and slow twins of metrics.

A structure is a dictionary of residues, {(chain, number, insertion): (name, {atom: position})}.
"""

import itertools
import math

import numpy as np

SIDE_CHAINS = {
    "GLY": (),
    "ALA": ("CB",),
    "SER": ("CB", "OG"),
    "VAL": ("CB", "CG1", "CG2"),
    "ASP": ("CB", "CG", "OD1", "OD2"),
    "LEU": ("CB", "CG", "CD1", "CD2"),
    "GLU": ("CB", "CG", "CD", "OE1", "OE2"),
    "LYS": ("CB", "CG", "CD", "CE", "NZ"),
    "ARG": ("CB", "CG", "CD", "NE", "CZ", "NH1", "NH2"),
    "PHE": ("CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ"),
    "TYR": ("CB", "CG", "CD1", "CD2", "CE1", "CE2", "CZ", "OH"),
}
BACKBONE = ("N", "CA", "C", "O")
SWAPPED = {
    "ASP": [("OD1", "OD2")],
    "GLU": [("OE1", "OE2")],
    "LEU": [("CD1", "CD2")],
    "VAL": [("CG1", "CG2")],
    "ARG": [("NH1", "NH2")],
    "PHE": [("CD1", "CD2"), ("CE1", "CE2")],
    "TYR": [("CD1", "CD2"), ("CE1", "CE2")],
}


def made_chain(rng, chain, n, first=1, at=(0.0, 0.0, 0.0), sequence=None):
    """A chain of ``n`` residues along a compact walk that begins near ``at``."""
    names = list(SIDE_CHAINS) if sequence is None else sequence
    alpha = np.asarray(at, dtype=float)
    direction, out = rng.normal(size=3), {}
    for k in range(n):
        direction = 0.5 * direction / np.linalg.norm(direction) + rng.normal(size=3) - 0.15 * (alpha - at)
        alpha = alpha + 3.8 * direction / np.linalg.norm(direction)
        name = names[k] if sequence is not None else str(rng.choice(names))
        atoms = {"CA": alpha}
        for atom in ("N", "C", "O"):
            atoms[atom] = alpha + rng.normal(0, 0.8, 3)
        place = alpha
        for atom in SIDE_CHAINS[name]:
            place = place + rng.normal(0, 0.8, 3)
            atoms[atom] = place
        out[chain, first + k, ""] = (
            name,
            {atom: np.round(atoms[atom], 3) for atom in (*BACKBONE, *SIDE_CHAINS[name])},
        )
    return out


def moved(structure, rng, noise=0.0, turned=True):
    """A copy with noise, turned and moved."""
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn = turn * np.sign(np.linalg.det(turn)) if turned else np.eye(3)
    by = rng.normal(0, 20, 3) * turned
    return {
        key: (
            name,
            {atom: np.round((xyz + rng.normal(0, noise, 3)) @ turn + by, 3) for atom, xyz in atoms.items()},
        )
        for key, (name, atoms) in structure.items()
    }


def pdb_line(serial, key, name, atom, xyz, altloc=" ", occupancy=1.0, record="ATOM"):
    chain, number, insertion = key
    x, y, z = xyz
    place = f"{chain or ' '}{number:4d}{insertion or ' '}   "
    field, element = " " * (len(atom) < 4) + atom, atom.lstrip("0123456789")[0]
    return (
        f"{record:<6}{serial % 99999:5d} {field:<4}{altloc}{name:>3} {place}"
        f"{x:8.3f}{y:8.3f}{z:8.3f}{occupancy:6.2f}  0.00          {element:>2}\n"
    )


def pdb_text(structure):
    lines = []
    for key, (name, atoms) in structure.items():
        lines += [pdb_line(len(lines) + 1, key, name, atom, xyz) for atom, xyz in atoms.items()]
    return "".join([*lines, "END\n"])


def cif_text(structure):
    heads = "group_PDB id type_symbol label_atom_id label_alt_id label_comp_id auth_asym_id auth_seq_id"
    heads += " pdbx_PDB_ins_code Cartn_x Cartn_y Cartn_z occupancy"
    lines = ["data_made", "loop_", *(f"_atom_site.{head}" for head in heads.split())]
    for (chain, number, insertion), (name, atoms) in structure.items():
        for atom, (x, y, z) in atoms.items():
            lines.append(
                f"ATOM {len(lines)} {atom[0]} {atom} . {name} {chain} {number} {insertion or '?'}"
                f" {x:.3f} {y:.3f} {z:.3f} 1.0"
            )
    return "\n".join([*lines, "#\n"])


def read(text):
    """The structure of a PDB file: of alternative locations the first with the highest occupancy."""
    out, best = {}, {}
    for line in text.splitlines():
        if not line.startswith(("ATOM", "HETATM")):
            continue
        atom = line[12:16].strip()
        if atom.lstrip("0123456789")[0] in "HD":
            continue
        key = (line[21].strip(), int(line[22:26]), line[26].strip())
        xyz = np.array([float(line[at : at + 8]) for at in (30, 38, 46)])
        rank = (-float(line[54:60]), line[16])
        if rank < best.get((key, atom), (1.0, "")):
            best[key, atom] = rank
            out.setdefault(key, (line[17:20].strip(), {}))[1][atom] = xyz
    return {key: residue for key, residue in out.items() if "CA" in residue[1]}


def assembly(rng, plan, n=9):
    """Chains A, B, ... around a centre; equal letters of the plan are equal sequences."""
    kinds = {kind: [str(name) for name in rng.choice(list(SIDE_CHAINS), n)] for kind in sorted(set(plan))}
    out = {}
    for k, kind in enumerate(plan):
        angle = 2 * np.pi * k / len(plan)
        at = 3.5 / np.sin(np.pi / len(plan)) * np.array([np.cos(angle), np.sin(angle), 0.0])
        length = n - ord(kind) % 3
        out |= made_chain(rng, "ABCDEFGH"[k], length, at=at, sequence=kinds[kind][:length])
    return out


def renamed(structure, names):
    return {(names[chain], *rest): one for (chain, *rest), one in structure.items()}


def jumbled(structure, rng, noise):
    """A model: noise, chains with other names and moved a little, residues and atoms missing."""
    chains = sorted({key[0] for key in structure})
    names = dict(zip(chains, rng.permutation([f"{c}" for c in "QRSTUVWX"[: len(chains)]]), strict=True))
    by = {chain: rng.normal(0, noise, 3) for chain in chains}
    model = {
        key: (name, {atom: xyz + by[key[0]] for atom, xyz in own.items()})
        for key, (name, own) in structure.items()
        if rng.random() < 0.93
    }
    model = renamed(moved(model, rng, noise=noise / 2), names)
    for _, own in model.values():
        if rng.random() < 0.1:
            own.pop("O", None)
    return dict(sorted(model.items()))


def write(path, structure):
    """Write a PDB file; return its path."""
    path.write_text(pdb_text(structure))
    return str(path)


def lddt(model, native, alpha=False):
    """lDDT from every pair of atoms; residues are matched by key. NaN without a distance."""
    wanted = {key: [a for a in atoms if not alpha or a == "CA"] for key, (_, atoms) in native.items()}
    positions = {
        (key, atom): model[key][1][atom]
        for key, atoms in wanted.items()
        for atom in {*atoms, *itertools.chain(*SWAPPED.get(native[key][0], []))}
        if key in model and atom in model[key][1]
    }
    ambiguous = {
        (key, atom)
        for key, (name, atoms) in native.items()
        for pair in SWAPPED.get(name, [])
        for atom in pair
        if atom in atoms and not alpha
    }
    pairs = []
    for (key, atoms), (other, others) in itertools.combinations(wanted.items(), 2):
        for a, b in itertools.product(atoms, others):
            distance = math.dist(native[key][1][a], native[other][1][b])
            if distance < 15:
                pairs.append(((key, a), (other, b), distance))

    def kept(where, of):
        total = 0
        for a, b, distance in of:
            if a in where and b in where:
                total += sum(abs(distance - math.dist(where[a], where[b])) <= t for t in (0.5, 1, 2, 4))
        return total

    fixed = dict(positions)
    for key, (name, _) in native.items():
        swaps = [] if alpha else SWAPPED.get(name, [])
        swaps = [(a, b) for a, b in swaps if (key, a) in positions and (key, b) in positions]
        own = {(key, atom) for pair in swaps for atom in pair}
        of = [
            pair
            for pair in pairs
            if (pair[0] in own and pair[1] not in ambiguous) or (pair[1] in own and pair[0] not in ambiguous)
        ]
        swapped = dict(positions)
        for a, b in swaps:
            swapped[key, a], swapped[key, b] = positions[key, b], positions[key, a]
        if kept(swapped, of) > kept(positions, of):
            fixed |= {atom: swapped[atom] for atom in own}
    return kept(fixed, pairs) / (4 * len(pairs)) if pairs else math.nan
