"""scripts/tuning.mk from lists to tables, on small sets in the form of the shared ones."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rerank
from rerank.config import read_config
from rerank.evaluation.evaluate import evaluate
from rerank.experiment.derive import labelled
from rerank.metrics.base import parse

ROOT = Path(__file__).resolve().parents[2]
METRICS = {"syscomb-wmt10": "BLEU", "moses-europarl": "BLEU(lc=1)", "asr-pocketsphinx": "WER"}


def make(out: Path, *arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """The Makefile run on its own, whatever environment the tests were started from."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NO_COLOR": "1"}
    for name in ("RERANK_DATA", "MAKEFLAGS", "MAKELEVEL", "MFLAGS", "LEARNER", "OUT", "SETS"):
        environment.pop(name, None)
    command = ["make", "-f", str(ROOT / "scripts" / "tuning.mk"), f"OUT={out}"]
    done = subprocess.run(
        [*command, f"RERANK={sys.executable} -m rerank", *arguments],
        env=environment,
        cwd=out.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    return done


@pytest.fixture(scope="module")
def tuned(text_sets: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder that the Makefile filled, and what it printed."""
    assert shutil.which("make"), "this test needs make, as the repository's own Makefile does"
    out = tmp_path_factory.mktemp("tuning") / "tuned"
    return out, make(out, f"RERANK_DATA={text_sets}", "LEARNER=perceptron").stdout


@pytest.mark.parametrize("name", METRICS)
def test_a_set_from_its_files_to_its_table(tuned, text_sets, name):
    out, messages = tuned
    folder, metric = text_sets / name, METRICS[name]
    test = rerank.load(folder / "test.nbest.gz", format="moses", refs=[str(folder / "test.ref.gz")])
    scores = np.loadtxt(out / name / "perceptron.scores")
    found = evaluate(test, {"scores": scores}, [metric])
    info, value = found.metrics[parse(metric).name], found.systems["scores"][parse(metric).name].value
    table = (out / name / "perceptron.txt").read_text()
    assert table in messages
    for row, number in (("first-best", info.first_best), ("oracle", info.oracle)):
        assert re.search(rf"^{row} +{number:.2f}$", table, re.MULTILINE)
    assert f"  {value:.2f} " in table
    assert info.better * value > info.better * info.first_best  # the tiny sets can be learnt


def test_a_model_learnt_from_the_dev_lists_with_the_settings_of_its_configuration(tuned, text_sets):
    out, _ = tuned
    model = rerank.load_model(str(out / "asr-pocketsphinx" / "perceptron.model"))
    assert model.training.data.lists == 25
    assert model.scaling.name == "zscore"
    assert model.training.rounds.metric == "WER"
    folder = text_sets / "asr-pocketsphinx"
    dev = rerank.load(folder / "dev.nbest.gz", format="moses", refs=[str(folder / "dev.ref.gz")])
    expected = rerank.train(labelled(dev, "WER"), metric="WER", scaling="zscore", seed=1)
    assert dict(model.explain()) == dict(expected.explain())


def test_what_is_there_is_not_made_again_and_another_learner_is(tuned, text_sets):
    out, _ = tuned
    asked = (f"RERANK_DATA={text_sets}", "SETS=asr-pocketsphinx")
    assert " train " not in make(out, *asked, "LEARNER=perceptron").stdout
    messages = make(out, *asked, "LEARNER=best-feature").stdout
    assert " train " in messages
    assert " convert " not in messages


def test_nothing_is_skipped_in_silence(text_sets, tmp_path):
    out = tmp_path / "out"
    assert "RERANK_DATA is not set" in make(out, code=2).stderr
    assert "unknown set nothing" in make(out, f"RERANK_DATA={text_sets}", "SETS=nothing", code=2).stderr
    missing = make(out, f"RERANK_DATA={tmp_path}", code=2).stderr
    assert f"{tmp_path}/syscomb-wmt10/dev.nbest.gz: no such file" in missing
    assert not out.exists()


def test_a_step_that_fails_ends_it(text_sets, tmp_path):
    failed = make(tmp_path / "out", f"RERANK_DATA={text_sets}", "LEARNER=nobody", code=2)
    assert "unknown learner 'nobody'" in failed.stderr
    assert "oracle" not in failed.stdout


def test_the_makefile_and_the_configurations_agree(monkeypatch, text_sets):
    monkeypatch.setenv("RERANK_DATA", str(text_sets))
    text = (ROOT / "scripts" / "tuning.mk").read_text()
    (default,) = re.findall(r"^LEARNER \?= (\S+)$", text, re.MULTILINE)
    for name, metric in METRICS.items():
        (path,) = re.findall(rf"^config\.{name} := \$\(CONFIGS\)/(\S+)$", text, re.MULTILINE)
        config = read_config(str(ROOT / "configs" / path))
        assert config.learner["name"] == default
        assert f"\nmetric.{name} := {metric}\n" in text
        assert config.select.metric == metric
        assert config.data.train == (str(text_sets / name / "dev.nbest.gz"),)
