"""``rerank label``: labels, tables of several metrics for each item, and structures."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from reference.everything import judged_lists

import rerank as package
from rerank.core.errors import DataNote
from rerank.data.columns.strings import StringColumn


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A store of lists with structures, the second without a native."""
    monkeypatch.chdir(tmp_path)
    bare = {"labels": None, "references": (), "gold": None}
    package.save(replace(judged_lists(1), list_ids=StringColumn.from_strings("abcdefg"), **bare), "m.store")
    return tmp_path


def gdt(store):
    """The labels that structures have in Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        return package.label(package.load(store), "GDT-TS").labels


def test_several_metrics_of_each_item(rerank, nbest):
    asked = ("label", "dev.nbest", "--refs", "dev.ref", "--metric", "WER", "--metric", "CER")
    result = rerank(*asked, "--out", "one.jsonl", code=2)
    assert result.err == "rerank: found 2 metrics, expected one; --per-item FILE writes those of others\n"
    result = rerank(*asked, "--out", "dev.store", "--per-item", "values.tsv")
    assert result.err.endswith("\nrerank: WER of 7 items: -100 to -0, mean -32.14\n")
    assert (nbest / "values.tsv").read_text().splitlines()[:3] == [
        "list\titem\tWER\tCER",
        "0\t1\t25.0\t31.25",
        "0\t2\t0.0\t0.0",
    ]
    assert (
        "named twice: WER, WER" in rerank(*asked[:-1], "WER", "-o", "x.store", "--per-item", "x", code=2).err
    )
    for out, other in (("v.jsonl", "v.jsonl"), ("dev.store", "dev.store/x"), ("v.jsonl", "dev.ref")):
        err = rerank(*asked, "--out", out, "--per-item", other, code=2).err
        assert "write to another place" in err


def test_without_a_file_of_lists_the_values_are_printed(rerank, nbest):
    asked = ("label", "dev.nbest", "--refs", "dev.ref", "--metric", "WER")
    result = rerank(*asked, "--metric", "CER")
    assert result.out.splitlines()[:3] == ["list\titem\tWER\tCER", "0\t1\t25.0\t31.25", "0\t2\t0.0\t0.0"]
    assert result.err.endswith("rerank: WER of 7 items: -100 to -0, mean -32.14\n")
    assert rerank(*asked, "--to", "csv", code=2).err.startswith("rerank: --to csv: not used without --out")
    before = {path.name for path in nbest.iterdir()}
    rerank(*asked, "--per-item", "values.tsv")
    assert {path.name for path in nbest.iterdir()} - before == {"values.tsv"}


def test_structures_give_labels_values_and_counts(rerank, models):
    asked = ("label", "m.store", "-m", "GDT_TS", "-m", "RMSD", "--per-item", "-")
    result = rerank(*asked, "--out", "one.store", "--jobs", 1)
    assert "note: m.store: clashes (CA-CA < 3.6 Å), which may inflate GDT, in " in result.err
    labels = gdt("m.store")
    judged = f"GDT_TS of 18 items: 0 to 100, mean {np.nanmean(labels):.2f}; 1 list unjudged\n"
    assert result.err.endswith(judged)
    lines = [line.split("\t") for line in result.out.splitlines()]
    assert lines[0] == ["list", "item", "GDT_TS", "RMSD", "residues", "native_residues"]
    assert [line[2:] for line in lines if line[0] == "b"] == [["", "", "0", "0"]] * 4
    assert [float(line[2] or "nan") for line in lines[1:]] == pytest.approx(labels, abs=0, nan_ok=True)
    [(rmsd, *residues)] = [line[3:] for line in lines if line[:2] == ["a", "d1"]]
    assert (float(rmsd), residues) == (pytest.approx(3.112718255510448), ["3", "4"])
    assert {line[3] for line in lines if line[4] in "012"} == {""}
    assert rerank(*asked, "--out", "two.store", "--jobs", 2).out == result.out
    table = rerank("label", "m.store", "-m", "GDT", "--out", "m.csv").err
    assert "structures, native structures, counts, subtopics; left out" in table
    refused = rerank("label", "m.store", "-m", "clashes", "--out", "no.store", "--jobs", 2, code=2).err
    assert "--jobs 2: not used by clashes, only to superpose structures" in refused
    names = sorted(path.name for path in (models / "one.store").iterdir())
    assert all(
        (models / "one.store" / name).read_bytes() == (models / "two.store" / name).read_bytes()
        for name in names
    )
    assert "\nGDT-TS|cutoffs:1,2,4,8|norm:native" in rerank("eval", "m.store", "m.store:1").out  # the default


def test_oracles_and_training_take_structures(rerank, models):
    table = rerank("eval", "m.store", "m.store:1", "-m", "GDT", "-m", "oracle9.GDT_TS").out
    rows = [line.split() for line in table.splitlines() if line.startswith("oracle ")]
    best = np.fmax.reduceat(gdt("m.store"), package.load("m.store").offsets[:-1])
    assert rows == [["oracle", *[f"{np.nanmean(best):.2f}"] * 2]]  # both metrics side by side
    result = rerank("train", "--data", "m.store", "--label", "GDT-TS", "--learner", "ridge", "--out", "model")
    assert (models / "model").exists()
    assert result.code == 0


def test_a_store_keeps_counts_and_needs_no_text(rerank, nbest):
    asked = ("label", "dev.nbest", "--refs", "dev.ref", "--metric", "sBLEU", "--out")
    rerank(*asked, "dev.store")
    lists = package.load("dev.store")
    assert lists.counts["BLEU"].dtype == np.int32
    package.save(replace(lists, texts=None, references=()), "bare.store")
    train = ("train", "--learner", "mert", "--metric", "BLEU", "--set", "restarts=2", "--data")
    rerank(*train, "dev.nbest", "--refs", "dev.ref", "--out", "a.model")
    rerank(*train, "bare.store", "--out", "b.model")
    weights = [package.load_model(name).weights.tolist() for name in ("a.model", "b.model")]
    assert weights[0] == weights[1]
    assert "counts" not in rerank(*asked, "dev.jsonl").err
