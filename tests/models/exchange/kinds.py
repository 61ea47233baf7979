"""Models of every kind that can be exported, and items whose values lie where formats go wrong."""

from dataclasses import replace
from functools import cache

import numpy as np

import rerank
from rerank import CandidateLists
from rerank.data.missing import Imputation, fit_missing
from rerank.data.scaling import fit_scaling
from rerank.models.fusion import CombMnz, CombSum
from rerank.models.linear import LinearModel, ThresholdModel
from rerank.models.pipeline import Chain
from rerank.models.stumps import StumpModel

NAMES = ["plain", "time stamp", 'quo"te\\', "count", "rare", "größe"]
PLAIN = dict(zip(NAMES, ["plain", "time", "quoted", "count", "rare", "size"], strict=True))


@cache
def lists(missing: bool = False, seed: int = 3) -> CandidateLists:
    """Lists of 6 features: reals, large numbers with a small spread, whole numbers, mostly zeros."""
    draw = np.random.default_rng(seed)
    n = 120
    X = np.column_stack(
        [
            draw.normal(size=n),
            1.7e9 + np.round(draw.normal(size=n) * 1e3) / 7,
            draw.normal(size=n).astype(np.float32),
            draw.integers(0, 5, n),
            np.where(draw.random(n) < 0.8, 0.0, draw.normal(size=n)),
            draw.integers(-3, 4, n) / 10,
        ]
    )
    y = np.clip(np.round(X[:, 0] + X[:, 3] / 2 + (X[:, 4] > 0)), 0, 4)
    if missing:
        X[draw.random(X.shape) < 0.15] = np.nan
    return CandidateLists.from_arrays(X, y, group=[12] * 10, feature_names=NAMES)


def _with(model, lists, scaling=None, missing=None):
    filled = None if missing is None else fit_missing(missing.removeprefix("old "), lists)
    if filled is not None and missing.startswith("old "):
        filled = Imputation(filled.name, filled.n_features, filled.n_items)  # before scaling, as 0.1 did
    first = filled is not None and not filled.after
    scaled = None if scaling is None else fit_scaling(scaling, filled.apply(lists) if first else lists)
    steps = [filled, scaled] if first else [scaled, filled]
    model.chain = Chain(tuple(step for step in steps if step is not None))
    return model


def linear(kind=LinearModel, scaling=None, missing=None, *more, weights=None):
    """A linear model with a scaling and a policy."""
    data = lists(missing is not None)
    names = list(NAMES)
    if missing == "indicator":
        names += Imputation.indicators(fit_missing(missing, data), NAMES)
    draw = np.random.default_rng(5)
    w = draw.normal(size=len(names)) if weights is None else weights
    w[4] = 0.0
    return _with(kind(names, w, *more), data, scaling, missing)


def stumps(scaling=None, missing=None, known=None, weight=0.25):
    """Stumps with repeated, negative and extreme thresholds, and raw rounds."""
    draw = np.random.default_rng(7)
    data = lists(missing is not None or known is not None)
    ready = data if missing is None else fit_missing(missing, data).apply(data)
    if scaling is not None:
        ready = fit_scaling(scaling, ready).apply(ready)
    X = np.nan_to_num(ready.features.to_dense())
    feature = np.array([0, 0, 1, 3, 3, 5, 5, 2, 0, 4, 1], dtype=np.int32)
    rows = draw.integers(0, len(X), len(feature))
    threshold = X[rows, feature]
    threshold[7] = -np.finfo(np.float64).max
    raw = np.zeros(len(feature), dtype=np.uint8)
    if weight:
        raw[8], threshold[8] = 1, 1.0
    gone = None
    if known is not None:
        gone = np.where(draw.random(len(feature)) < 0.4, 1.0, 0.0)
        gone[feature == 5] = np.nan
    weights = np.zeros(len(ready.names()))
    weights[3] = weight if known is None else 0.0
    step = draw.normal(size=len(feature))
    return _with(
        StumpModel(ready.names(), weights, feature, threshold, step, raw, gone), data, scaling, missing
    )


