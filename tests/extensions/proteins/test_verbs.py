"""From coordinates and scores to a ranking: data/structures-tiny as it lies in the repository."""

import shutil

import pytest
from command_line import ROOT

from rerank import load

TINY = ROOT / "data" / "structures-tiny"
MODELS, NATIVES = TINY / "models", TINY / "natives"


def by_name(lists, values) -> dict[tuple[str, str], float]:
    """Return values of items by the names of list and item."""
    names = [lists.list_ids[i] for i in lists.list_index]
    return dict(zip(zip(names, lists.item_ids, strict=True), values, strict=True))


@pytest.fixture
def label(rerank, tmp_path):
    """Label data with a metric; return the labels by list and item, and the messages."""

    def run(data, native, metric="GDT-TS", *options):
        out = tmp_path / "labelled.store"
        shutil.rmtree(out, ignore_errors=True)
        result = rerank("label", data, "--native", native, "--metric", metric, "--out", out, *options)
        lists = load(out)
        return by_name(lists, lists.labels), result.err

    return run


def test_labels_order_the_models_by_what_was_done_to_them(label):
    gdt, messages = label(MODELS, NATIVES)
    assert len(gdt) == 45
    assert messages.count("note:") == messages.count("clashes (CA-CA") == 1
    for target in ("bundle", "domains", "hairpin", "meander", "mixed"):
        value = {name: gdt[target, name] for list_, name in gdt if list_ == target}
        assert value["fine"] >= value["fair"] > value["rough"] > value["wrong"] > 25
        assert value["fine"] > 90 > value["partial"] > 60
    rmsd, _ = label(MODELS, NATIVES, "RMSD")
    for target in ("bundle", "domains"):
        # A hinge and what is missing: the RMSD sees only the former, the GDT both.
        assert abs(rmsd[target, "partial"]) < 0.5 < 4 < abs(rmsd[target, "hinge"])
        assert abs(gdt[target, "partial"] - gdt[target, "hinge"]) < 10


def test_a_domain_of_a_bent_model_is_right(label):
    whole, _ = label(MODELS / "domains", NATIVES / "domains.pdb")
    domain, _ = label(MODELS / "domains", NATIVES / "domains.pdb", "GDT-TS", "--residues", "21-43")
    assert whole["domains", "hinge"] < 60 < 100 == domain["domains", "hinge"]


def test_a_native_as_its_own_model_has_the_best_value_of_all(label):
    for metric, best in (("GDT-TS", 100), ("GDT-HA", 100), ("TM", 1), ("coverage", 1)):
        found, _ = label(NATIVES / "mixed.pdb", NATIVES / "mixed.pdb", metric)
        assert found == {("mixed", "mixed"): best}


def renumbered(path, by):
    """Return a PDB file's text with all residue numbers shifted."""
    lines = path.read_text("ascii").splitlines()
    return "".join(
        f"{line[:22]}{int(line[22:26]) + by:4d}{line[26:]}\n" if line.startswith("ATOM") else f"{line}\n"
        for line in lines
    )


def test_numbers_that_are_shifted_are_never_a_silent_value(label, tmp_path):
    (tmp_path / "shifted.pdb").write_text(renumbered(MODELS / "bundle" / "fair.pdb", 10))
    native = NATIVES / "bundle.pdb"
    _, printed = label(tmp_path / "shifted.pdb", native)
    assert "shifted by 10 (too high): --match sequence matches 38 residues" in printed
    right, _ = label(MODELS / "bundle" / "fair.pdb", native)
    found, _ = label(tmp_path / "shifted.pdb", native, "GDT-TS", "--match", "sequence")
    assert list(found.values()) == list(right.values())
