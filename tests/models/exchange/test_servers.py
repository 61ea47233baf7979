"""Formats of libraries and servers: run by LightGBM and XGBoost, or by a twin of the server's own arithmetic.

The twins follow RankLib's Ensemble and CoorAscent, the Elasticsearch plug-in's NaiveAdditiveDecisionTree,
LinearRanker and StandardFeatureNormalizer, Solr's MultipleAdditiveTreesModel, LinearModel and
StandardNormalizer (all in float32), and Vespa's ranking expressions.
"""

import json
import math
import re
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from models.exchange.kinds import KINDS, PLAIN, items

import rerank
from rerank import CandidateLists
from rerank.models.exchange.portable import portable
from rerank.models.exchange.single import single_trees

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")
TREES = [name for name in KINDS if name.startswith(("trees", "stumps alone"))]
LINEAR = [name for name in KINDS if name.startswith(("linear", "thresholds", "combsum"))]
f32 = np.float32


def written(kind, to, tmp_path, **options):
    model = KINDS[kind]()
    rerank.export(model, str(tmp_path / "m"), to, names=PLAIN, **options)
    return model, (tmp_path / "m").read_text()


def single(kind, missing=True):
    """Items whose values are float32 numbers; a server that has no missing values gets zeros."""
    X = items(kind).features.to_dense().astype(f32).astype(np.float64)
    return X if missing else np.nan_to_num(X)


def in_single(model, X):
    """Scores by thresholds in single precision."""
    return sum(tree.scores(X) for tree in single_trees(portable(model, "m"), "it", missing=True))


def close(found, scores):
    """Single precision: sums of some dozens of float32 numbers."""
    np.testing.assert_allclose(
        found, scores, rtol=3e-6, atol=3e-6 * np.abs(scores[np.isfinite(scores)]).max()
    )


