#!/usr/bin/env python3
"""Make the set of data/structures-tiny: natives and models of made-up proteins, and scores of the models.

A target is a trace of alpha carbons 3.8 Å apart: ideal helices and strands, joined by turns that are drawn
until the chain is compact and free of clashes. Its sequence is drawn. Its models, by what is wrong with them:

fine, fair, rough   little, some and much noise in the chain's angles.
hinge               one turn is bent; both sides of it are right.
shift               from the middle on, a residue stands where the native has the one after the next.
partial             the last third of the chain is missing; the rest is fine.
wrong               the same helices and strands in another, looser fold.
dense               the wrong fold with its helices, strands and turns drawn together until they overlap.
mirror              the mirror image of the native: all distances are right, its helices are left-handed.

Each model is rotated and moved at random. scores.csv has three scores of every model, as methods give them
that do not know the native; they are drawn here from how much of the native's distances a model keeps:

network    little noise.
contacts   much noise, and no sense for mirror images.
template   some noise; the method failed on one target and on some models, whose cells are empty.

Needs the standard library only.

    python scripts/make_structures.py [--out DIR]
"""

from __future__ import annotations

import argparse
import csv
import math
import random
import re
from dataclasses import dataclass
from pathlib import Path

SEED = 5
BOND, NO_CLASH = 3.8, 4.2  # Å: distance of neighbours, least distance of others
TRIES = {"native": 400, "wrong": 5}
IDEAL = {"H": (91.0, 50.0), "E": (124.0, -170.0)}  # virtual bond angles and dihedrals, in degrees
KEPT = (0.5, 1.0, 2.0, 4.0)  # Å: tolerances of distances
REACH = 15.0  # Å: distances that count
SHRINK = 0.7  # of the distances of helices, strands and turns from the centre
CODES = "ALACYSASPGLUPHEGLYHISILELYSLEUMETASNPROGLNARGSERTHRVALTRPTYR"
NAMES = {letter: CODES[3 * i : 3 * i + 3] for i, letter in enumerate("ACDEFGHIKLMNPQRSTVWY")}
LETTERS = {"H": "AAEEKKLLLMQRIVHC", "E": "VVIIYYFFTTWCLKRE", "T": "GGNNDDPPSSTKAHQ"}

Point = tuple[float, float, float]
Angles = list[tuple[float, float]]


@dataclass(frozen=True)
class Target:
    """A native's helices (H), strands (E) and turns (T), its first number, and residues that it lacks."""

    name: str
    plan: str
    first: int = 1
    lacks: tuple[int, ...] = ()


TARGETS = (
    Target("hairpin", "H13 T4 H13"),
    Target("bundle", "H11 T4 H10 T4 H11", lacks=(13, 14)),
    Target("meander", "E7 T3 E7 T3 E7 T3 E6"),
    Target("domains", "H11 T3 H9 T5 E6 T3 E6", first=21),
    Target("mixed", "E6 T4 H11 T4 E6", first=101),
)


def minus(a: Point, b: Point) -> Point:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


def plus(a: Point, b: Point) -> Point:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def combined(shares: Point, axes: tuple[Point, Point, Point], scale: float = 1.0) -> Point:
    """Return the sum of three axes, each times its share and the scale."""
    x, y, z = (
        scale * sum(share * axis[k] for share, axis in zip(shares, axes, strict=True)) for k in range(3)
    )
    return x, y, z


def cross(a: Point, b: Point) -> Point:
    return a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]


def unit(a: Point) -> Point:
    length = math.hypot(*a)
    return a[0] / length, a[1] / length, a[2] / length


def mean(points: list[Point]) -> Point:
    x, y, z = (sum(axis) / len(points) for axis in zip(*points, strict=True))
    return x, y, z


def chain_of(angles: Angles) -> list[Point]:
    """Return the positions of a chain; entry i has the angle at residue i - 1 and the dihedral up to i."""
    points: list[Point] = [(0.0, 0.0, 0.0), (BOND, 0.0, 0.0)]
    theta = math.radians(angles[2][0])
    points.append((BOND - BOND * math.cos(theta), BOND * math.sin(theta), 0.0))
    for angle, dihedral in angles[3:]:
        a, b, c = points[-3:]
        x = unit(minus(c, b))
        z = unit(cross(minus(b, a), x))
        y = cross(z, x)
        theta, tau = math.radians(angle), math.radians(dihedral)
        along, up, side = -math.cos(theta), math.sin(theta) * math.cos(tau), math.sin(theta) * math.sin(tau)
        points.append(plus(c, combined((along, up, side), (x, y, z), BOND)))
    return points


def closest(points: list[Point]) -> float:
    """Return the smallest distance of residues that are not neighbours."""
    return min(math.dist(a, b) for i, a in enumerate(points) for b in points[i + 2 :])


def spread(points: list[Point]) -> float:
    """Return the sum of squared distances from the centre."""
    centre = mean(points)
    return sum(math.dist(point, centre) ** 2 for point in points)


def fold(rng: random.Random, states: str, tries: int) -> Angles:
    """Return the angles of the most compact of a number of chains, of those without clashes."""
    found: list[tuple[float, Angles]] = []
    while tries > 0 or not found:
        tries -= 1
        turns = [(rng.uniform(90.0, 130.0), rng.uniform(-180.0, 180.0)) for _ in states]
        angles = [IDEAL.get(state, turn) for state, turn in zip(states, turns, strict=True)]
        points = chain_of(angles)
        if closest(points) >= NO_CLASH:
            found.append((spread(points), angles))
    return min(found)[1]


