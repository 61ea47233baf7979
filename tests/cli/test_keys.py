"""Every key of a training run: one value in YAML, --set, option and Python; two on one line are refused."""

import itertools
import re

import pytest

from rerank.cli.parser import fields_of
from rerank.core.errors import ConfigError
from rerank.data.reading import Reading
from rerank.learners.base import LEARNERS
from rerank.learners.baselines import Fusion
from rerank.training.config import read_config
from rerank.training.options import TrainOptions
from rerank.training.train import train

OPTIONS = dict(fields_of(TrainOptions))
# Values as they are typed, for keys whose type tells none.
VALUES = {
    "data.features": "1",
    "data.init": "base",
    "data.answer_pattern": "a",
    "select.metric": "AP",
    "select.keep_margin": "0.5",
    "base_scale": "2.5",
    "cluster": "tcp://here:1",
    "learner.name": "prank",
    "grid.tau": "[1, 2]",
}
KEYS = [*OPTIONS, "learner.name", "grid.tau"]
# Other spellings of keys: in --set and in YAML, and in --set alone.
SPELLED = {"select.metric": "learner.metric", "select.keep": "learner.keep", "seed": "learner.seed"}
SHORT = {f"select.{name}": name for name in ("metric", "keep", "keep_margin", "tune_base", "by", "folds")}
SHORT["data.init"] = "init"


def value_of(key):
    """A value of a key that is not its default, as it is typed."""
    if key in VALUES:
        return VALUES[key]
    section, _, name = key.rpartition(".")
    owner = TrainOptions.settings[section].kind if section else TrainOptions
    field = owner.settings[name]
    kind = str(field.kind)
    choices = re.findall(r"'([\w-]+)'", kind) if "Literal" in kind else []
    other = [choice for choice in choices if choice != field.default]
    typed = "0.5" if "float" in kind and "str" not in kind else "3" if re.search(r"\bint\b", kind) else "x"
    return "true" if field.kind is bool else other[-1] if other else typed


def flag_of(key):
    if key in OPTIONS:
        return OPTIONS[key].flags[0]
    return {"learner.name": "--learner", "grid.tau": "--grid"}[key]


def option_words(key):
    """The words of the command line that give a key by its option."""
    value = value_of(key)
    if key == "grid.tau":
        return ["--grid", "tau=1,2"]
    return [flag_of(key), *([] if value == "true" else [value])]


def ways_of(key):
    """Every way of giving a key on the command line, as words."""
    value = value_of(key)
    names = [key, *(table[key] for table in (SPELLED, SHORT) if key in table)]
    section, _, name = key.rpartition(".")
    whole = [["--set", f"{section}={{{name}: {value}}}"]] if section else []
    return [option_words(key), *(["--set", f"{name}={value}"] for name in names), *whole]


def needed(key):
    """What a key cannot do without, in YAML."""
    return {"data": {"dev": "d"}} if key.startswith("data.dev_") else {}


def nested(key, value):
    for part in reversed(key.split(".")):
        value = {part: value}
    return value


@pytest.fixture
def config_of(rerank, tmp_path, monkeypatch):
    """config_of(words) -> the configuration that `rerank train` would train."""
    monkeypatch.chdir(tmp_path)
    found = []

    def stop(config, *_):
        found.append(config)
        raise ConfigError("stopped")

    monkeypatch.setattr("rerank.training.train.train_files", stop)

    def run(*words):
        result = rerank("train", *words, "--out", "m", code=2)
        assert result.err.endswith("stopped\n") or not found, result
        return found.pop() if found else result.err

    return run


def same(config):
    """A configuration as plain values; learner.keep is another spelling of select.keep."""
    return config.as_dict() | {"_path": None}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_has_one_value_whichever_way_it_is_given(key, config_of, tmp_path):
    from rerank.core.files.yaml import read_yaml

    typed = value_of(key)
    value = read_yaml(typed, "")
    base = needed(key)
    values = base | nested(key, value)
    if base:
        values = {"data": base["data"] | values["data"]}
    (tmp_path / "needed.yaml").write_text(repr(base))
    (tmp_path / "all.yaml").write_text(repr(values).replace("True", "true"))
    in_yaml = read_config("all.yaml")
    assert same(in_yaml) != same(read_config("needed.yaml"))
    assert same(config_of("all.yaml")) == same(in_yaml)
    by_option = config_of("needed.yaml", *option_words(key))
    assert same(by_option) == same(in_yaml), key
    assert same(config_of("needed.yaml", "--set", f"{key}={typed}")) == same(in_yaml)
    if key in SHORT and key not in ("select.keep", "data.init"):  # those stay settings of the learner
        assert same(config_of("needed.yaml", "--set", f"{SHORT[key]}={typed}")) == same(in_yaml)
    learner = {"learner": {"name": "perceptron"} | values.get("learner", {})}
    assert same(TrainOptions(**values | learner)) == same(in_yaml)
    section, _, name = key.rpartition(".")
    if section == "data" and name in Reading.settings:
        assert getattr(Reading(**{name: value}), name) == getattr(in_yaml.data, name)