@pytest.mark.parametrize("kind", TREES)
def test_lightgbm(kind, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    model, text = written(kind, "lightgbm", tmp_path)
    booster = lightgbm.Booster(model_str=text)
    X = items(kind).features.to_dense()
    if kind.startswith("trees"):
        assert np.array_equal(booster.predict(X, raw_score=True), model.raw_score(items(kind)))
    X[np.abs(X) < 1e-34] = 0.0  # LightGBM takes such values for 0, stumps do not
    raw, scores = booster.predict(X, raw_score=True), portable(model, "m").scores(X)
    np.testing.assert_allclose(raw, scores, rtol=1e-12, atol=1e-12)
    assert booster.feature_name() == list(PLAIN.values())


@pytest.mark.parametrize("kind", TREES)
def test_xgboost(kind, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    model, _ = written(kind, "xgboost", tmp_path)
    path = tmp_path / "m.json"
    (tmp_path / "m").rename(path)
    booster = xgboost.Booster(model_file=str(path))
    X = single(kind)
    data = xgboost.DMatrix(X, feature_names=list(PLAIN.values()))
    trees = single_trees(portable(model, "m"), "XGBoost", missing=True)
    close(booster.predict(data, output_margin=True), sum(tree.scores(X) for tree in trees))
    for k, tree in enumerate(trees):  # no rounding of sums hides a wrong leaf
        part = booster.predict(data, output_margin=True, iteration_range=(k, k + 1))
        assert np.array_equal(part, tree.scores(X).astype(f32))


def ranklib_ensemble(text):
    """RankLib's trees, as a function of a vector from feature 1."""
    root = ElementTree.fromstring(text[text.index("<ensemble>") :])

    def tree(node):
        if node.find("output") is not None:
            return f32(node.find("output").text.strip())
        left, right = (next(s for s in node.findall("split") if s.get("pos") == p) for p in ("left", "right"))
        return int(node.find("feature").text), f32(node.find("threshold").text), tree(left), tree(right)

    trees = [(f32(t.get("weight")), tree(t.find("split"))) for t in root.findall("tree")]

    def score(x):
        total = f32(0)
        for weight, node in trees:
            while isinstance(node, tuple):
                node = node[2] if x[node[0] - 1] <= node[1] else node[3]
            total = f32(total + f32(node * weight))
        return total

    return score


@pytest.mark.parametrize("kind", TREES)
def test_ranklib_trees(kind, tmp_path):
    model, text = written(kind, "ranklib", tmp_path)
    score = ranklib_ensemble(text)
    X = single(kind, missing=False)
    close([score(x) for x in X.astype(f32)], in_single(model, X))


def order_of(scores):
    """Scores without the constant that servers leave out."""
    return np.asarray(scores, dtype=np.float64) - np.median(np.asarray(scores, dtype=np.float64))


def linear_close(found, model, X):
    """The same scores up to a constant, to the precision of float32 inputs of these sizes."""
    scorer = portable(model, "m")
    expected = scorer.scores(X, np.zeros(len(X)))
    size = sum(np.abs(X[:, t.source] / t.divisor * t.weight) for t in scorer.terms if t.present is None)
    assert np.all(np.abs(order_of(found) - order_of(expected)) <= 1e-6 * (size + np.median(size)) + 1e-6)


@pytest.mark.parametrize("kind", [k for k in LINEAR if k != "linear base"])
def test_ranklib_linear(kind, tmp_path):
    model, text = written(kind, "ranklib", tmp_path)
    line = next(line for line in text.splitlines() if not line.startswith("##"))
    pairs = [pair.split(":") for pair in line.split()]
    X = single(kind, missing=False)
    found = [sum(float(w) * f32(x[int(j) - 1]) for j, w in pairs) for x in X]
    linear_close(found, model, X)


def elasticsearch(body, names):
    """The plug-in's model, as a function of a vector of features."""
    features = [feature["name"] for feature in body["featureset"]["features"]]
    model = body["model"]["model"]
    places = [names.index(name) for name in features]

    def linear(x):
        v = {name: f32(x[j]) for name, j in zip(features, places, strict=True)}
        for name, kinds in model.get("feature_normalizers", {}).items():
            norm = kinds["standard"]
            v[name] = f32(f32(v[name] - f32(norm["mean"])) / f32(norm["standard_deviation"]))
        total = f32(0)
        for name in features:
            total = f32(total + f32(f32(model["definition"][name]) * v[name]))
        return total

    def trees(x):
        total = f32(0)
        for node in parsed:
            while "leaf" not in node:
                assert [node["yes"], node["no"]] == [child["nodeid"] for child in node["children"]]
                value = f32(x[names.index(node["split"])])
                node = node["children"][0 if f32(node["split_condition"]) > value else 1]
            total = f32(total + f32(node["leaf"]))
        return total

    parsed = json.loads(model["definition"]) if model["type"] == "model/xgboost+json" else []
    return trees if parsed else linear


@pytest.mark.parametrize("kind", [*TREES, *LINEAR])
def test_elasticsearch(kind, tmp_path):
    model, text = written(kind, "elasticsearch", tmp_path, name="shop")
    body = json.loads(text)
    assert body["model"]["name"] == body["featureset"]["name"] == "shop"
    X = single(kind, missing=False)
    score = elasticsearch(body, [*PLAIN.values(), "base_score"])
    base = np.zeros((len(X), 1))
    found = [score(x) for x in np.hstack([X, base]).astype(f32)]
    if kind in TREES:
        close(found, in_single(model, X))
    else:
        linear_close(found, model, X)


def solr(content, names):
    """Solr's model, as a function of a vector of features."""
    features = content["features"]
    slack = f32(1e-6)

    def tree(node):
        if "value" in node:
            return f32(node["value"])
        return (
            names.index(node["feature"]),
            f32(node["threshold"]) + slack,
            tree(node["left"]),
            tree(node["right"]),
        )

    def trees(x):
        total = f32(0)
        for weight, node in roots:
            while isinstance(node, tuple):
                node = node[2] if x[node[0]] <= node[1] else node[3]
            total = f32(total + weight * node)
        return total

    def linear(x):
        total = f32(0)
        for feature in features:
            value = f32(x[names.index(feature["name"])])
            if "norm" in feature:
                params = feature["norm"]["params"]
                value = f32(f32(value - f32(params["avg"])) / f32(params["std"]))
            total = f32(total + f32(f32(content["params"]["weights"][feature["name"]]) * value))
        return total

    roots = [(f32(one["weight"]), tree(one["root"])) for one in content["params"].get("trees", [])]
    return trees if roots else linear


@pytest.mark.parametrize("kind", [*TREES, *LINEAR])
def test_solr(kind, tmp_path):
    model, text = written(kind, "solr", tmp_path, name="shop")
    content = json.loads(text)
    X = single(kind, missing=False)
    X = X[~np.any((np.abs(X) > 0) & (np.abs(X) < 1e-12), axis=1)]  # nearer to 0 than Solr's slack allows
    score = solr(content, [*PLAIN.values(), "base_score"])
    found = [score(x) for x in np.hstack([X, np.zeros((len(X), 1))]).astype(f32)]
    if kind in TREES:
        close(found, in_single(model, X))
    else:
        linear_close(found, model, X)


class Vespa:
    """An evaluator of the ranking expressions that are written: a recursive descent of its own."""

    def __init__(self, text, values):
        self.tokens = re.findall(r"\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_]\w*|\|\||<=|>=|[-+*/(),<>]", text)
        self.at, self.values = 0, values

    def take(self, *wanted):
        if self.at < len(self.tokens) and self.tokens[self.at] in wanted:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def run(self):
        value = self.either()
        assert self.at == len(self.tokens)
        return value

    def either(self):
        value = self.comparison()
        while self.take("||"):
            other = self.comparison()
            value = bool(value) or bool(other)
        return value

    def comparison(self):
        value = self.sum()
        sign = self.take("<=", ">=", ">", "<")
        if sign is None:
            return value
        other = self.sum()
        return {"<=": value <= other, ">=": value >= other, ">": value > other, "<": value < other}[sign]

    def sum(self):
        value = self.product()
        while sign := self.take("+", "-"):
            other = self.product()
            value = value + other if sign == "+" else value - other
        return value

    def product(self):
        value = self.atom()
        while sign := self.take("*", "/"):
            other = self.atom()
            value = value * other if sign == "*" else value / other
        return value

    def atom(self):
        if self.take("-"):
            return -self.atom()
        if self.take("("):
            value = self.either()
            assert self.take(")")
            return value
        token = self.tokens[self.at]
        self.at += 1
        if token[0].isdigit():
            return np.float64(token)
        if token == "firstPhase":
            return self.values[token]
        assert self.take("(")
        if token == "attribute":
            value = self.values[self.tokens[self.at]]
            self.at += 1
        else:
            parts = [self.either()]
            while self.take(","):
                parts.append(self.either())
            if token == "if":
                value = parts[1] if parts[0] else parts[2]
            else:
                value = {"isNan": math.isnan, "abs": abs}[token](*parts)
        assert self.take(")")
        return value


@pytest.mark.parametrize("kind", KINDS)
def test_vespa(kind, tmp_path):
    model, text = written(kind, "vespa", tmp_path, name="shop")
    assert "rank-profile shop {" in text
    source = re.search(r"expression: (.*)\n", text)[1]
    found = items(kind)
    X, base = found.features.to_dense(), found.base_scores
    rows = range(0, len(X), 3) if len(source) > 5_000 else range(len(X))
    names = list(PLAIN.values())
    with np.errstate(all="ignore"):
        values = [
            Vespa(source, dict(zip(names, X[i], strict=True)) | {"firstPhase": base[i]}).run() for i in rows
        ]
    scores = model.raw_score(found)[list(rows)]
    np.testing.assert_allclose(values, scores, rtol=1e-12, atol=1e-12 * np.abs(scores).max())


def test_what_a_server_cannot_know_is_reported(tmp_path):
    with pytest.warns(
        rerank.DataNote, match="RankLib takes missing values for 0, but the model treats those of"
    ):
        written("trees missing", "ranklib", tmp_path)
    with pytest.warns(rerank.DataNote, match="Solr takes missing values for 0, but the model fills those of"):
        written("linear minmax mean", "solr", tmp_path)
    with pytest.warns(
        rerank.DataNote, match="XGBoost computes in single precision, where thresholds of time are equal"
    ):
        written("trees", "xgboost", tmp_path)
    with pytest.warns(rerank.DataNote, match="are written as _"):
        rerank.export(KINDS["trees"](), str(tmp_path / "m"), "lightgbm")


def test_trees_that_were_grown_without_missing_values_need_no_note(tmp_path, recwarn):
    rerank.export(KINDS["trees"](), str(tmp_path / "m"), "ranklib")
    assert not [w for w in recwarn if "missing" in str(w.message)]


@pytest.mark.parametrize("learner", ["lambdamart", "rankboost"])
@pytest.mark.parametrize("to", ["xgboost", "ranklib", "elasticsearch", "solr"])
def test_decimals_at_thresholds_go_the_same_way_in_single_precision(learner, to, tmp_path):
    """Thresholds are decimals, as are items: 0.1 is no float32, and its rounding is above it."""
    draw = np.random.default_rng(3)
    steps = 1 if learner == "rankboost" else 2  # trees are cut half way between the values of training
    X = draw.integers(-15, 15, (200, 2)) * steps
    X[:, 1] += 20 * (X[:, 0] > 6)
    X = X / 20
    y = (X.sum(axis=1) > 0.45).astype(float)
    given = {"rounds": 30} | ({"min_leaf": 1, "leaves": 6} if learner == "lambdamart" else {})
    data = CandidateLists.from_arrays(X, y, group=[20] * 10, feature_names=["a", "b"])
    model = rerank.train(data, learner=learner, **given)
    items = np.stack(np.meshgrid(np.arange(-40, 41) / 20, np.arange(-40, 60) / 20), axis=-1).reshape(-1, 2)
    scores = portable(model, "m").scores(items)
    path = tmp_path / "m.json"
    rerank.export(model, str(path), to)
    if to == "xgboost":
        xgboost = pytest.importorskip("xgboost")
        booster = xgboost.Booster(model_file=str(path))
        found = booster.predict(xgboost.DMatrix(items, feature_names=["a", "b"]), output_margin=True)
    else:
        text = path.read_text()
        make = {
            "ranklib": lambda: ranklib_ensemble(text),
            "elasticsearch": lambda: elasticsearch(json.loads(text), ["a", "b"]),
            "solr": lambda: solr(json.loads(text), ["a", "b"]),
        }
        score = make[to]()
        found = [score(x) for x in items.astype(f32)]
    thresholds = np.concatenate([tree.threshold for tree in portable(model, "m").as_trees()])
    assert np.isin(np.concatenate([thresholds, np.nextafter(thresholds, np.inf)]), items).any()
    close(found, scores)