def perturbed(rng: random.Random, angles: Angles, degrees: float) -> list[Point]:
    """Return the first chain without clashes with noise in its angles."""
    while True:
        noisy = [(a + 0.3 * degrees * rng.gauss(0, 1), d + degrees * rng.gauss(0, 1)) for a, d in angles]
        points = chain_of(noisy)
        if closest(points) >= NO_CLASH:
            return points


def bent(rng: random.Random, angles: Angles, states: str) -> list[Point]:
    """Return the chain with one turn bent near its middle."""
    turn = min((i for i, state in enumerate(states) if state == "T"), key=lambda i: abs(2 * i - len(states)))
    while True:
        by = rng.choice((-1, 1)) * rng.uniform(60.0, 120.0)
        points = chain_of([(a, d + by * (i == turn)) for i, (a, d) in enumerate(angles)])
        if closest(points) >= NO_CLASH:
            return points


def drawn_together(points: list[Point], states: str) -> list[Point]:
    """Return a chain whose parts of one state are moved towards its centre as they are."""
    centre, out = mean(points), []
    for part in re.finditer(r"H+|E+|T+", states):
        x, y, z = minus(centre, mean(points[part.start() : part.end()]))
        by = ((1 - SHRINK) * x, (1 - SHRINK) * y, (1 - SHRINK) * z)
        out += [plus(point, by) for point in points[part.start() : part.end()]]
    return out


def models_of(rng: random.Random, angles: Angles, states: str) -> dict[str, dict[int, Point]]:
    """Return the models of a native by name: the position of each residue that a model has."""
    native = chain_of(angles)
    wrong = chain_of(fold(rng, states, TRIES["wrong"]))
    n = len(native)
    chains = {
        "fine": perturbed(rng, angles, 1.0),
        "fair": perturbed(rng, angles, 4.0),
        "rough": perturbed(rng, angles, 12.0),
        "hinge": bent(rng, angles, states),
        "shift": native[: n // 2] + native[n // 2 + 2 :],
        "partial": perturbed(rng, angles, 1.0)[: 2 * n // 3],
        "wrong": wrong,
        "dense": drawn_together(wrong, states),
        "mirror": [(x, y, -z) for x, y, z in native],
    }
    return {name: dict(enumerate(points)) for name, points in chains.items()}


def kept_distances(model: dict[int, Point], native: dict[int, Point]) -> float:
    """Return the share of the native's distances up to REACH that a model keeps, averaged over KEPT."""
    kept, total = 0, 0
    for i, a in native.items():
        for j, b in native.items():
            if j <= i + 2 or math.dist(a, b) > REACH:
                continue
            total += len(KEPT)
            if i in model and j in model:
                error = abs(math.dist(model[i], model[j]) - math.dist(a, b))
                kept += sum(error < tolerance for tolerance in KEPT)
    return kept / total


def moved(rng: random.Random, points: dict[int, Point]) -> dict[int, Point]:
    """Return a structure after a rotation and a translation that are drawn."""
    x = unit((rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1)))
    z = unit(cross(x, (rng.gauss(0, 1), rng.gauss(0, 1), rng.gauss(0, 1))))
    axes = (x, cross(z, x), z)
    by = (rng.uniform(-30.0, 30.0), rng.uniform(-30.0, 30.0), rng.uniform(-30.0, 30.0))
    return {i: plus(combined(point, axes), by) for i, point in points.items()}


def pdb(points: dict[int, Point], sequence: str, first: int) -> str:
    """Return a trace as the text of a PDB file, in chain A."""
    lines = [
        f"ATOM  {serial:5d}  CA  {NAMES[sequence[i]]} A{first + i:4d}    "
        f"{x:8.3f}{y:8.3f}{z:8.3f}  1.00  0.00           C"
        for serial, (i, (x, y, z)) in enumerate(points.items(), 1)
    ]
    return "\n".join([*lines, "TER", "END"]) + "\n"


def scores_of(rng: random.Random, quality: float, name: str) -> dict[str, float]:
    """Return the scores of a model that keeps a share ``quality`` of the native's distances."""
    seen = 0.3 * quality if name == "mirror" else quality
    return {
        "network": seen + 0.05 * rng.gauss(0, 1),
        "contacts": quality + 0.25 * rng.gauss(0, 1),
        "template": seen + 0.12 * rng.gauss(0, 1),
    }


def main() -> None:
    """Write natives/NAME.pdb, models/NAME/MODEL.pdb and scores.csv."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "data" / "structures-tiny")
    out: Path = parser.parse_args().out
    rng = random.Random(SEED)
    rows: list[dict[str, str]] = []
    (out / "natives").mkdir(parents=True, exist_ok=True)
    for number, target in enumerate(TARGETS):
        states = "".join(state * int(n) for state, n in re.findall(r"([HET])(\d+)", target.plan))
        sequence = "".join(rng.choice(LETTERS[state]) for state in states)
        angles = fold(rng, states, TRIES["native"])
        native = {i: point for i, point in enumerate(chain_of(angles)) if i not in target.lacks}
        (out / "natives" / f"{target.name}.pdb").write_text(pdb(native, sequence, target.first), "ascii")
        folder = out / "models" / target.name
        folder.mkdir(parents=True, exist_ok=True)
        for name, points in models_of(rng, angles, states).items():
            model = moved(rng, points)
            (folder / f"{name}.pdb").write_text(pdb(model, sequence, target.first), "ascii")
            scores = scores_of(rng, kept_distances(model, native), name)
            row = {key: f"{value:.3f}" for key, value in scores.items()}
            if number == 3 or rng.random() < 0.1:
                row["template"] = ""
            rows.append({"target": target.name, "model": name, **row})
    with open(out / "scores.csv", "w", encoding="ascii", newline="") as file:
        table = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


if __name__ == "__main__":
    main()
