"""lDDT against its slow twin, by hand, and from the command line."""

from dataclasses import replace

import numpy as np
import pytest
from reference import atoms
from reference.everything import column_of

import rerank
from rerank import load
from rerank.core.errors import DataError, DataNote
from rerank.core.workers import parallel
from rerank.data.columns.traces import key_of
from rerank.data.lists import CandidateLists
from rerank.extensions.proteins.atoms import lddt
from rerank.metrics.base import parse
from rerank.metrics.labelling import label

SYMMETRIC = ["ASP", "GLU", "LEU", "VAL", "ARG", "PHE", "TYR"]


def values(lists, name):
    return parse(name).prepare(lists).own_values()


@pytest.fixture
def pair(tmp_path):
    """Write a model and a native; return the lists of them."""

    def write(model, native, **options):
        for name, one in (("model", model), ("native", native)):
            (tmp_path / f"{name}.pdb").write_text(atoms.pdb_text(one))
        return load(str(tmp_path / "model.pdb"), native=str(tmp_path / "native.pdb"), **options)

    return write


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_the_value_is_that_of_the_slow_twin(pair, seed):
    rng = np.random.default_rng(seed)
    native = atoms.made_chain(rng, "A", 25) | atoms.made_chain(rng, "B", 8, at=(5.0, 0, 0))
    model = atoms.moved(native, rng, noise=float(rng.choice([0.1, 0.5, 1.5])))
    for key in list(model):
        name, own = model[key]
        for a, b in atoms.SWAPPED.get(name, []) * bool(rng.random() < 0.5):
            own[a], own[b] = own[b], own[a]
        if rng.random() < 0.1:
            del model[key]
        elif rng.random() < 0.2 and len(own) > 4:
            del own[list(own)[-1]]
    for key in list(native):
        if rng.random() < 0.2 and len(native[key][1]) > 5:  # a half of a symmetric pair may be missing, too
            del native[key][1][list(native[key][1])[-1]]
    lists = pair(model, native)
    assert values(lists, "lDDT") == pytest.approx([atoms.lddt(model, native)], abs=1e-12)
    assert values(lists, "lDDT-CA") == pytest.approx([atoms.lddt(model, native, alpha=True)], abs=1e-12)


def test_names_of_symmetric_atoms_do_not_matter(pair):
    rng = np.random.default_rng(1)
    native = atoms.made_chain(rng, "A", 14, sequence=[*SYMMETRIC, *SYMMETRIC])
    swapped = atoms.moved(native, rng)
    for name, own in swapped.values():
        for a, b in atoms.SWAPPED[name]:
            own[a], own[b] = own[b], own[a]
    assert values(pair(swapped, native), "lDDT").tolist() == [1.0]
    one = atoms.moved(native, rng)
    own = one["A", 6, ""][1]  # only one of the two pairs of a ring: not the same atoms
    own["CD1"], own["CD2"] = own["CD2"], own["CD1"]
    assert values(pair(one, native), "lDDT")[0] < 1.0


def test_by_hand():
    def lists_of(model, native):
        lists = CandidateLists.from_arrays(np.zeros((1, 1)), group=[1])
        columns = [[(key_of("A", k + 1), xyz) for k, xyz in enumerate(one)] for one in (model, native)]
        return lists.with_structures(traces=column_of(columns[:1]), natives=column_of(columns[1:]))

    # Distances 10, 14 and (not counted) 24; the model has 10.5 (kept at four thresholds) and 17 (at one).
    lists = lists_of([[0, 0, 0], [10.5, 0, 0], [27.5, 0, 0]], [[0, 0, 0], [10, 0, 0], [24, 0, 0]])
    assert values(lists, "lDDT-CA").tolist() == [(4 + 1) / 8]
    # A missing residue keeps nothing.
    lists = lists_of([[0, 0, 0], [10, 0, 0]], [[0, 0, 0], [10, 0, 0], [24, 0, 0]])
    assert values(lists, "lDDT-CA").tolist() == [0.5]
    # No distance: not judged.
    with pytest.warns(DataNote, match="1 list not judged by lDDT-CA"):
        assert np.isnan(values(lists_of([[0, 0, 0]], [[0, 0, 0]]), "lDDT-CA")).all()


