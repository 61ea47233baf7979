"""Models of other programs, trained by them here or found elsewhere, and their own scores."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from models.exchange.kinds import KINDS, lists
from models.exchange.test_servers import elasticsearch, ranklib_ensemble
from small_training import saved

import rerank
from rerank import CandidateLists
from rerank.models.exchange.calls import read_model
from rerank.models.exchange.portable import portable

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")
FOREIGN = Path("/work/shared/data/foreign-models")
f32 = np.float32


def data(missing=True, seed=2, n=400):
    """Features of several sizes, with ties, tiny values and whole numbers; labels; group sizes."""
    draw = np.random.default_rng(seed)
    X = np.column_stack(
        [
            draw.normal(size=n),
            draw.integers(0, 6, n),
            np.where(draw.random(n) < 0.7, 0.0, draw.normal(size=n) * 1e-3),
            draw.normal(size=n) * 1e5,
            draw.integers(0, 50, n) / 10,
        ]
    )
    y = np.clip(np.round(X[:, 0] + X[:, 1] / 2), 0, 3)
    if missing:
        X[draw.random(X.shape) < 0.1] = np.nan
    return X, y, [20] * (n // 20)


def scored(model, X, missing=None):
    """Scores of our model."""
    return model.score(CandidateLists.from_arrays(X, group=[len(X)]))


def close(found, expected):
    """Equal to the rounding of sums in single precision, with the same ties."""
    expected = np.asarray(expected, dtype=np.float64)
    np.testing.assert_allclose(found, expected, rtol=2e-6, atol=2e-6 * np.abs(expected).max())


def usable(model, X, y, tmp_path):
    """The model is one: it is saved, loaded, shown, judged and exported."""
    again = saved(model, tmp_path)
    assert np.array_equal(scored(again, X), scored(model, X))
    assert again.explain()
    assert again.lines()
    found = CandidateLists.from_arrays(X, y, group=[20] * (len(X) // 20))
    assert rerank.evaluate(found, again.score(found), ["nDCG@5"])["nDCG@5"] > 0.3
    for to in ("json", "python", "c"):
        rerank.export(again, str(tmp_path / "exported"), to)
    rerank.export(again, str(tmp_path / "exported"), "json")
    read = read_model(str(tmp_path / "exported"), "json")
    assert np.array_equal(scored(read, X), scored(model, X))


XGB = {
    "ndcg": {"objective": "rank:ndcg"},
    "pairwise exact": {"objective": "rank:pairwise", "tree_method": "exact"},
    "squared": {"objective": "reg:squarederror", "base_score": 0.25},
    "logistic": {"objective": "binary:logistic", "base_score": 0.3},
    "poisson": {"objective": "count:poisson"},
    "dart": {"objective": "rank:ndcg", "booster": "dart", "rate_drop": 0.5},
    "forest": {"objective": "reg:squarederror", "num_parallel_tree": 3, "subsample": 0.7},
    "lossguide": {"objective": "rank:ndcg", "grow_policy": "lossguide", "max_leaves": 9},
}


@pytest.mark.parametrize("suffix", ["json", "ubj"])
@pytest.mark.parametrize("kind", XGB)
def test_xgboost(kind, suffix, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y, group = data()
    labels = y > 1 if "logistic" in kind else y
    matrix = xgboost.DMatrix(X, labels, group=group if "rank" in XGB[kind]["objective"] else None)
    booster = xgboost.train({"max_depth": 5, "seed": 1, "nthread": 1, **XGB[kind]}, matrix, 12)
    path = str(tmp_path / f"m.{suffix}")
    booster.save_model(path)
    model = read_model(path, "xgboost")
    near = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    for rows in (X, near):
        expected = booster.predict(xgboost.DMatrix(rows), output_margin=True)
        close(scored(model, rows), expected)
    assert read_model(path).input_names == ["1", "2", "3", "4", "5"]
    usable(model, X, y, tmp_path)


def test_every_split_of_xgboost_is_that_of_single_precision(tmp_path):
    """Values that differ by one unit of a double around each threshold go the same way, tree by tree."""
    xgboost = pytest.importorskip("xgboost")
    X, y, group = data(missing=False)
    booster = xgboost.train({"objective": "rank:ndcg", "nthread": 1}, xgboost.DMatrix(X, y, group=group), 8)
    booster.save_model(str(tmp_path / "m.json"))
    scorer = portable(read_model(str(tmp_path / "m.json"), "xgboost"), "m")
    at = np.concatenate([tree.threshold for tree in scorer.trees])
    rows = np.repeat(np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])[:, None], 5, 1)
    constant = len(scorer.trees) - 8
    for k in range(8):
        part = booster.predict(xgboost.DMatrix(rows), output_margin=True, iteration_range=(k, k + 1))
        ours = scorer.trees[k + constant].scores(rows)
        base = scorer.trees[0].leaf[0] if constant else 0.0
        np.testing.assert_allclose(part, ours + base, rtol=1e-6, atol=1e-6)


def test_xgboost_linear_and_names(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = data(missing=False)
    names = ["a b", "c", "d", "e", "f"]
    matrix = xgboost.DMatrix(X, y, feature_names=names)
    booster = xgboost.train({"booster": "gblinear", "nthread": 1}, matrix, 5)
    booster.save_model(str(tmp_path / "m.json"))
    model = read_model(str(tmp_path / "m.json"), "xgboost")
    assert model.input_names == names
    margins = booster.predict(matrix, output_margin=True)
    gaps = scored(model, X) - margins
    assert np.ptp(gaps) < 1e-4 * np.abs(margins).max()


@pytest.mark.parametrize("given", [{"objective": "multi:softprob", "num_class": 4}, {"booster": "gbtree"}])
def test_what_xgboost_has_and_we_have_not_is_refused(given, tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y, _ = data()
    categorical = "num_class" not in given
    matrix = xgboost.DMatrix(
        np.nan_to_num(X[:, 1:2]), y, feature_types=["c"] if categorical else None, enable_categorical=True
    )
    booster = xgboost.train({"nthread": 1, "max_cat_to_onehot": 1, **given}, matrix, 2)
    booster.save_model(str(tmp_path / "m.json"))
    with pytest.raises(rerank.FormatError, match="categorical splits" if categorical else "several outputs"):
        read_model(str(tmp_path / "m.json"), "xgboost")


def test_xgboost_dump_is_what_search_engines_score(tmp_path):
    xgboost = pytest.importorskip("xgboost")
    X, y, group = data()
    names = ["title", "body", "age", "links", "clicks"]
    matrix = xgboost.DMatrix(X, y, group=group, feature_names=names)
    booster = xgboost.train({"objective": "rank:ndcg", "nthread": 1, "max_depth": 4}, matrix, 6)
    booster.dump_model(str(tmp_path / "m.json"), dump_format="json", with_stats=True)
    model = read_model(str(tmp_path / "m.json"), "xgboost")
    assert sorted(model.input_names) == sorted({*booster.get_score()})
    found = CandidateLists.from_arrays(X, group=[len(X)], feature_names=names)
    margins = booster.predict(matrix, output_margin=True)
    gaps = model.score(found) - margins
    assert np.ptp(gaps) < 1e-5


LGB = {
    "lambdarank": {"objective": "lambdarank"},
    "forest": {"objective": "regression", "boosting": "rf", "bagging_freq": 1, "bagging_fraction": 0.6},
    "zeros": {"objective": "regression", "zero_as_missing": True},
    "binary": {"objective": "binary"},
}


@pytest.mark.parametrize("kind", LGB)
def test_lightgbm(kind, tmp_path):
    lightgbm = pytest.importorskip("lightgbm")
    X, y, group = data()
    labels = y > 1 if kind == "binary" else y
    parameters = {"verbose": -1, "num_leaves": 9, "min_data_in_leaf": 5, "num_threads": 1, "seed": 1}
    rows = lightgbm.Dataset(X, labels, group=group if kind == "lambdarank" else None)
    booster = lightgbm.train(parameters | LGB[kind], rows, 10)
    booster.save_model(str(tmp_path / "m.txt"))
    model = read_model(str(tmp_path / "m.txt"), "lightgbm")
    expected = booster.predict(X, raw_score=True)
    if kind == "forest":  # raw scores are not averaged
        expected = booster.predict(X)
        np.testing.assert_allclose(scored(model, X), expected, rtol=1e-13)
    else:
        assert np.array_equal(scored(model, X), expected)
    usable(model, X, y, tmp_path)
    rerank.export(model, str(tmp_path / "again"), "lightgbm")
    again = lightgbm.Booster(model_file=str(tmp_path / "again")).predict(X, raw_score=True)
    assert np.array_equal(again, scored(model, X))


def test_catboost(tmp_path):
    catboost = pytest.importorskip("catboost")
    X, y, group = data()
    ids = np.repeat(np.arange(len(group)), group)
    for names in (None, ["a", "b c", "d", "e", "f"]):
        pool = catboost.Pool(X, y, group_id=ids, feature_names=names)
        trained = catboost.CatBoost(
            {
                "loss_function": "YetiRank",
                "iterations": 10,
                "depth": 4,
                "logging_level": "Silent",
                "thread_count": 1,
                "train_dir": str(tmp_path / "log"),
            }
        )
        trained.fit(pool)
        trained.save_model(str(tmp_path / "m.json"), format="json")
        model = read_model(str(tmp_path / "m.json"), "catboost")
        near = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
        found = CandidateLists.from_arrays(near, group=[len(near)], feature_names=names)
        np.testing.assert_allclose(model.score(found), trained.predict(near), rtol=1e-12, atol=1e-12)
        assert model.input_names == (names or ["1", "2", "3", "4", "5"])
    plain = read_model(str(tmp_path / "m.json"), "catboost")
    plain.feature_names = ["1", "2", "3", "4", "5"]
    usable(plain, X, y, tmp_path)


def arrays_of(trees, single, constant=0.0):
    """The arrays of scikit-learn's trees, as the manual describes them."""
    sizes = [len(tree["left"]) for tree in trees]
    joined = {name: np.concatenate([tree[name] for tree in trees]) for name in trees[0]}
    return {
        "offsets": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "constant": np.array([constant], dtype=np.float64),
        "single": np.array([int(single)]),
        "n_features": np.array([5]),
        **joined,
    }


