"""Metrics of assemblies against their slow twins, against DockQ, by hand, and from the command line."""

import gc
import importlib
import itertools
import warnings

import numpy as np
import pytest
from reference import assemblies, atoms

from rerank import load
from rerank.core.errors import DataError, DataNote
from rerank.extensions.proteins.atoms import docking, interfaces
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.labelling import label

NAMES = ("DockQ", "fnat", "iRMSD", "LRMSD", "ICS", "IPS", "QS")
pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")


@pytest.fixture
def values(tmp_path):
    """The metrics of a model by name."""

    def of(model, native, **options):
        path = atoms.write(tmp_path / "model.pdb", model)
        lists = load(path, native=atoms.write(tmp_path / "native.pdb", native), match="sequence", **options)
        return {judge.name: float(judge.own_values()[0]) for judge in prepare_all(lists, NAMES)}

    return of


@pytest.mark.parametrize(
    ("plan", "seed"), [(p, s) for p in ("xx", "xy", "xxx", "xxyy", "xxz") for s in range(2)]
)
def test_values_are_those_of_the_slow_twin(values, plan, seed):
    rng = np.random.default_rng(seed)
    native = atoms.assembly(rng, plan)
    model = atoms.jumbled(native, rng, noise=(0.4, 2.5)[seed])
    found, expected = values(model, native), assemblies.metrics(model, native)
    assert found == pytest.approx(expected, abs=1e-9, nan_ok=True)
    assert expected["DockQ"] > 0.1


def test_a_native_as_its_own_model_is_perfect_under_any_names(values):
    rng = np.random.default_rng(3)
    native = atoms.assembly(rng, "xxyy")
    names = dict(zip("ABCD", "BADC", strict=True))
    model = dict(sorted(atoms.renamed(atoms.moved(native, rng), names).items()))
    found = values(model, native)
    assert found == pytest.approx(dict.fromkeys(NAMES, 1.0) | {"iRMSD": 0, "LRMSD": 0}, abs=2e-3)


def test_models_with_fewer_or_more_chains(values):
    rng = np.random.default_rng(4)
    native = atoms.assembly(rng, "xxx")
    two = {key: one for key, one in native.items() if key[0] != "B"}
    found = values(two, native)
    twin = assemblies.metrics(two, native)
    assert found == pytest.approx(twin, nan_ok=True)
    n = sum(1 for a, b in itertools.combinations("ABC", 2) if _touch(native, a, b))
    assert found["DockQ"] == pytest.approx(1 / n)  # of n interfaces one is there
    assert np.isnan(found["iRMSD"])
    one = {key: one for key, one in native.items() if key[0] == "A"}
    more = native | atoms.renamed(atoms.moved(one, rng), {"A": "Z"})
    assert values(more, native)["DockQ"] == pytest.approx(1.0)
    assert values(one, native) == pytest.approx(
        dict.fromkeys(NAMES, 0.0) | {"iRMSD": np.nan, "LRMSD": np.nan}, nan_ok=True
    )


def _touch(structure, a, b):
    chains = assemblies.by_chain(structure)
    return bool(assemblies.pairs_within(chains[a], chains[b], 5))


def test_other_numbers_insertion_codes_and_missing_residues(values):
    rng = np.random.default_rng(5)
    native = atoms.assembly(rng, "xy", n=14)
    model = atoms.jumbled(native, rng, noise=1.0)
    expected = values(model, native)
    shifted = {(chain, number + 100, "C"): one for (chain, number, _), one in model.items()}
    assert values(shifted, native) == pytest.approx(expected, abs=1e-9)


def test_residues_restrict_the_native(values):
    rng = np.random.default_rng(6)
    native = atoms.assembly(rng, "xy", n=12)
    model = atoms.jumbled(native, rng, noise=0.5)
    half = {key: one for key, one in native.items() if key[1] <= 7}
    found = values(atoms.renamed(model, _names(model, native)), native, residues="A:1-7,B:1-7")
    assert found == pytest.approx(assemblies.metrics(model, half), abs=1e-9)


def _names(model, native):
    """The native's names for the chains of a model."""
    mapping, _, _ = assemblies.best_mapping(assemblies.by_chain(native), assemblies.by_chain(model))
    return {x: a for a, x in mapping.items()}


def test_natives_without_contact_are_not_judged(tmp_path):
    rng = np.random.default_rng(7)
    apart = atoms.made_chain(rng, "A", 8) | atoms.made_chain(rng, "B", 8, at=(99.0, 0, 0))
    path = atoms.write(tmp_path / "one.pdb", apart)
    lists = load(path, native=path)
    with pytest.warns(DataNote, match=r"1 list not judged by DockQ \('one'\): the native has no two chains"):
        assert not parse("DockQ").prepare(lists).judged.any()
    with pytest.raises(DataError, match="DockQ judges none of 1 list"):
        label(lists, "DockQ")


def test_the_search_finds_the_mapping_where_there_are_too_many(values, monkeypatch):
    rng = np.random.default_rng(8)
    native = atoms.assembly(rng, "xxxxx", n=7)
    model = atoms.jumbled(native, rng, noise=0.3)
    exact = values(model, native)
    monkeypatch.setattr(docking, "MOST", 3)
    with pytest.warns(DataNote, match="1 model with too many assignments of chains to try all"):
        assert values(model, native) == pytest.approx(exact)