@pytest.mark.parametrize("key", KEYS)
def test_two_ways_of_giving_a_key_on_one_line_are_refused(key, config_of, tmp_path):
    """An error also if both give the same value: a command line means what it says once."""
    (tmp_path / "run.yaml").write_text(repr(needed(key)))
    ways = ways_of(key)
    assert len(ways) > 1
    for one, other in [*itertools.combinations(ways, 2), *((way, way) for way in ways[1:])]:
        found = config_of("run.yaml", *one, *other)
        assert isinstance(found, str), (one, other)
        assert found.count("\n") == 1
        assert "given twice" in found
        assert key.rpartition(".")[2] in found
        for words in (one, other):
            assert (words[1] if words[0] == "--set" else words[0]) in found


@pytest.mark.parametrize("key", [*SPELLED, "data.train", "scaling"])
def test_an_option_takes_the_place_of_a_key_of_the_file(key, config_of, tmp_path):
    for spelling in dict.fromkeys((key, SPELLED.get(key, key))):
        value = {"seed": 7, "select.keep": "last", "scaling": "rank"}.get(key, "RR")
        (tmp_path / "run.yaml").write_text(repr(nested(spelling, value)))
        for words in (option_words(key), ["--set", f"{key}={value_of(key)}"]):
            alone, over = (config_of(*file, *words) for file in ([], ["run.yaml"]))
            assert same(over) == same(alone)


def test_a_section_does_not_wipe_out_an_option(config_of):
    assert "given twice" in config_of("--dev", "d", "--set", "data={train: x}")
    assert "given twice" in config_of("--learner", "ridge", "--set", "learner={C: 1}")
    config = config_of("--learner", "fg", "--set", "base.C=2", "--set", "base=ranksvm")
    assert config.learner["base"] == {"name": "ranksvm", "C": 2}
    for name in ("name=prank", "C=3"):
        err = config_of("--set", "base=ranksvm", "--set", "base.C=2", "--set", f"base.{name}")
        assert "given twice" in err


def test_two_spellings_in_one_file_must_agree(rerank, work):
    for text, message in {
        "seed: 1\nlearner: {seed: 2}\n": "seed is 1 but learner.seed is 2: give one",
        "select: {keep: last, metric: AP}\nlearner: {keep: best}\n": "give one",
        "learner: {tau: 1, tau: 2}\n": "run.yaml:1: found key 'tau' again, expected each key once",
    }.items():
        (work / "run.yaml").write_text(text)
        assert message in rerank("train", "run.yaml", "--data", "train.letor", "--out", "m", code=2).err


@pytest.mark.parametrize("verb", ["similarity", "weigh-lists"])
def test_settings_of_kernels_are_given_once(verb, rerank, work):
    files = ("train.letor", "test.letor", "--out", "o")
    set_ = ("--set", "components=2")
    for twice in (set_, ("--components", "2"), ("--set", "components=3")):
        err = rerank(verb, *files, *set_, *twice, code=2).err
        assert err.count("\n") == 1
        assert "given twice" in err
        assert "components" in err


LEARN_NOTHING = [name for name in LEARNERS.names() if not LEARNERS.get(name)().uses_metric]


def test_learners_that_report_no_metric():
    fusions = {name for name in LEARNERS.names() if issubclass(LEARNERS.get(name), Fusion)}
    assert set(LEARN_NOTHING) - fusions == {
        *("ensemble", "fg", "fg-inductive", "fg-iw", "iw", "pm", "pm-inductive", "pm-ratio", "random"),
        *("propagate", "propagate-learned", "propagate-scores"),
    }
    assert {"rrf", "combsum", "condorcet", "posfuse"} < fusions & set(LEARN_NOTHING)


@pytest.mark.parametrize("learner", LEARN_NOTHING)
def test_a_metric_that_nothing_uses_is_refused(learner, rerank, work):
    given = ("train", "--data", "train.letor", "--learner", learner, "--metric", "AP", "--out", "m")
    err = rerank(*given, code=2).err
    assert err == f"rerank: metric AP: not used by learner {learner}; rerank eval --metric AP reports it\n"
    with pytest.raises(ConfigError, match=f"metric AP: not used by learner {learner}"):
        train("train.letor", learner, metric="AP")
    rerank(*given, "--dev", "dev.letor")
    rerank(*given[:-4], "--metric", "label@1", "--first-best", "input", "--out", "m", code=None)


@pytest.mark.parametrize("learner", sorted(set(LEARNERS.names())))
def test_a_seed_that_nothing_draws_with_is_refused(learner, rerank, work):
    if "seed" in LEARNERS.get(learner).settings:
        return
    given = ("train", "--data", "train.letor", "--learner", learner, "--metric", "label@1", "--out", "m")
    err = rerank(*given, "--seed", "3", code=2).err
    assert err == f"rerank: seed: not used by learner {learner}, which draws nothing\n"
