"""Results and reports of folders: their numbers, what is left out, and what does not belong together."""

import csv
import json
import shutil
from io import StringIO

import numpy as np
import pytest
from experiments.conftest import CONFIG, lists_of
from scipy import stats
from small_judging import evaluate, of_systems

from rerank import ConfigError, DataError, RerankError, save
from rerank.core.records import read_json
from rerank.core.tables.data import to_json
from rerank.core.tables.display import FORMS
from rerank.experiments.folder import CellRecord, read_run
from rerank.experiments.reporting import read_report, report_files, results_of
from rerank.experiments.run import run


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """A folder with two folds, an experiment with an ablation, and its results in ``out``."""
    root = tmp_path_factory.mktemp("source")
    for k, fold in enumerate("ab"):
        (root / f"fold{fold}").mkdir()
        for j, part in enumerate(("train", "dev", "test")):
            save(lists_of(10 * k + j), str(root / f"fold{fold}" / f"{part}.letor"), "svmlight")
    (root / "run.yaml").write_text(f"{CONFIG}train_fractions: [50, 100]\n")
    assert not run(root / "run.yaml", root / "out").failed
    return root


@pytest.fixture
def out(source, tmp_path, monkeypatch):
    """A copy of the results, to be changed."""
    shutil.copytree(source / "out", tmp_path / "out")
    monkeypatch.chdir(tmp_path)
    return tmp_path / "out"


def cells_of(out, **wanted):
    return [c for c in read_run(out).cells if all(getattr(c, key) == value for key, value in wanted.items())]


def rewritten(out, cell, **changes):
    """Change a record."""
    path = out / "cells" / cell.key / "record.json"
    record = CellRecord.from_json(read_json(path.read_bytes()))
    path.write_text(to_json(record.with_fields(**changes).as_json()))


def test_results_are_those_of_the_cells(out):
    results = results_of(out, samples=50)
    assert (results.name, tuple(results.metrics), results.baseline) == ("run", ("AP", "nDCG@3"), "ridge")
    assert (results.fraction, results.fractions) == (100, (50, 100))
    assert [part.name for part in results.parts] == ["a", "b"]
    seeds = {row: [o.seed for o in results.runs_of(row)[0]] for row in results.runs}
    assert seeds == {"random": [1, 2], "ridge": [None], "perceptron": [1, 2]}
    assert [o.seed for o in results.runs_of("ridge", 50)[0]] == [1, 2]
    assert set(results.runs_of("ridge")[0][0].chosen) == {"penalty"}
    folder = read_run(out)
    summary = results
    for row in results.runs:
        for share in (50, 100):
            found = summary.metrics["AP"].rows[row][share]
            for cell in cells_of(out, row=row, share=share):
                k, s = "ab".index(cell.fold), found.seeds.index(cell.seed)
                assert found.values[k][s] == folder.record(cell).values["AP"].value
                known = folder.record(cell).values["AP"].per_list
                if len(found.seeds) == 1:
                    part = results.list_values(row, "AP", share)[8 * k : 8 * (k + 1)]
                    np.testing.assert_array_equal(part, known)


def test_a_row_of_one_fold_is_an_evaluation(out):
    folder = read_run(out)
    (cell,) = cells_of(out, row="ridge", fold="a", share=100)
    lists = folder.test("a")
    expected = evaluate(lists, {"ridge": folder.scores(cell)}, ["AP"])
    alone = of_systems(lists, {"ridge": folder.scores(cell)}, ["AP"])
    assert alone.metrics["AP"].rows["ridge"][100].ci == expected.systems["ridge"]["AP"].ci


def test_other_metrics_are_judged_without_training(out):
    results = results_of(out, ["RR", "P@1"], baseline="random")
    assert (tuple(results.metrics), results.baseline) == (("RR", "P@1"), "random")
    with pytest.raises(ConfigError, match="did you mean"):
        results_of(out, ["nDGC"])
    with pytest.raises(DataError, match="BLEU needs the candidates' texts"):
        results_of(out, ["BLEU"])