def test_sklearn_gradient_boosting(tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    X, y, _ = data(missing=False)
    fitted = ensemble.GradientBoostingRegressor(n_estimators=10, max_leaf_nodes=8, random_state=1).fit(X, y)
    trees = [
        {
            "feature": np.maximum(tree.feature, 0),
            "threshold": tree.threshold,
            "left": tree.children_left,
            "right": tree.children_right,
            "value": tree.value[:, 0, 0] * fitted.learning_rate,
        }
        for tree in (one.tree_ for one in fitted.estimators_[:, 0])
    ]
    np.savez(tmp_path / "m.npz", **arrays_of(trees, True, float(fitted.init_.constant_[0, 0])))
    model = read_model(str(tmp_path / "m.npz"), "sklearn")
    near = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    np.testing.assert_allclose(scored(model, near), fitted.predict(near), rtol=1e-12, atol=1e-12)
    usable(model, X, y, tmp_path)


def test_sklearn_histogram_gradient_boosting(tmp_path):
    ensemble = pytest.importorskip("sklearn.ensemble")
    X, y, _ = data()
    fitted = ensemble.HistGradientBoostingRegressor(max_iter=10, max_leaf_nodes=8, random_state=1).fit(X, y)
    trees = []
    for (predictor,) in fitted._predictors:
        nodes = predictor.nodes
        leaf = nodes["is_leaf"].astype(bool)
        trees.append(
            {
                "feature": nodes["feature_idx"].astype(np.int64),
                "threshold": nodes["num_threshold"],
                "left": np.where(leaf, -1, nodes["left"].astype(np.int64)),
                "right": np.where(leaf, -1, nodes["right"].astype(np.int64)),
                "value": nodes["value"],
                "missing_left": nodes["missing_go_to_left"].astype(np.int64),
            }
        )
    constant = float(np.ravel(fitted._baseline_prediction)[0])
    np.savez(tmp_path / "m.npz", **arrays_of(trees, False, constant))
    model = read_model(str(tmp_path / "m.npz"), "sklearn")
    near = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf)])
    np.testing.assert_allclose(scored(model, near), fitted.predict(near), rtol=1e-12, atol=1e-12)