def test_counts_stay_with_a_set_and_alpha_carbons_are_refused(tmp_path):
    rng = np.random.default_rng(9)
    native = atoms.assembly(rng, "xx")
    path = atoms.write(tmp_path / "m.pdb", atoms.jumbled(native, rng, noise=1.0))
    lists = load(path, native=atoms.write(tmp_path / "n.pdb", native), match="sequence")
    label(lists, "ICS", out=str(tmp_path / "kept.store"))
    label(lists, "lDDT-CA", out=str(tmp_path / "bare.store"))
    kept = load(str(tmp_path / "kept.store"))
    for name in NAMES:
        judge = parse(name).prepare(kept)
        assert judge.own_values() == pytest.approx(parse(name).prepare(lists).own_values(), nan_ok=True)
    with pytest.raises(DataError, match="holds alpha carbons alone, expected all atoms"):
        parse("DockQ").prepare(load(str(tmp_path / "bare.store")))
    bare = {key: (name, {"CA": own["CA"]}) for key, (name, own) in native.items()}
    trace = atoms.write(tmp_path / "trace.pdb", bare)
    with pytest.raises(DataError, match="the native has alpha carbons alone, expected all atoms"):
        parse("DockQ").prepare(load(path, native=trace, match="sequence"))
    whole = load(trace, native=str(tmp_path / "n.pdb"), match="sequence")
    with pytest.warns(DataNote, match="1 model of alpha carbons alone"):
        assert parse("fnat").prepare(whole).own_values()[0] < 0.5
    label(lists, ["DockQ", "lDDT"], out=str(tmp_path / "both.store"), per_item=str(tmp_path / "both.tsv"))
    both = load(str(tmp_path / "both.store"))
    assert parse("lDDT").prepare(both).own_values() == pytest.approx(
        parse("lDDT").prepare(lists).own_values()
    )


@pytest.mark.parametrize(("plan", "seed"), [("xx", 0), ("xy", 1), ("xxy", 2), ("xxyy", 3)])
def test_values_are_those_of_the_package(tmp_path, plan, seed):
    """DockQ of PyPI in the same run."""
    try:
        peer = importlib.import_module("DockQ.DockQ")
    except ImportError as error:
        pytest.skip(f"needs the package DockQ: {error}")
    rng = np.random.default_rng(seed)
    native = atoms.assembly(rng, plan, n=12)
    model = atoms.jumbled(native, rng, noise=1.5)
    pair = {"model": model, "native": native}
    paths = [atoms.write(tmp_path / f"{name}.pdb", one) for name, one in pair.items()]
    lists = load(paths[0], native=paths[1], match="sequence")
    found = {judge.name: float(judge.own_values()[0]) for judge in prepare_all(lists, NAMES)}
    ours, theirs = _loaded(peer, paths)
    chains = [[chain.id for chain in one] for one in (ours, theirs)]
    clusters, reverse = peer.group_chains(ours, theirs, *chains)
    maps = peer.get_all_chain_maps(clusters, {}, reverse, *chains)
    results, total = max(
        (peer.run_on_all_native_interfaces(ours, theirs, m) for m in maps), key=lambda one: one[1]
    )
    n = len(results)
    assert found["DockQ"] == pytest.approx(total / n, abs=1e-4)
    for name in ("fnat", "iRMSD", "LRMSD"):
        assert found[name] == pytest.approx(sum(one[name] for one in results.values()) / n, abs=1e-4)


def _loaded(peer, paths):
    """Structures as the package reads them; it leaves files open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        found = [peer.load_PDB(path) for path in paths]
        gc.collect()
    return found


def test_from_the_command_line(rerank, tmp_path):
    rng = np.random.default_rng(10)
    native = atoms.assembly(rng, "xy")
    folder = tmp_path / "models"
    folder.mkdir()
    atoms.write(tmp_path / "native.pdb", native)
    for k in range(3):
        model = atoms.renamed(atoms.jumbled(native, rng, noise=0.2 + k), {"Q": "A", "R": "B"})
        atoms.write(folder / f"m{k}.pdb", dict(sorted(model.items())))
    metrics = [word for name in NAMES for word in ("-m", name)]
    outputs = ["--out", tmp_path / "x.store", "--per-item", tmp_path / "x.tsv"]
    rerank("label", folder, "--native", tmp_path / "native.pdb", "--match", "sequence", *metrics, *outputs)
    rows = [line.split("\t") for line in (tmp_path / "x.tsv").read_text().splitlines()]
    assert rows[0][2:9] == list(NAMES)
    dockq = [float(row[2]) for row in rows[1:]]
    assert dockq[0] > dockq[2]
    (tmp_path / "scores").write_text("3\n2\n1\n")
    out = rerank("eval", tmp_path / "x.store", tmp_path / "scores", *metrics).out
    assert f"{dockq[0]:.4f}" in out
    assert "DockQ|interface:10|mean:interfaces|contact:5|mapping:DockQ|no_structure:0" in out
    assert "iRMSD|interface:10|mean:interfaces|contact:5|mapping:DockQ|no_structure:worst" in out
    assert load(str(tmp_path / "x.store")).counts["superposition.interfaces"].shape[1] == interfaces.WIDTH