def test_residues_that_count_and_other_numbering(pair):
    rng = np.random.default_rng(4)
    native = atoms.made_chain(rng, "A", 20)
    model = atoms.moved(native, rng, noise=0.4)
    shifted = {(chain, number + 30, "B"): one for (chain, number, _), one in model.items()}
    half = {key: one for key, one in native.items() if key[1] <= 12}
    whole, part = atoms.lddt(model, native), atoms.lddt(model, half)
    assert values(pair(shifted, native, match="sequence"), "lDDT") == pytest.approx([whole], abs=1e-12)
    assert values(pair(model, native, residues="1-12"), "lDDT") == pytest.approx([part], abs=1e-12)


def test_in_python_of_alpha_carbons():
    native = np.cumsum(np.random.default_rng(1).normal(0, 2.2, (15, 3)), axis=0)
    assert rerank.metrics.lddt_ca([native + 7, native], [native, native]) == 1.0
    with pytest.warns(DataNote, match="with alpha carbons alone"):
        assert rerank.metrics.lddt([native], [native]) == 1.0


def test_counts_stay_with_a_set_and_fit_its_structures(pair, tmp_path):
    rng = np.random.default_rng(5)
    native = atoms.made_chain(rng, "A", 10)
    lists = pair(atoms.moved(native, rng, noise=1.0), native)
    value = float(values(lists, "lDDT")[0])
    label(lists, "lDDT", out=str(tmp_path / "kept.store"))
    label(lists, "lDDT-CA", out=str(tmp_path / "bare.store"))
    kept = load(str(tmp_path / "kept.store"))
    assert kept.labels.tolist() == [value]
    assert values(kept, "lDDT").tolist() == [value]
    # A store keeps alpha carbons: without counts these are all there is, and that is said.
    with pytest.warns(DataNote, match="the set, not its files, with alpha carbons alone"):
        alone = values(load(str(tmp_path / "bare.store")), "lDDT")
    assert alone == pytest.approx([atoms.lddt(*(dict(one) for one in _read(tmp_path)), alpha=True)])
    bad = kept.counts["superposition.lddt"] * -1
    with pytest.raises(DataError, match="saved counts of lDDT are of no structures"):
        values(replace(kept, counts={"superposition.lddt": bad}), "lDDT")
    assert kept.with_structures(natives=kept.natives).counts == {}


def _read(folder):
    return [atoms.read((folder / f"{name}.pdb").read_text()) for name in ("model", "native")]


def test_files_of_alpha_carbons_are_noted(pair):
    rng = np.random.default_rng(8)
    native = atoms.made_chain(rng, "A", 10)
    model = atoms.moved(native, rng)
    bare = {key: (name, {"CA": own["CA"]}) for key, (name, own) in native.items()}
    with pytest.warns(DataNote, match=r"natives with alpha carbons alone \('model'\): lDDT counts only"):
        assert values(pair(model, bare), "lDDT").tolist() == [1.0]
    moved = {key: (name, {"CA": own["CA"]}) for key, (name, own) in model.items()}
    assert values(pair(moved, native), "lDDT")[0] < 0.2  # the other atoms are missing


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_workers_change_nothing(tmp_path, monkeypatch):
    rng = np.random.default_rng(6)
    native = atoms.made_chain(rng, "A", 10)
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "models.pdb").write_text(atoms.pdb_text(native))
    for k in range(5):
        (folder / f"m{k}.pdb").write_text(atoms.pdb_text(atoms.moved(native, rng, noise=k / 3)))
    lists = load(str(folder), native=str(tmp_path / "models.pdb"))
    once = values(lists, "lDDT")
    assert once[0] == 1.0
    assert (np.diff(once) < 0).all()
    monkeypatch.setattr(lddt, "_ITEMS", 1)
    with parallel.using(2):
        assert values(lists, "lDDT").tolist() == once.tolist()
