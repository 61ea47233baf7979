"""Settings of transductive methods: the base learner, its seed, grids of its settings."""

import pytest
from reference.nearest_lists import NearestLists
from small_training import fit

from rerank.core.errors import ConfigError
from rerank.learners.base import LEARNERS
from rerank.training.config import grid_of, read_config
from rerank.training.options import learner_of


def test_the_base_learner_is_a_name_or_a_name_and_settings():
    assert NearestLists().base_learner == LEARNERS.get("rankboost")()
    method = NearestLists(base={"name": "ranksvm", "C": 3.0})
    assert method.base_learner == LEARNERS.get("ranksvm")(C=3.0)
    assert NearestLists(base={"rounds": 7}).base_learner == LEARNERS.get("rankboost")(rounds=7)


def test_the_seed_of_the_base_learner_is_that_of_the_method_unless_given():
    assert NearestLists(base="pro", seed=7).base_learner.seed == 7
    assert NearestLists(base={"name": "pro", "seed": 3}, seed=7).base_learner.seed == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base": "rankbost"}, "unknown learner 'rankbost'; did you mean 'rankboost'"),
        ({"base": {"name": "rankboost", "round": 3}}, "unknown setting 'round'; did you mean 'rounds'"),
        ({"base": {"name": "rankboost", "rounds": 0}}, "base learner rankboost: rounds: found 0"),
        ({"base": {"name": 3}}, "base.name: found 3, expected text"),
        ({"base": "nearest-lists"}, "it has a base itself"),
        ({"base": {"name": "predtron", "task": "multilabel"}}, "classes"),
        ({"base": "random"}, "it reads no features"),
        ({"base": "mert"}, "it optimises a metric"),
        ({"base": {"name": "rankboost", "keep": "best"}}, "keep=best needs a metric"),
        ({"abstain": 1.5}, "abstain: found 1.5, expected none, auto or a number from -1 to 1"),
        ({"abstain": True}, "abstain: found true, expected none, auto or a number from -1 to 1"),
        ({"abstain": "always"}, "abstain"),
    ],
)
def test_a_base_that_cannot_be_one_is_refused(settings, message):
    with pytest.raises(ConfigError, match=message):
        NearestLists(**settings)


def test_settings_of_the_base_learner_are_given_one_by_one(tmp_path):
    name = {"learner.name": "nearest-lists"}

    def base(*overrides, path=None):
        return learner_of(read_config(path, overrides, name)).base_learner

    assert base("base.rounds=15").rounds == 15
    assert base("base.C=3", "base=ranksvm") == LEARNERS.get("ranksvm")(C=3.0)
    assert base("learner.base.rounds=15").rounds == 15
    (tmp_path / "c.yaml").write_text("learner: {name: nearest-lists, base: ranksvm}\n")
    assert base("base.C=4", path=str(tmp_path / "c.yaml")) == LEARNERS.get("ranksvm")(C=4.0)
    with pytest.raises(ConfigError, match="unknown setting 'rouds'; did you mean 'rounds'"):
        base("base.rouds=15")


def test_settings_of_the_base_learner_are_keys_of_grids(tmp_path, make_lists):
    options = {f"grid.{key}": v for key, v in grid_of(["base.thresholds=10,all", "width=1,2"]).items()}
    config = read_config(None, ["by=dev"], {"learner.name": "nearest-lists", **options})
    assert config.grid == {"base.thresholds": [10, "all"], "width": [1, 2]}
    assert read_config(None, ["grid.base.rounds=[1, 2]"]).grid == {"base.rounds": [1, 2]}
    (tmp_path / "c.yaml").write_text("learner: {name: nearest-lists}\ngrid: {base.thresholds: [10, all]}\n")
    assert read_config(str(tmp_path / "c.yaml")).grid == {"base.thresholds": [10, "all"]}

    method = NearestLists(base={"rounds": 3})
    plan = {"metric": "nDCG@5", "select": "dev", "grid": {"base.thresholds": [1, "all"]}}
    model = fit(method, make_lists(1), dev=make_lists(2), **plan)
    several = {"base": ["rankboost", "ranksvm"], "width": [1.0, 2.0]}
    assert fit(NearestLists(), make_lists(1), dev=make_lists(2), **{**plan, "grid": several})
    chosen = model.training.choice.cells[model.training.choice.chosen - 1].settings
    assert model.method.base_learner.thresholds == chosen["base.thresholds"]
    assert model.method.base_learner.rounds == 3


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        ({"base.treshold": [1]}, "unknown setting 'base.treshold'; did you mean 'base.thresholds'"),
        ({"base.C": [1.0]}, "unknown setting 'base.C'; did you mean"),
        ({"base.rounds": [1, 2]}, "base.rounds is also given as a setting"),
        ({"base.thresholds": [0]}, "thresholds: found 0"),
    ],
)
def test_a_wrong_key_of_a_grid_is_refused(grid, message, make_lists):
    method = NearestLists(base={"rounds": 3})
    with pytest.raises(ConfigError, match=message):
        fit(method, make_lists(1), dev=make_lists(2), metric="nDCG@5", select="dev", grid=grid)