@cache
def lambdamart(scaling=None, missing=None):
    """Trees, grown on lists with or without missing values."""
    data = lists(missing is not None)
    return rerank.train(
        data, learner="lambdamart", rounds=12, leaves=8, min_leaf=2, scaling=scaling, missing=missing
    )


def based(model):
    """The model with a weight of the first stage's score."""
    model.base_weight = -0.375
    return model


def kept(model):
    """The model with a keep margin."""
    model.keep_margin = 0.5
    return model


def dual():
    """A model of support items with the linear kernel."""
    return rerank.train(lists(), learner="perceptron", kernel="linear", epochs=2, scaling="zscore")


KINDS = {
    "linear": linear,
    "linear zscore": lambda: linear(scaling="zscore"),
    "linear minmax mean": lambda: linear(LinearModel, "minmax", "mean"),
    "linear zscore zero": lambda: linear(LinearModel, "zscore", "zero"),
    "linear zscore old zero": lambda: linear(LinearModel, "zscore", "old zero"),
    "linear zscore indicator": lambda: linear(LinearModel, "zscore", "indicator"),
    "linear base": lambda: based(linear(scaling="zscore")),
    "linear kept": lambda: kept(linear()),
    "thresholds": lambda: linear(
        ThresholdModel, "zscore", None, np.array([-1.0, 0.5, np.inf]), np.array([0.0, 1.0, 2.0, 5.0])
    ),
    "combsum": lambda: linear(CombSum, "minmax", weights=np.ones(6)),
    "combmnz": lambda: linear(CombMnz, "zscore", weights=np.ones(6)),
    "combmnz mean": lambda: linear(CombMnz, "minmax", "mean", weights=np.ones(6)),
    "stumps": stumps,
    "stumps zscore": lambda: stumps("zscore"),
    "stumps minmax indicator": lambda: stumps("minmax", "indicator"),
    "stumps zscore zero": lambda: stumps("zscore", "zero"),
    "stumps missing": lambda: stumps(None, "nan", True),
    "stumps zscore missing": lambda: stumps("zscore", "nan", True),
    "stumps alone": lambda: stumps(weight=0.0),
    "stumps alone missing": lambda: stumps(None, "nan", True, weight=0.0),
    "stumps base": lambda: based(stumps()),
    "trees": lambdamart,
    "trees zscore": lambda: lambdamart("zscore"),
    "trees missing": lambda: lambdamart(None, "nan"),
    "trees zscore zero": lambda: lambdamart("zscore", "zero"),
    "trees minmax mean": lambda: lambdamart("minmax", "mean"),
    "trees zscore indicator": lambda: lambdamart("zscore", "indicator"),
}
ACCEPTS_MISSING = {
    name for name in KINDS if any(w in name for w in ("mean", "zero", "indicator", "missing", "comb"))
}


def items(kind: str) -> CandidateLists:
    """Items of training, of another seed, with ties at thresholds and the neighbours of their values."""
    missing = kind in ACCEPTS_MISSING
    rows = [lists(missing).features.to_dense(), lists(missing, 11).features.to_dense()]
    near = rows[0][:40].copy()
    rows += [np.nextafter(near, np.inf), np.nextafter(near, -np.inf), np.zeros((1, 6)), near * 1e6, -near]
    tiny = np.zeros((4, 6))
    tiny[:] = np.array([1e-35, -1e-35, 1e-40, -2e-35])[:, None]
    rows.append(tiny)
    if missing:
        rows.append(np.full((1, 6), np.nan))
    X = np.vstack(rows)
    found = CandidateLists.from_arrays(X, group=[len(X)], feature_names=NAMES)
    base = np.random.default_rng(1).normal(size=len(X))
    return replace(found, base_scores=base, first_best=base)
