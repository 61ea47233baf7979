"""The curves of perceptrons on real-valued labels, on small sets in the form of the shared ones."""

from pathlib import Path

import nbest_curves
import numpy as np
import pytest
from text_lists.sets import TASKS, load_part
from text_lists.watching import Curve

import rerank
from rerank.data.labels import Quantiser, quantised
from rerank.data.pairs import PairRelation, make_pairs
from rerank.learners.rounds import log_loss

EPOCHS = 6
SETTINGS = ("best-rest, even", "split, uneven", "ordinal, uneven")


def run(data: Path, out: Path, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    asked = ["--data", str(data), "--out", str(out), "--epochs", str(EPOCHS), "--samples", "50", *more]
    assert nbest_curves.main(asked) == 0
    printed = capsys.readouterr()
    assert printed.err == ""
    return printed.out


def rows_of(printed: str, head: str) -> dict[str, list[str]]:
    """Cells by name of the rows below the line that begins with ``head``."""
    lines = printed[printed.index(f"\n{head}") + 1 :].split("\n\n")[0].splitlines()[1:]
    return {
        cells[0]: cells[1:]
        for cells in ([c.strip() for c in line.split("  ") if c.strip()] for line in lines)
    }


@pytest.mark.parametrize("name", TASKS)
def test_a_curve_is_that_of_training_for_so_many_rounds(text_sets, tmp_path, capsys, name):
    run(text_sets, tmp_path, capsys, "--sets", name)
    task = TASKS[name]
    dev, test = (load_part(text_sets / name, part, task) for part in ("dev", "test"))
    for setting in SETTINGS:
        path = tmp_path / f"{name}.{setting.replace(', ', '-')}.tsv"
        header, *rows = (line.split("\t") for line in path.read_text().splitlines())
        assert header == ["round", "updates", "violated", "dev_logloss", f"test_{task.metric}"]
        assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))
        settings = {"average": "last", "tau": 1, "dimension": 1, "seed": 1, "scaling": "zscore"}
        settings |= nbest_curves.settings_for(10)[setting]
        for epochs in {1, len(rows)}:
            model = rerank.train(dev, "perceptron", epochs=epochs, **settings)
            loss, value = map(float, rows[epochs - 1][3:])
            assert loss == pytest.approx(log_loss(dev, model.score(dev)))
            metric = task.metric
            assert value == pytest.approx(rerank.evaluate(test, model.score(test), [metric])[metric])


def test_the_papers_ranks_are_scaled_to_the_lists():
    assert nbest_curves.settings_for(1000) == {
        "best-rest, even": {"pairs": "best-rest"},
        "split, uneven": {"pairs": "split", "split_top": 300, "split_bottom": 700, "margin": "uneven"},
        "ordinal, uneven": {
            "pairs": "ordinal", "ordinal_factor": 2, "ordinal_gap": 20, "margin": "uneven",
        },
    }  # fmt: skip
    tiny = nbest_curves.settings_for(2)["split, uneven"]
    assert (tiny["split_top"], tiny["split_bottom"]) == (1, 2)


def test_the_tables_show_pairs_and_values(text_sets, tmp_path, capsys):
    printed = run(text_sets, tmp_path, capsys, "--sets", "syscomb-wmt10")
    task = TASKS["syscomb-wmt10"]
    dev, test = (load_part(text_sets / task.name, part, task) for part in ("dev", "test"))
    values = rows_of(printed, "setting ")
    assert tuple(values) == SETTINGS
    for name, settings in nbest_curves.settings_for(10).items():
        relation = PairRelation(**{k: v for k, v in settings.items() if k != "margin"})
        assert int(values[name][0]) == make_pairs(dev, relation).n_pairs
        last = (tmp_path / f"{task.name}.{name.replace(', ', '-')}.tsv").read_text().splitlines()[-1]
        assert f"{float(last.split()[-1]):.2f}" in values[name]
    schemes = rows_of(printed, "pairs of labels ")
    assert int(schemes["all that differ"][0]) == make_pairs(dev, PairRelation("all")).n_pairs
    best = quantised(dev, Quantiser("best"))
    assert int(schemes["quantise=best"][0]) == make_pairs(best, PairRelation()).n_pairs
    model = rerank.train(best, "perceptron", tau=1, epochs=EPOCHS, scaling="zscore")
    expected = [rerank.evaluate(part, model.score(part), ["BLEU"])["BLEU"] for part in (dev, test)]
    assert schemes["quantise=best"][1:3] == [f"{value:.2f}" for value in expected]


def test_falling_loss_and_growing_metric_are_correlated():
    loss = np.array([3.0, 2.0, 2.5, 1.0])
    up = np.array([10.0, 12.0, 11.0, 14.0])
    for better in (1, -1):
        curve = Curve(0, [], loss, better * up, better * np.array([up, -up, up * 0]), better)
        np.testing.assert_allclose(curve.correlations(), [1, 1, -1, np.nan], atol=1e-12)
        assert curve.together() == 1.0
    worse = Curve(0, [], loss, np.array([10.0, 9.0, 9.0, 14.0]), np.zeros((1, 4)), 1)
    assert worse.together() == 0.5
    assert worse.correlations()[0] == pytest.approx(np.corrcoef(-loss, worse.value)[0, 1])


def test_the_same_run_prints_the_same(text_sets, tmp_path, capsys):
    first, again = (run(text_sets, tmp_path / name, capsys, "--sets", "asr-pocketsphinx") for name in "ab")
    assert first == again
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_a_set_that_is_absent_is_reported(tmp_path, capsys):
    assert nbest_curves.main(["--data", str(tmp_path), "--out", str(tmp_path / "out")]) == 2
    assert "dev.nbest.gz: no such file" in capsys.readouterr().err


def test_the_real_lists(shared_data, tmp_path, capsys):
    printed = run(shared_data, tmp_path, capsys, "--sets", "moses-europarl")
    assert "moses-europarl test: 50 lists of up to 100; BLEU(lc=1) 11.49 first-best" in printed
    pairs = {name: int(cells[0]) for name, cells in rows_of(printed, "setting ").items()}
    assert pairs == dict(zip(SETTINGS, (4748, 40743, 132480), strict=True))
