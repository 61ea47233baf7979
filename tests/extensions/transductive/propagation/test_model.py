"""The model of ranker propagation: its file, what a stranger's file may not do, what it shows."""

import json

import numpy as np
import pytest
from make import LAYOUTS
from small_training import fit, rewritten, saved

from rerank.core.errors import FormatError
from rerank.learners.base import LEARNERS
from rerank.models.base import load_model
from rerank.models.describe import model_lines, model_record
from rerank.models.describe_training import training_lines
from rerank.models.embedded_model import packed_model
from rerank.models.linear import LinearModel


def method(**settings):
    return LEARNERS.get("propagate")(**settings)


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("settings", [{"drop_below": 0.05}, {"form": "inductive"}, {"control": "oracle"}])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_saved_model_ranks_as_before(settings, layout, make_lists, tmp_path):
    lists, test = make_lists(1, layout), make_lists(2, layout)
    model = fit(method(**settings), lists)
    model.keep_margin = 0.25
    again = saved(model, tmp_path)
    test = test.with_first_best("input")
    np.testing.assert_array_equal(again.score(test), model.score(test))
    assert again.training == model.training
    assert (again.settings, again.nodes.reasons) == (model.settings, model.nodes.reasons)
    assert again.nodes.lists.labels is None  # no label leaves the training data
    assert type(again.nodes.lists.features) is type(lists.features)
    assert (again.explain(), again.described()) == (model.explain(), model.described())


def text(settings=(), reasons=("", "one item", "no pair"), **more):
    """The bytes of the settings and reasons of a model."""
    whole = {"settings": dict(settings), "reasons": list(reasons), **more}
    return np.frombuffer(json.dumps(whole).encode(), dtype=np.uint8)


def rankers(**changes):
    """Rankers of the eight lists, with the rows changed that are given by number."""
    found = np.ones((8, 6))
    found[[0, 4]] = np.nan
    for row, value in changes.items():
        found[int(row[1:])] = value
    return found


def numbers(*values):
    return np.array(values, dtype=np.int32)


REASONS = numbers(1, 0, 0, 0, 2, 0, 0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": np.zeros(3, dtype=np.uint8)}, "a damaged model .method: "),
        ({"method": np.full(1 << 21, 32, dtype=np.uint8)}, "method: found 2,097,152 bytes"),
        ({"method": text(settings={"neighbour": 1})}, "unknown setting 'neighbour'"),
        ({"method": text(settings={"neighbours": 0})}, "neighbours: found 0"),
        ({"method": text(settings={"kernel": "lists"})}, "unknown kernel 'lists'"),
        ({"method": text(settings={"base": "propagate"})}, "it has a base itself"),
        ({"method": text(reasons=["no pair", "", "one item"])}, "reasons: the first one is not empty"),
        ({"method": text(reasons=["", 3, "no pair"])}, "reasons.*found 3, expected text"),
        ({"method": text(reasons=["", "x" * 2000, "no pair"])}, "reasons"),
        ({"method": text(more=1)}, "more is unknown"),
        ({"reasons": numbers(3, 0, 0, 0, 2, 0, 0, 0)}, "reasons: a number outside 0 to 2"),
        ({"reasons": numbers(-1, 0, 0, 0, 2, 0, 0, 0)}, "reasons: a number outside 0 to 2"),
        ({"reasons": numbers(0, 0)}, "2 reasons for 8 lists"),
        ({"reasons": numbers(*[0] * 8)}, "a list without the ranker that it trained"),
        ({"reasons": numbers(*[1] * 8)}, "no list that trained one"),
        ({"reasons": REASONS.astype(np.int64)}, "reasons.npy: found "),
        ({"rankers": rankers(r1=np.inf)}, "a weight that is not finite"),
        ({"rankers": rankers(r1=[np.nan, 1, 1, 1, 1, 1])}, "a weight that is not finite"),
        ({"rankers": rankers(r2=np.nan)}, "a list without the ranker that it trained"),
        ({"rankers": np.ones((7, 6))}, r"rankers of shape \(7, 6\)"),
        ({"rankers": np.ones((8, 5))}, "rankers.npy: found "),
        ({"dropped": numbers(1, 1)}, "dropped: not the numbers of some of 6 features in rising order"),
        ({"dropped": numbers(-1)}, "dropped: not"),
        ({"dropped": numbers(6)}, "dropped: not"),
        ({"dropped": numbers(*range(6))}, "dropped: not"),
        ({"offsets": np.array([0, 45])}, "for 1 lists of 6 features"),
        ({"offsets": np.array([0, 60])}, "the lists hold 60 items"),
        ({"features": np.full((45, 6), np.inf)}, "value is inf"),
        ({"features": np.full((45, 6), np.nan)}, "missing"),
        ({"features": None}, "not one layout of features"),
        ({"factors": np.full(6, np.nan)}, "a factor that is not finite"),
        ({"unadapted": np.zeros(50, dtype=np.uint8)}, "unadapted: found something else"),
        ({"unadapted": packed_model(LinearModel(["a"], np.ones(1)))}, "1 features of the global ranker"),
    ],
)
def test_a_strangers_file_is_refused_in_one_line(changes, message, make_lists, tmp_path):
    fit(method(), make_lists(1)).save(str(tmp_path / "m"))
    path = rewritten(tmp_path / "m", tmp_path / "n", **changes)
    with pytest.raises(FormatError, match=message) as error:
        load_model(path)
    assert str(error.value).startswith(path[:30])  # long lines are cut
    assert "\n" not in str(error.value)


