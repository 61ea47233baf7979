"""TreeKernel: the values of the kernel, and its manners as a transformer of scikit-learn."""

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.data.columns.forests import Forest
from rerank.extensions.parsing.tree_kernels import TreeFunction
from rerank.similarity.tree_sets import TreeSet

TREES = [
    "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))",
    ["S", ["NP", ["DT", "a"], ["NN", "dog"]], ["VP", ["VBZ", "barks"]]],
    "(S (NP (NN dog)) (VP (VBZ sees) (NP (DT the) (NN dog))))",
    None,
    "(NN dog)",
]


@pytest.mark.parametrize(
    "params", [{}, {"name": "sst", "decay": 1}, {"name": "bow", "normalise": False}, {"max_children": 1}]
)
def test_values(params):
    kernel = rerank.TreeKernel(**params)
    K = kernel.fit_transform(TREES)
    (every,) = TreeSet.of(kernel.trees_)
    values = kernel.transform(TREES)
    assert np.array_equal(values, TreeFunction(**{"name": "ptk", **params}).matrix(every, every))
    assert np.array_equal(K, K.T)
    assert np.allclose(values, K, rtol=1e-14, atol=0)
    assert np.array_equal(kernel.transform(tuple(TREES[1:3])), values[1:3])
    assert np.array_equal(
        kernel.set_params(jobs=2).fit(Forest.from_strings(kernel.trees_.to_strings())).transform(TREES),
        values,
    )


def test_symmetric_to_the_last_bit():
    """K(x, y) and K(y, x) are sums in different orders, here of several children each."""
    words = "abcdefg"
    trees = [f"(S {' '.join(words[k:])} (X {' '.join(words[: k + 2])}) {words[k]})" for k in range(5)]
    for name in ("sst-leaves", "ptk"):
        K = rerank.TreeKernel(name, decay=0.77).fit_transform(trees)
        assert np.array_equal(K, K.T)


def test_parameters():
    kernel = rerank.TreeKernel(decay=0.3)
    assert kernel.get_params() == {
        "name": "ptk",
        "decay": 0.3,
        "mu": 0.4,
        "max_children": None,
        "normalise": True,
        "jobs": None,
    }
    assert repr(kernel.set_params(mu=0.2)) == "TreeKernel(decay=0.3, mu=0.2)"
    with pytest.raises(ConfigError, match="unknown parameter 'lambda'; known: decay"):
        kernel.set_params(**{"lambda": 1})
    for params, message in (
        ({"name": "pkt"}, "unknown kernel 'pkt'; did you mean 'ptk'"),
        ({"name": "linear"}, "unknown kernel 'linear'"),
        ({"name": "sst", "mu": 0.3}, "kernel sst: unknown setting 'mu'"),
        ({"name": "bow", "decay": 1}, "kernel bow: unknown setting 'decay'"),
        ({"decay": 2}, "kernel ptk: decay: found 2, expected 1 or less"),
    ):
        with pytest.raises(ConfigError, match=message):
            rerank.TreeKernel(**params).fit(TREES)
    with pytest.raises(RerankError, match="call fit first"):
        kernel.transform(TREES)
    with pytest.raises(DataError, match="tree 2: found 'dog'"):
        kernel.fit(["(NN dog)", "dog"])
    with pytest.raises(DataError, match="no items"):
        kernel.fit(TREES).transform([])


def test_in_a_pipeline_of_scikit_learn():
    pytest.importorskip("sklearn")
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline
    from sklearn.svm import SVC

    trees = [f"(S (NP (NN dog{i % 3})) (VP (V{i % 2} x{i % 5})))" for i in range(24)]
    y = np.arange(24) % 2
    kernel = rerank.TreeKernel(decay=0.2, jobs=1)
    again = clone(kernel)
    assert again is not kernel
    assert again.get_params() == kernel.get_params()
    pipeline = make_pipeline(kernel, SVC(kernel="precomputed"))
    search = GridSearchCV(
        pipeline, {"treekernel__decay": [0.1, 0.4], "treekernel__name": ["sst", "ptk"]}, cv=3
    )
    for given in (trees, np.array(trees, dtype=object), Forest.from_strings(trees)):
        search.fit(given, y)
        assert search.best_score_ == 1.0
        assert (search.predict(trees[:7]) == y[:7]).all()