def test_incomplete_rows_are_left_out_with_a_note(out):
    for cell in cells_of(out, row="perceptron", fold="b", share=50):
        shutil.rmtree(out / "cells" / cell.key)
    results = results_of(out)
    assert list(results.runs) == ["random", "ridge"]
    assert results.notes[0] == "perceptron: 2 of 8 cells are missing, left out"
    with pytest.raises(ConfigError, match="baseline 'perceptron': not all of its cells are there"):
        results_of(out, baseline="perceptron")
    with pytest.raises(ConfigError, match="unknown baseline 'perceptrn'"):
        results_of(out, baseline="perceptrn")
    (cell,) = cells_of(out, row="ridge", fold="a", share=100)
    shutil.rmtree(out / "cells" / cell.key)
    (out / "failed" / f"{cell.key}.log").write_text("error: x\n")
    results = results_of(out)
    assert "ridge: 1 of 6 cells are missing (1 failed), left out" in results.notes
    assert "no tests: the baseline ridge is not complete" in results.notes
    assert results.baseline is None
    assert "no tests" in read_report(out).text()
    shutil.rmtree(out / "cells")
    with pytest.raises(DataError, match="no row is complete; 'rerank run' does what is missing"):
        results_of(out)


def test_what_does_not_belong_together_is_refused(out):
    first, second = cells_of(out, row="perceptron", fold="a", share=100)
    other = cells_of(out, row="perceptron", fold="b", share=100)[0]
    path = out / "cells" / first.key
    kept = path / "record.json", (path / "record.json").read_text()
    rewritten(out, first, seed=7)
    with pytest.raises(DataError, match=r"\(perceptron, fold a\): found a record of .*seed 7"):
        results_of(out)
    kept[0].write_text(kept[1])
    rewritten(out, first, test=read_run(out).record(other).test)
    with pytest.raises(DataError, match="found test lists of fingerprint"):
        results_of(out)
    kept[0].write_text(kept[1])
    shutil.copy(out / "cells" / cells_of(out, row="random", fold="a")[0].key / "scores.npy", path)
    with pytest.raises(DataError, match="found other scores than the record has; remove the cell"):
        results_of(out)
    shutil.copy(out / "cells" / second.key / "record.json", path)
    with pytest.raises(DataError, match="found a record of key"):
        results_of(out)


def test_cells_of_another_experiment_are_not_seen(out):
    before = read_report(out).text("json")
    shutil.copytree(out / "cells" / read_run(out).cells[0].key, out / "cells" / "0123456789abcdef")
    assert read_report(out).text("json") == before


def test_a_metric_that_was_tuned_and_is_reported_alone_is_noted(out):
    note = "AP is the only metric reported, and settings were chosen by it"
    assert note in results_of(out, ["AP"]).notes
    assert note in results_of(out, ["MAP"]).notes
    assert note not in results_of(out, ["nDCG@3"]).notes
    assert note not in results_of(out).notes


def test_what_cannot_show_anything_is_noted(out):
    assert results_of(out, ["P(rel=3)@1"]).notes == (
        "nothing is relevant for P(rel=3)@1: the largest label is 2; "
        "P(rel=...) sets the smallest relevant one",
    )
    one, other = cells_of(out, row="perceptron", fold="a", share=100), cells_of(out, row="random", fold="a")
    known = read_run(out).record(one[0])
    shutil.copy(out / "cells" / one[0].key / "scores.npy", out / "cells" / other[0].key)
    for cell in other:
        if cell.key != other[0].key:
            shutil.copy(out / "cells" / one[0].key / "scores.npy", out / "cells" / cell.key)
        rewritten(out, cell, scores=known.scores, values=known.values)
    assert "perceptron: ranks every list as random does (fold a)" in results_of(out).notes


def test_notes_of_cells_name_their_rows(out):
    for cell in cells_of(out, row="ridge"):
        rewritten(out, cell, notes=("odd",))
    assert "odd (ridge)" in results_of(out).notes
    for cell in read_run(out).cells:
        rewritten(out, cell, notes=("odd",))
    assert "odd (all rows)" in results_of(out).notes


