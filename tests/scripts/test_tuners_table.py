"""The table of tuners, on small sets in the form of the shared ones."""

from __future__ import annotations

import re

import numpy as np
import pytest
import tuners_table
from text_lists.sets import TASKS, load_part
from tuners_table import Outcome, claims

import rerank
from rerank.evaluation.evaluate import evaluate
from rerank.metrics.base import parse

NAMES = ("first-best", "oracle", "initial (base)", *tuners_table.SCALINGS, "mert+margin")


def run(capsys, *asked: str, code: int = 0) -> str:
    assert tuners_table.main(asked) == code
    printed = capsys.readouterr()
    assert code or printed.err == ""
    return printed.err if code else printed.out


def rows_of(printed: str) -> dict[str, str]:
    """Lines of the table by name."""
    return {name: line for line in printed.splitlines() for name in NAMES if line.startswith(f"{name}  ")}


@pytest.fixture(scope="module")
def parts(text_sets):
    """Dev and test lists by set."""
    return {
        task.name: [load_part(text_sets / task.name, part, task) for part in ("dev", "test")]
        for task in TASKS.values()
    }


@pytest.mark.parametrize("name", TASKS)
def test_values_are_means_over_seeds_of_what_train_and_eval_print(text_sets, parts, capsys, name):
    printed = run(capsys, "--data", str(text_sets), "--sets", name, "--seeds", "2", "--samples", "50")
    found = rows_of(printed)
    assert tuple(sorted(found)) == tuple(sorted(NAMES))
    metric, (dev, test) = TASKS[name].metric, parts[name]
    assert f"{name}: {metric} (" in printed
    assert "means over 2 seeds" in printed
    assert "50 resamples of the test lists" in printed
    for learner, scaling in tuners_table.SCALINGS.items():
        models = [rerank.train(dev, learner, metric=metric, scaling=scaling, seed=seed) for seed in (1, 2)]
        values = [
            [rerank.evaluate(part, model.score(part), [metric])[metric] for model in models]
            for part in (dev, test)
        ]
        cells = re.split(r"  +", found[learner].strip())
        assert cells[1:3] == [f"{np.mean(part):.2f}" for part in values]
        assert cells[4] == f"{np.std(values[1], ddof=1):.2f}"
        assert re.fullmatch(r"\d+\.\d\d", cells[5])
    info = evaluate(test, {}, [metric]).metrics[parse(metric).name]
    assert re.split(r"  +", found["first-best"])[2] == f"{info.first_best:.2f}"
    assert re.split(r"  +", found["oracle"])[2] == f"{info.oracle:.2f}"


def test_columns_end_at_the_same_place(text_sets, capsys):
    printed = run(capsys, "--data", str(text_sets), "--sets", "asr-pocketsphinx", "--seeds", "1")
    head = next(line for line in printed.splitlines() if line.startswith(" "))
    ends = [head.index(title) + len(title) for title in ("dev", "test", "95 % interval", "CPU s")]
    for name in tuners_table.SCALINGS:
        line = rows_of(printed)[name]
        assert all(line[end - 1].isdigit() and line[end] == " " for end in ends)


def test_a_margin_is_tuned_on_lists_that_were_not_learnt_from(parts):
    dev, _ = parts["asr-pocketsphinx"]
    model = tuners_table.with_margin(dev, "WER", seed=1)
    places = np.arange(dev.n_lists)
    half, rest = dev.subset(places[::2]), dev.subset(places[1::2])
    expected = rerank.train(
        half, "mert", dev=rest, metric="WER", scaling="zscore", keep_margin="auto", seed=1
    )
    assert model.keep_margin == expected.keep_margin
    np.testing.assert_array_equal(model.score(rest), expected.score(rest))


def test_tests_are_corrected_together(parts):
    _, test = parts["syscomb-wmt10"]
    judge = parse("BLEU").prepare(test)
    first = judge.first_best()
    good = judge.per_list(judge.item_values())
    rows = {
        name: tuners_table.Row([0.0], runs)
        for name, runs in (("first-best", [first]), ("same", [first] * 2), ("mert", [good]))
    }
    found = tuners_table.tested(judge, rows, samples=499)
    assert found["same"].p == {"first-best": 1.0, "mert": pytest.approx(3 / 500)}
    assert found["mert"].p == {"first-best": pytest.approx(3 / 500)}
    assert found["first-best"].p == {}
    assert (found["same"].sd, found["mert"].sd) == (0.0, None)


@pytest.mark.parametrize("better", [1, -1])
def test_the_sentence_states_direction_and_significance(better):
    def result(value: float, **p: float) -> Outcome:
        named = {key.replace("_", "-"): number for key, number in p.items()}
        return Outcome(better * value, None, np.zeros(1), named)

    results = {
        "first-best": result(1.0),
        "pro": result(0.5, first_best=0.01, mert=0.02),
        "mira": result(1.5, first_best=0.05, mert=0.6),
        "mert": result(2.0, first_best=0.04),
    }
    assert claims(results, better) == (
        "On test, at 0.05, better than first-best: mert; worse than first-best: pro; "
        "not significantly different from first-best: mira; "
        "worse than mert: pro; not significantly different from mert: mira."
    )


def test_what_is_wrong_is_reported(tmp_path, capsys):
    assert "dev.nbest.gz: no such file" in run(capsys, "--data", str(tmp_path), code=2)
    with pytest.raises(SystemExit):
        tuners_table.main(["--data", str(tmp_path), "--seeds", "0"])
    assert "--seeds and --samples are at least 1" in capsys.readouterr().err