def test_sklearn_linear(tmp_path):
    linear = pytest.importorskip("sklearn.linear_model")
    preprocessing = pytest.importorskip("sklearn.preprocessing")
    X, y, _ = data(missing=False)
    scaler = preprocessing.StandardScaler().fit(X)
    fitted = linear.Ridge().fit(scaler.transform(X), y)
    np.savez(tmp_path / "m.npz", coef=fitted.coef_, mean=scaler.mean_, scale=scaler.scale_)
    model = read_model(str(tmp_path / "m.npz"), "sklearn")
    expected = fitted.predict(scaler.transform(X)) - fitted.intercept_
    np.testing.assert_allclose(scored(model, X), expected, rtol=1e-10, atol=1e-10)
    usable(model, X, y, tmp_path)


def test_liblinear_and_libsvm_rise_with_the_larger_label(tmp_path):
    X = np.array([[1.0, 2.0], [3.0, -1.0]])
    for labels, sign in (("1 -1", 1.0), ("-1 1", -1.0), ("0 3", -1.0)):
        (tmp_path / "m").write_text(
            f"solver_type L2R_LR\nnr_class 2\nlabel {labels}\nnr_feature 2\nbias 1\nw\n0.5 \n-2 \n7 \n"
        )
        assert scored(read_model(str(tmp_path / "m")), X).tolist() == (sign * (X @ [0.5, -2.0])).tolist()
        (tmp_path / "m").write_text(
            f"svm_type c_svc\nkernel_type linear\nnr_class 2\ntotal_sv 2\nrho 0.5\nlabel {labels}\n"
            "nr_sv 1 1\nSV\n0.5 1:1 2:-4 \n-0.25 2:4 \n"
        )
        assert scored(read_model(str(tmp_path / "m")), X).tolist() == (sign * (X @ [0.5, -3.0])).tolist()
    (tmp_path / "m").write_text("solver_type L2R_L2LOSS_SVR\nnr_class 2\nnr_feature 2\nbias -1\nw\n0.5\n-2\n")
    assert scored(read_model(str(tmp_path / "m")), X).tolist() == (X @ [0.5, -2.0]).tolist()


