"""Every configuration of the repository is read, and trains."""

import re

import numpy as np
import pytest
from command_line import ROOT
from small_parses import parse_lists

from rerank import CandidateLists, load_model, save
from rerank.core.errors import DataNote
from rerank.experiments.config import read_experiment
from rerank.formats import FORMATS
from rerank.training.config import read_config
from rerank.training.options import learner_of
from rerank.training.train import train_files

FILES = sorted((ROOT / "configs").glob("*.yaml"))
# Those of other verbs and of scripts/predtron_figure1.py.
OTHERS = ("\nlearners:", "\nnumbers:", "\npanels:")
EXPERIMENTS = [path for path in FILES if "\nlearners:" in path.read_text()]
CONFIGS = [path for path in FILES if not any(key in path.read_text() for key in OTHERS)]


def write_long_lists(path, *, graded):
    """Two lists of 720 items: every relation of the configurations has pairs in them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1440, 3))
    y = np.repeat([0.0, 1.0, 2.0], 480) + (0 if graded else np.arange(1440) / 2000)
    lists = CandidateLists.from_arrays(X, rng.permutation(y), group=[720, 720])
    FORMATS.get("svmlight")().write(lists, str(path))


def write_texts(folder):
    """Two lists of 30 texts with two features, and their references: the options that read them."""
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["a", "b", "c", "d"], 7)) for _ in range(62)]
    features = [f"lm= {x:.3f} {y:.3f}" for x, y in rng.standard_normal((60, 2))]
    lines = [f"{k // 30} ||| {texts[k]} ||| {features[k]} ||| 0\n" for k in range(60)]
    (folder / "long.nbest").write_text("".join(lines))
    (folder / "long.ref").write_text("".join(f"{text}\n" for text in texts[60:]))
    return ["--data", folder / "long.nbest", "--refs", folder / "long.ref"]


def test_there_are_configurations():
    assert len(CONFIGS) >= 9


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_configuration_is_read(path, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", "/data")
    config = read_config(str(path))
    assert learner_of(config).name == config.learner["name"]


@pytest.mark.parametrize("path", CONFIGS, ids=[path.stem for path in CONFIGS])
def test_a_configuration_trains(path, rerank, tmp_path, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", "/data")
    config = read_config(str(path))
    setting = learner_of(config).iterates
    few = f"grid.{setting}=[1, 2]" if setting in config.grid else f"{setting}=2"
    given = ["train", path, "--out", tmp_path / "model", *(["--set", few] if setting else [])]
    if config.data.refs:
        given += write_texts(tmp_path)
    elif str(config.data.label).startswith("PARSEVAL"):
        save(parse_lists(1), str(tmp_path / "train.store"))
        given += ["--data", tmp_path / "train.store"]
    else:
        long_lists = tmp_path / "long.letor"
        write_long_lists(long_lists, graded=config.learner["name"] != "perceptron")
        given += ["--data", long_lists]
    if config.data.dev:
        given += ["--dev", long_lists]
    if config.data.feature_names is not None:
        names = tmp_path / "names"
        names.write_text("a\nb\nc\n")
        given += ["--feature-names", names]
    rerank(*given)
    training = load_model(str(tmp_path / "model")).training
    assert training.learner == config.learner["name"]
    assert not setting or training.settings[setting] <= 2  # select=cv may choose fewer


@pytest.mark.parametrize("path", EXPERIMENTS, ids=[path.stem for path in EXPERIMENTS])
def test_an_experiment_is_read(path, monkeypatch):
    for name in re.findall(r"\$\{(\w+)\}", path.read_text()):
        monkeypatch.setenv(name, "1" if name == "SEED" else "/data")
    config = read_experiment(str(path))
    assert config.name == path.stem
    for row in config.learners:
        assert config.train_config(row, config.training(row, config.fold_names[-1]), config.first_seed(row))


def test_another_learner_ignores_the_settings_of_the_learner_in_the_file(tmp_path):
    path = tmp_path / "run.yaml"
    path.write_text("learner: {name: perceptron, tau: 3, metric: AP}\nseed: 4\n")
    with pytest.warns(DataNote, match=r"run.yaml: settings of learner perceptron \(tau\) are ignored"):
        config = read_config(str(path), base={"learner.name": "prank"})
    assert config.learner == {"name": "prank"}
    assert (config.select.metric, config.seed) == ("AP", 4)
    assert read_config(str(path), base={"learner.name": "perceptron"}).learner["tau"] == 3
    assert read_config(str(path), ["learner.name=prank"]).learner == {"name": "prank", "tau": 3}


def test_ohsumed_with_the_configuration(shared_data, monkeypatch):
    monkeypatch.setenv("RERANK_DATA", str(shared_data))
    result = train_files(read_config(str(ROOT / "configs" / "ohsumed-perceptron.yaml")))
    assert result.model.training.rounds.dev > 0.46