@pytest.mark.parametrize("form", FORMS)
def test_every_form_has_the_same_bytes_twice(out, form):
    assert read_report(out, samples=50).text(form) == read_report(read_run(out), samples=50).text(form)
    assert read_report(out, samples=50).text(form).endswith("\n")


def test_csv_has_every_value(out):
    found = read_report(out, samples=50)
    lines = list(csv.DictReader(StringIO(found.text("csv"))))
    summary = found.results[0]
    for metric, of in summary.metrics.items():
        for row, shares in of.rows.items():
            for share, expected in shares.items():
                own = [x for x in lines if (x["metric"], x["row"], x["share"]) == (metric, row, str(share))]
                (whole,) = [x for x in own if not x["fold"]]
                assert float(whole["value"]) == expected.value
                assert (float(whole["low"]), float(whole["high"])) == expected.ci
                singles = [x for x in own if x["fold"]]
                assert [float(x["value"]) for x in singles] == [v for fold in expected.values for v in fold]
                pair = of.against(row, "ridge") if share == 100 else None
                assert whole["against"] == ("ridge" if pair else "")
                if pair is not None:
                    assert float(whole["difference"]) == pair.difference
                    assert float(whole["holm"]) == pair.holm
    pairs = list(csv.DictReader(StringIO(read_report(out, samples=50, all_pairs=True).text("csv"))))
    assert sum(bool(line["against"]) for line in pairs) == 2 * 3


def test_json_has_values_tests_and_choices(out):
    found = read_report(out, samples=50)
    plain = json.loads(found.text("json"))
    assert plain == json.loads(json.dumps(found.as_json()))
    (one,) = plain["sets"]
    of = one["metrics"]["AP"]
    expected = found.results[0].metrics["AP"]
    (row,) = [r for r in of["rows"] if (r["name"], r["share"]) == ("perceptron", 100)]
    assert row["value"] == expected.rows["perceptron"][100].value
    assert row["sd_seeds"] == expected.rows["perceptron"][100].sd_seeds
    assert of["pairs"] == json.loads(json.dumps([pair.as_json() for pair in expected.pairs]))
    assert {choice["row"] for choice in one["choices"]} == {"ridge", "perceptron"}
    assert "costs" not in one
    costs = read_report(out, costs=True).as_json()["sets"][0]["costs"]
    assert [cost["row"] for cost in costs] == ["random", "ridge", "perceptron"]
    assert costs[1]["cells"] == 2


def test_text_shows_shares_seeds_choices_and_costs(out):
    text = read_report(out, costs=True, samples=50).text(choices=True)
    assert text.startswith("run: 2 folds, 16 test lists, ")
    for words in (
        *("ridge (baseline)", "difference from ridge", "AP by share of the training lists", "50 %"),
        *("sd: standard deviation over seeds", "within each fold", "penalty=", "x ridge"),
    ):
        assert words in text
    found = read_report(out, all_pairs=True, samples=50)
    assert "difference from" not in found.text()
    assert "Holm's correction for 3 tests" in found.text()
    assert str(found) == found.text().rstrip("\n")


def test_lost_times_are_reported(out):
    (cell,) = cells_of(out, row="ridge", fold="a", share=100)
    (out / "timings" / f"{cell.key}.json").unlink()
    assert "no times of ridge" in read_report(out, costs=True).text()


@pytest.mark.parametrize(
    ("form", "more", "message"),
    [
        ("html", {}, "unknown form 'html'"),
        ("json", {"choices": True}, "--choices: JSON always has them"),
        ("csv", {"choices": True}, "--choices: not part of csv"),
        ("latex", {"costs": True}, "--costs: not part of latex"),
        ("text", {"all_pairs": True, "baseline": "ridge"}, "--all-pairs tests every two rows"),
        ("text", {"out": "out"}, "out: is a folder, expected a file"),
        ("text", {"out": "out/experiment.json"}, "--out: out/experiment.json is one of the input files"),
        ("text", {"out": "a", "per_list": "a"}, "--per-list: a is the output of --out"),
    ],
)
def test_wrong_use(out, form, more, message):
    with pytest.raises(RerankError, match=message):
        report_files(["out"], form, **more)