SVM = """SVM-light Version V6.20
{kernel} # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
9 # highest feature index
80 # number of training documents
{n} # number of support vectors plus 1
0.25 # threshold b, each following line is a SV (starting with alpha*y)
{rows}"""


def test_svm_rank(tmp_path):
    X = np.array([[1.0, 2.0, 0.0], [3.0, -1.0, 4.0]])
    (tmp_path / "m").write_text(SVM.format(kernel=0, n=2, rows="1 1:0.5 3:-2 #\n"))
    assert scored(read_model(str(tmp_path / "m")), X).tolist() == (X @ [0.5, 0.0, -2.0]).tolist()
    (tmp_path / "m").write_text(SVM.format(kernel=0, n=3, rows="0.5 1:1 #\n-2 qid:3 1:1 3:1 # x\n"))
    assert scored(read_model(str(tmp_path / "m")), X).tolist() == (X @ [-1.5, 0.0, -2.0]).tolist()
    (tmp_path / "m").write_text(SVM.format(kernel=2, n=2, rows="1 1:0.5 #\n"))
    with pytest.raises(rerank.FormatError, match=r"kernel type 2, expected 0 \(linear\)"):
        read_model(str(tmp_path / "m"))


def test_ranklib_weights_and_rounds(tmp_path):
    X = np.array([[1.0, 2.0, 0.5], [3.0, -1.0, 0.25], [1.5, 2.5, 0.0]])
    for head, row, expected in (
        ("Coordinate Ascent", "1:0.5 3:-2.0", X @ [0.5, 0, -2]),
        ("Linear Regression", "0:9.0 2:0.5 3:1.0", X @ [0, 0.5, 1.0]),
        ("AdaRank", "2:0.5 2:0.25 1:1.0", X @ [1.0, 0.75, 0]),
        ("RankBoost", "1:1.0:0.5 2:2.0:0.25 1:2.0:1.0", [0.0, 1.5, 0.75]),
    ):
        (tmp_path / "m").write_text(f"## {head}\n## Something = 1\n\n{row}\n")
        model = read_model(str(tmp_path / "m"))
        found = CandidateLists.from_arrays(X, group=[3])
        assert model.score(found).tolist() == np.asarray(expected).tolist(), head
    (tmp_path / "m").write_text("## ListNet\n## Epochs = 1\n1\n")
    with pytest.raises(rerank.FormatError, match=r"a neural network \(ListNet\)"):
        read_model(str(tmp_path / "m"))


@pytest.mark.parametrize("kind", ["trees", "trees zscore indicator", "stumps alone"])
def test_ranklib_round_trip(kind, tmp_path):
    model = KINDS[kind]()
    rerank.export(model, str(tmp_path / "m"), "ranklib")
    again = read_model(str(tmp_path / "m"))
    X = np.nan_to_num(lists().features.to_dense()).astype(f32).astype(np.float64)
    score = ranklib_ensemble((tmp_path / "m").read_text())
    close(scored(again, X[:, : len(again.input_names)]), [score(x) for x in X.astype(f32)])


