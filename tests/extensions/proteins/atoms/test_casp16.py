"""casp16 against the formula of the assessors, and its measures against those of the metrics."""

import numpy as np
import pytest
from reference import atoms

from rerank import load
from rerank.core.errors import DataNote
from rerank.extensions.proteins.atoms import casp16
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.labelling import label

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")


@pytest.fixture
def lists(tmp_path):
    """Models of a dimer whose chains have the native's names: some good, one bad, one of another protein."""
    rng = np.random.default_rng(1)
    native = atoms.assembly(rng, "xy", n=12)
    folder = tmp_path / "models"
    folder.mkdir()
    for k in range(9):
        atoms.write(folder / f"m{k}.pdb", atoms.moved(native, rng, noise=6.0 if k == 4 else 0.1 + 0.15 * k))
    atoms.write(folder / "other.pdb", atoms.made_chain(rng, "A", 12, sequence=["GLY"] * 12))
    return load(str(folder), native=atoms.write(tmp_path / "native.pdb", native))


def z_scores(values, floor):
    """As the assessors' scripts have them, for values of models that are there."""
    first = (values - values.mean()) / values.std(ddof=1)
    kept = values[first >= -2]
    return np.maximum((values - kept.mean()) / kept.std(ddof=1), floor)


@pytest.mark.parametrize("floor", [0, -2])
def test_the_value_is_the_mean_of_six_z_scores(lists, floor):
    measures = ("QS", "ICS", "IPS", "DockQ", "TM", "lDDT")
    own = np.array([judge.own_values() for judge in prepare_all(lists, measures)])
    n = lists.n_items - 1  # the last one is of another protein
    assert parse("coverage").prepare(lists).own_values()[n] > 0
    expected = np.mean([z_scores(values[:n], floor) for values in own], axis=0)
    judge = parse(f"casp16(floor={floor})").prepare(lists)
    assert judge.own_values()[:n] == pytest.approx(expected, abs=1e-9)
    assert judge.own_values()[n] == floor
    assert judge.nothing[0].tolist() == [floor, 1.0]
    counts = judge.counts["superposition.casp16"][:n]
    assert counts[:, casp16.TM] == pytest.approx(own[4][:n], abs=1e-9)
    assert counts[:, casp16.LDDT] == pytest.approx(own[5][:n], abs=1e-9)


def test_names_of_chains_do_not_matter_and_counts_are_kept(lists, tmp_path):
    rng = np.random.default_rng(2)
    native = atoms.assembly(rng, "xx", n=10)
    folder = tmp_path / "jumbled"
    folder.mkdir()
    for k in range(4):
        atoms.write(folder / f"m{k}.pdb", atoms.jumbled(native, rng, noise=0.3 + k))
    given = load(str(folder), native=atoms.write(tmp_path / "n.pdb", native), match="sequence")
    values = parse("casp16").prepare(given).own_values()
    assert np.argmax(values) == 0
    label(given, "casp16", out=str(tmp_path / "kept.store"))
    kept = load(str(tmp_path / "kept.store"))
    assert kept.labels == pytest.approx(values)
    assert parse("casp16(floor=-2)").prepare(kept).own_values() == pytest.approx(
        parse("casp16(floor=-2)").prepare(given).own_values()
    )


def test_equal_models_and_natives_of_one_chain(tmp_path):
    rng = np.random.default_rng(3)
    native = atoms.assembly(rng, "xy")
    folder = tmp_path / "same"
    folder.mkdir()
    for k in range(3):
        atoms.write(folder / f"m{k}.pdb", native)
    lists = load(str(folder), native=str(folder / "m0.pdb"))
    assert parse("casp16").prepare(lists).own_values().tolist() == [0, 0, 0]
    one = atoms.write(
        tmp_path / "one.pdb", {key: residue for key, residue in native.items() if key[0] == "A"}
    )
    with pytest.warns(DataNote, match="not judged by casp16"):
        assert not parse("casp16").prepare(load(one, native=one)).judged.any()
