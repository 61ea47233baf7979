"""Scores that a system lacks: what takes their place, what is reported, and whole lists without any."""

import warnings

import numpy as np
import pytest
from scipy import stats

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.data.reading import Reading
from rerank.evaluation.evaluate import compare_files, evaluate_files

# List 1 has all scores, list 2 lacks that of one model, list 3 has none. The first model is never the best.
TABLE = """target,model,energy,full,GDT_TS
1,a,-3,1,10
1,b,-1,2,30
1,c,-2,3,20
2,a,,1,40
2,b,-4,2,60
2,c,-2,3,50
3,a,,1,70
3,b,,2,90
3,c,,3,80
"""
NAMES = ["label@1", "loss@1", "casp-z@1", "Pearson"]


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "models.csv"
    path.write_text(TABLE)
    return str(path)


def evaluated(table, policy=None, systems=(":energy",), metrics=NAMES, **options):
    """Values of each list by metric, the notes, and the signatures."""
    reading = Reading(missing=policy, id_column="model")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = evaluate_files(table, list(systems), list(metrics), reading=reading, samples=5, **options)
    notes = [str(one.message) for one in caught if one.category is DataNote]
    return found, [note for note in notes if note.startswith(":")]


def rows(found, system=":energy"):
    return [found.list_values(system, name).tolist() for name in NAMES]


def pearson(scores, labels):
    return pytest.approx(stats.pearsonr(scores, labels).statistic)


def test_what_takes_the_place_of_a_missing_score(table):
    nothing = (
        ":energy: returned nothing of 1 of 3 judged lists; each counts 0 (label@1, Pearson), as its worst "
    )
    nothing += "item (loss@1), as the floor (casp-z@1)"
    chosen = {None: 50.0, "nan": 50.0, "zero": 40.0, "list-mean": 50.0}
    filled = {None: -4.0, "nan": -4.0, "zero": 0.0, "list-mean": -3.0}
    for policy, label in chosen.items():
        found, notes = evaluated(table, policy)
        labels, losses, _, correlations = rows(found)
        assert labels == [30.0, label, 0.0]
        assert losses == [0.0, 60.0 - label, 20.0]
        assert correlations[1] == pearson([filled[policy], -4.0, -2.0], [40, 60, 50])
        assert correlations[2] == 0.0
        (partly,) = (note for note in notes if "no score" in note)
        assert partly.startswith(":energy: no score for 1 item in 1 of 3 judged lists; ")
        assert nothing in notes
        for info in found.metrics.values():
            assert ("|missing:" in info.signature) == (policy in ("zero", "list-mean"))
            assert info.signature.split("|")[-2] == "missing_lists:any"
    assert ("taken as 0" in partly) == (policy == "zero")


def test_a_list_without_any_score_is_never_filled(table):
    """With one value for all, ties would choose its first model."""
    for policy in ("nan", "zero", "list-mean"):
        found, _ = evaluated(table, policy, missing_lists="skip", systems=(":energy", ":full"))
        assert (found.n_lists, found.list_keys()) == (2, [("", "1"), ("", "2")])
        assert rows(found, ":full")[0] == [20.0, 50.0]


def test_a_missing_score_as_an_error(table):
    message = r":energy: no score for 4 of 9 items, the first is list '2', item 'a'; --missing nan"
    with pytest.raises(DataError, match=message):
        evaluated(table, "error")
    found, notes = evaluated(table, "error", systems=(":full",))  # what other columns lack does not matter
    assert not notes
    assert "missing" not in found.metrics["Pearson"].signature
    for policy in ("mean", "indicator"):
        with pytest.raises(
            ConfigError, match=f"missing={policy} is fitted by 'rerank train'; expected error, nan"
        ):
            evaluated(table, policy)