def test_a_model_of_another_kind_is_no_global_ranker(make_lists, tmp_path):
    fit(method(), make_lists(1)).save(str(tmp_path / "m"))
    inner = fit(LEARNERS.get("rankboost")(rounds=2), make_lists(1))
    for _ in range(3):
        path = rewritten(tmp_path / "m", tmp_path / "n", unadapted=packed_model(inner))
        with pytest.raises(FormatError, match=r"as the global ranker|models inside each oth"):
            load_model(path)
        inner = load_model(str(tmp_path / "m"))


def test_a_model_shows_its_rankers_and_what_they_are_compared_by(make_lists):
    lists = make_lists(1)
    model = fit(method(neighbours=4, drop_below=0.1, kernel="angles", components=3), lists)
    facts, rankers = model_record(model), model.nodes.rankers
    assert facts["training lists"]["lists"] == 8
    assert facts["rankers"]["trained"] == 6
    assert facts["rankers"]["without"] == {"one item": 1, "no pair": 1}
    cosines = (rankers @ rankers.T)[~np.eye(6, dtype=bool)]
    assert facts["rankers"]["mean cosine"] == pytest.approx(cosines.mean())
    toward = (rankers @ model.unadapted.weights).mean()
    assert facts["rankers"]["mean cosine with the global ranker"] == pytest.approx(toward)
    assert facts["compared by"] == {"kernel": "angles", "components": 3, "neighbours": 4}
    names = [lists.names()[j] for j in model.dropped]
    assert facts["not compared by"].startswith(f"{len(names)} feature")
    assert all(name in facts["not compared by"] for name in names[:3])
    first = facts["weights"][0]
    column = lists.names().index(first["name"])
    assert f"{rankers[:, column].mean():.4g}" in first["remark"]
    assert f"{rankers[:, column].std():.4g}" in first["remark"]
    shown = "\n".join(model_lines(model))
    assert "weights of" in shown
    assert "the global ranker" in shown
    printed = training_lines(model, lists, None)
    assert "rankers of 6 of 8 lists (1: one item, 1: no pair)" in printed
    assert f"lists are compared without {facts['not compared by']}" in printed


def test_controls_show_no_graph_and_the_oracle_is_marked(make_lists):
    model = fit(method(control="oracle"), make_lists(1))
    facts = model.described()
    assert "compared by" not in facts
    assert "ORACLE" in facts
    assert any("ORACLE" in line for line in training_lines(model, make_lists(1), None))
    inductive = fit(method(form="inductive", neighbours="all"), make_lists(1))
    assert inductive.described()["rankers"]["of neighbours"] == 1