LEAVES = '<split pos="left"><output>1</output></split><split pos="right"><output>-1</output></split>'
RANKLIB = f"""## LambdaMART
<ensemble><tree id="1" weight="0.5"><split><feature>3</feature><threshold>0.5</threshold>{LEAVES}
</split></tree></ensemble>
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("<ensemble>", "<ensemble></ensemble>", "<tree> in no ensemble"),
        ("<tree ", "<ensemble>", "<ensemble> in ensemble"),
        ("</split></tree>", "</tree>", "</tree> without its beginning"),
        ("</ensemble>", "", "trees that end early"),
        ('pos="right"', 'pos="left"', "a split that is neither the left nor the right one"),
        ("<threshold>0.5</threshold>", "", "a split without a threshold, two children or an output"),
        ("<output>-1</output>", "", "a split without a threshold, two children or an output"),
        (">0.5</threshold>", ">1e39</threshold>", "too large for single precision"),
        ("<feature>3", "<feature>x", "feature"),
    ],
)
def test_broken_trees_of_ranklib_are_refused(old, new, message, tmp_path):
    path = tmp_path / "m.txt"
    path.write_text(RANKLIB)
    model = read_model(str(path))
    assert scored(model, np.array([[0, 0, 0.5], [0, 0, 0.75]])).tolist() == [0.5, -0.5]
    path.write_text(RANKLIB.replace(old, new, 1))
    with pytest.raises(rerank.RerankError, match=message) as caught:
        read_model(str(path))
    assert "\n" not in str(caught.value)


def foreign(name):
    path = FOREIGN / name
    if not path.exists():
        pytest.skip("no shared data")
    return str(path), gzip.decompress(path.read_bytes()).decode()


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ranklib-mart", "ranklib-randomForest"])
def test_foreign_trees_of_ranklib(name, tmp_path):
    path, text = foreign(f"{name}.txt.gz")
    model = read_model(path)
    parts = text.split("<ensemble>")[1:]
    scores = [ranklib_ensemble("<ensemble>" + part) for part in parts]
    draw = np.random.default_rng(1)
    at = np.concatenate([tree.threshold for tree in model.trees])
    X = draw.choice(at, (300, len(model.input_names)))
    X = np.vstack([X, np.nextafter(X, np.inf), np.nextafter(X, -np.inf), np.zeros_like(X[:1])])
    X[np.abs(X) < 1e-34] = 0.0  # the trees of this package take such values for 0
    with np.errstate(over="ignore"):
        single = X.astype(f32)
    expected = [sum(float(score(x)) for score in scores) / len(scores) for x in single]
    close(scored(model, X), expected)


@pytest.mark.shared
def test_foreign_weights_of_ranklib():
    for name, weights in (
        ("ranklib-coord_ascent.txt.gz", {"1": 0.5, "2": 0.5}),
        ("ranklib-linRegression.txt.gz", {"1": 0.30545402144173783, "2": 0.13565247758049973}),
    ):
        model = read_model(foreign(name)[0])
        assert dict(zip(model.input_names, model.weights.tolist(), strict=True)) == weights


@pytest.mark.shared
def test_foreign_trees_of_xgboost():
    path, text = foreign("xgboost-wmf.json.gz")
    model = read_model(path)
    names = model.input_names
    body = {
        "featureset": {"features": [{"name": name} for name in names]},
        "model": {"model": {"type": "model/xgboost+json", "definition": text}},
    }
    score = elasticsearch(body, names)
    draw = np.random.default_rng(1)
    at = np.concatenate([tree.threshold for tree in model.trees])
    X = draw.choice(at, (60, len(names)))
    X = np.vstack([X, np.nextafter(X, np.inf), np.zeros_like(X[:1])])
    close(
        model.score(CandidateLists.from_arrays(X, group=[len(X)], feature_names=names)), [score(x) for x in X]
    )
    assert len(json.loads(text)) == model.n_rounds


def libsvm(path, X, y):
    """An SVMlight file, whose numbers count from 1."""
    rows = (" ".join(f"{j}:{v!r}" for j, v in enumerate(x, 1) if v) for x in X.tolist())
    path.write_text("".join(f"{label:g} {row}\n" for label, row in zip(y, rows, strict=True)))


@pytest.mark.parametrize("program", ["lightgbm", "xgboost", "xgboost linear"])
def test_models_of_svmlight_files_know_features_by_their_numbers(program, tmp_path):
    """Both programs take feature 1 of such a file for column 1, and never use column 0."""
    module = pytest.importorskip(program.split()[0])
    X, y, _ = data(missing=False)
    libsvm(tmp_path / "train", X, y)
    path = str(tmp_path / "m")
    if program == "lightgbm":
        parameters = {"objective": "regression", "verbose": -1, "num_threads": 1}
        booster = module.train(parameters, module.Dataset(str(tmp_path / "train")), 5)
        booster.save_model(path)
        with pytest.warns(rerank.DataNote, match="columns are numbered as in SVMlight files"):
            model = read_model(path, "lightgbm")
        expected = booster.predict(np.column_stack([np.zeros(len(X)), X]), raw_score=True)
    else:
        wide = np.column_stack([np.full(len(X), np.nan), X])  # what XGBoost reads of such a file
        more = {"booster": "gblinear"} if program.endswith("linear") else {}
        booster = module.train({"nthread": 1, **more}, module.DMatrix(wide, y), 5)
        booster.save_model(path + ".json")
        with pytest.warns(rerank.DataNote, match="--first-column 0"):
            assert len(read_model(path + ".json", "xgboost").input_names) == 6
        model = read_model(path + ".json", "xgboost", first_column=0)
        expected = booster.predict(module.DMatrix(wide), output_margin=True)
    assert model.input_names == ["1", "2", "3", "4", "5"]
    gaps = scored(model, X) - expected
    assert np.ptp(gaps) < (1e-2 if "linear" in program else 1e-5)
    with pytest.raises(rerank.FormatError, match="a model that uses column 0"):
        read_model(saved_trees(module, X, y, tmp_path), program.split()[0], first_column=0)
    with pytest.raises(rerank.ConfigError, match="--first-column: not used by the format ranklib"):
        read_model(str(tmp_path / "train"), "ranklib", first_column=0)


def saved_trees(module, X, y, folder):
    """A model of arrays that uses column 0."""
    path = str(folder / "arrays.json")
    if module.__name__ == "lightgbm":
        module.train({"verbose": -1, "num_threads": 1}, module.Dataset(X, y), 3).save_model(path)
    else:
        module.train({"nthread": 1}, module.DMatrix(X, y), 3).save_model(path)
    return path


def test_names_come_from_a_file(tmp_path):
    (tmp_path / "m").write_text("## Coordinate Ascent\n1:0.5 2:-2.0\n")
    (tmp_path / "names").write_text("1\tbm25\n2\tage\n")
    model = rerank.import_model(
        str(tmp_path / "m"), str(tmp_path / "out"), "ranklib", names=str(tmp_path / "names")
    )
    assert model.input_names == ["bm25", "age"]
    assert rerank.load_model(str(tmp_path / "out")).input_names == ["bm25", "age"]
    (tmp_path / "names").write_text("7\tbm25\n")
    with pytest.raises(rerank.ConfigError, match="the model has no feature '7'"):
        read_model(str(tmp_path / "m"), names=str(tmp_path / "names"))


def test_a_feature_number_is_not_a_size(tmp_path):
    (tmp_path / "m").write_text("## Coordinate Ascent\n3:1.0 2147483647:0.5\n")
    assert read_model(str(tmp_path / "m")).input_names == ["3", "2147483647"]
    (tmp_path / "m").write_text(
        "solver_type L2R_LR\nnr_class 2\nlabel 1 0\nnr_feature 999999999\nbias 1\nw\n1\n"
    )
    with pytest.raises(rerank.FormatError, match="1 weights, but nr_feature says 999999999"):
        read_model(str(tmp_path / "m"))


def test_the_verb(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.txt").write_text("## Coordinate Ascent\n1:0.5 2:-2.0\n")
    err = rerank("import", "m.txt", "--from", "ranklib", "--out", "model").err
    assert err == "rerank: ranklib: a linear model, 2 weights, to model\n"
    assert "imported from ranklib" in rerank("show", "model").out
    Path("a.letor").write_text("1 qid:1 1:2\n0 qid:1 2:1\n")
    assert rerank("predict", "model", "a.letor").out == "1.0\n-2.0\n"
    Path("bad").write_text("nothing\n")
    err = rerank("import", "bad", "--out", "x", code=2).err
    assert "bad: found a model of unknown format, expected --from with one of bllip, catboost, json" in err
    err = rerank("import", "bad", "--from", "solr", "--out", "x", code=2).err
    assert "models are not imported from solr; known: bllip, catboost, json" in err