def test_scores_by_ids_lack_rows_or_have_empty_cells(table, tmp_path):
    gone, empty = tmp_path / "gone.csv", tmp_path / "empty.csv"
    lines = "target,model,score\n1,a,1\n1,b,2\n1,c,3\n2,b,1\n2,c,2\n3,c,1\n3,a,2\n3,b,3\n"
    gone.write_text(lines)
    empty.write_text(lines + "2,a,\n")
    with pytest.raises(DataError, match=r"empty\.csv: list '2', item 'a' has no score; --missing nan ranks"):
        evaluated(table, systems=(str(empty),))
    one, _ = evaluated(table, "list-mean", systems=(str(gone),))
    other, _ = evaluated(table, "list-mean", systems=(str(empty),))
    assert rows(one, str(gone)) == rows(other, str(empty))
    assert rows(one, str(gone))[3][1] == pearson([1.5, 1, 2], [40, 60, 50])


def test_python_and_compare_take_the_same_policies(table):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        lists = rerank.load(table, missing="nan")
        for policy, label in (("nan", 50.0), ("zero", 40.0)):
            want = (30.0 + label) / 3
            for data in (table, lists):
                assert rerank.evaluate(data, "energy", "label@1", missing=policy)["label@1"] == want
                systems = {"e": "energy", "f": "full"}
                pair = rerank.compare(data, systems, "label@1", missing=policy, samples=5).pairs["label@1"][0]
                assert pair.value_a == want
            reading = Reading(missing=policy)
            pair = compare_files(table, [":energy", ":full"], ["label@1"], reading=reading, samples=5)
            assert pair.pairs["label@1"][0].value_a == want
        with pytest.raises(ConfigError, match="unknown missing 'zeros'; did you mean 'zero'"):
            rerank.evaluate(lists, "energy", "label@1", missing="zeros")
        found = rerank.evaluate(lists, "energy", "label@1", missing="zero")
        assert "missing:zero" in found.signatures["label@1"]


def test_judgements_alone_have_no_items_to_fill(tmp_path):
    qrels, run = tmp_path / "q.txt", tmp_path / "a.run"
    qrels.write_text("1 0 a 1\n1 0 b 0\n")
    run.write_text("1 Q0 a 1 1.0 t\n")
    with pytest.raises(ConfigError, match="have no rank"):
        rerank.evaluate({"1": {"a": 1, "b": 0}}, {"1": {"a": 1.0}}, ["AP"], missing="zero")
    with pytest.raises(ConfigError, match="--missing"):
        evaluate_files(str(qrels), [str(run)], ["AP"], reading=Reading(missing="zero"))


def test_scores_of_other_items_are_not_filled(table, tmp_path):
    """An item that DATA lacks and a table of scores has is no item without a score for the other systems."""
    more = tmp_path / "more.csv"
    more.write_text("target,model,score\n" + "".join(f"{i},{m},1\n" for i in (1, 2, 3) for m in "abcd"))
    found, notes = evaluated(table, "zero", systems=(":full", str(more)), metrics=["label@1", "Pearson"])
    assert not [note for note in notes if "no score" in note]
    assert found.list_values(":full", "label@1").tolist() == [20.0, 50.0, 80.0]
    assert np.isfinite(found.list_values(":full", "Pearson")).all()


def test_the_note_on_missed_lists_knows_labels_below_0(tmp_path):
    """label@1 counts such a list as an unjudged item, which is not 0 then."""
    path = tmp_path / "models.csv"
    path.write_text(TABLE.replace(",70", ",-70"))
    found, notes = evaluated(str(path), metrics=["label@1", "Kendall"])
    assert found.list_values(":energy", "label@1").tolist() == [30.0, 50.0, -70.0]
    said = "each counts 0 or its lowest label below 0 (label@1), 0 (Kendall)"
    assert any(note.endswith(said) for note in notes)


@pytest.mark.parametrize("option", [{"missing": "zero"}, {"missing_lists": "skip"}])
def test_predicted_classes_have_no_missing_scores(option):
    lists = rerank.CandidateLists.from_arrays([[1.0], [2.0]], classes=["a", "b"])
    with pytest.raises(ConfigError, match=f"^{next(iter(option))}: not used for examples with classes$"):
        rerank.evaluate(lists, ["a", "a"], "zero-one", **option)