def test_what_is_no_folder_of_results(out, tmp_path):
    with pytest.raises(RerankError, match=r"absent: found nothing without experiment\.json"):
        read_report("absent")
    with pytest.raises(ConfigError, match="out is the same folder as out; expected each once"):
        read_report(["out", "out"])
    with pytest.raises(ConfigError, match="found no results"):
        read_report([])


def several(source, tmp_path, change=""):
    """Two sets: the results, and those of the same rows on other test lists."""
    shutil.copytree(source / "out", tmp_path / "one")
    text = (source / "run.yaml").read_text().replace("[a, b]", "[a]")
    text = text.replace("test: fold{fold}", "test: foldc")
    text = text.replace("  random:\n", f"  random:\n{change}")
    for fold in "ab":
        shutil.copytree(source / f"fold{fold}", tmp_path / f"fold{fold}")
    (tmp_path / "foldc").mkdir()
    save(lists_of(99), str(tmp_path / "foldc" / "test.letor"), "svmlight")
    (tmp_path / "other.yaml").write_text(text)
    assert not run(tmp_path / "other.yaml", tmp_path / "two").failed
    return [tmp_path / "one", tmp_path / "two"]


def test_ranks_over_several_sets(source, tmp_path):
    folders = several(source, tmp_path)
    found = read_report(folders, samples=20)
    assert [one.name for one in found.results] == ["run", "other"]
    ranks = found.ranks["AP"]
    assert ranks.sets == ("run", "other")
    values = [[one.metrics["AP"].rows[row][100].value for row in one.runs] for one in found.results]
    means = stats.rankdata(-np.array(values), axis=1).mean(axis=0)
    assert ranks.average == dict(zip(found.results[0].runs, means.tolist(), strict=True))
    assert "AP: average ranks over run, other" in found.text()
    assert "average ranks" in found.text("markdown")
    assert found.as_json()["ranks"]["AP"]["sets"] == ("run", "other")
    rows = list(found.per_list())
    assert {row[0] for row in rows} == {"run", "other"}


def test_sets_with_other_rows_or_lists_are_noted(source, tmp_path):
    folders = several(source, tmp_path, "  best-feature:\n")
    notes = read_report(folders, samples=5).notes
    assert notes == ("ranks leave out rows that are not in every set: best-feature",)
    shutil.copytree(folders[0], tmp_path / "again")
    found = read_report([folders[0], tmp_path / "again"], samples=5)
    assert found.notes[0].endswith("share test lists, so that they are not independent sets")
    assert [one.name for one in found.results] == [str(tmp_path / "one"), str(tmp_path / "again")]


def test_rows_with_other_settings_or_shares_are_noted(source, tmp_path):
    folders = several(source, tmp_path)
    text = (tmp_path / "other.yaml").read_text()
    text = text.replace("{epochs: 3}", "{epochs: 2}").replace("[50, 100]", "[50]")
    (tmp_path / "other.yaml").write_text(text)
    run(tmp_path / "other.yaml", tmp_path / "three")
    assert read_report([folders[0], tmp_path / "three"], samples=5).notes == (
        "rows with other settings in another set: perceptron",
        "sets are compared at other shares of the training lists: run 100 %, other 50 %",
    )


def test_few_common_rows_have_no_ranks(source, tmp_path):
    folders = several(source, tmp_path)
    for cell in read_run(folders[1]).cells:
        if cell.row == "random":
            shutil.rmtree(folders[1] / "cells" / cell.key)
    found = read_report(folders, samples=5)
    assert found.ranks == {}
    assert found.notes == ("no ranks: 2 rows are in every set, expected 3 or more",)


def test_metrics_may_state_their_ties(source, tmp_path):
    text = CONFIG.replace("[AP, nDCG@3]", "['AP|ties:input', RR]")
    (source / "ties.yaml").write_text(text)
    run(source / "ties.yaml", out=tmp_path / "ties")
    found = read_report([tmp_path / "ties"]).results[0].metrics["AP"]
    assert "ties:input" in found.signature
    for path in (tmp_path / "ties").glob("cells/*/record.json"):
        assert "ties:input" in json.loads(path.read_text())["values"]["AP"]["signature"]
