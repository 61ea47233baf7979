"""predict --diversify and rerank.diversify: similarities, aspects, the choice of the share, faults."""

import numpy as np
import pytest
from reading import silent

import rerank
from rerank import save
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.extensions.diversity import similarities
from rerank.extensions.diversity.subtopics import with_subtopics

TEXTS = ["jaguar the big cat", "jaguar the large cat", "jaguar the car", "a band", "a band", ""]


def some_lists(n=8, seed=0, ids=True):
    """Lists whose relevant documents of one subtopic have the largest scores."""
    rng = np.random.default_rng(seed)
    lists = rerank.CandidateLists.from_arrays(
        (np.tile([6.0, 5.0, 4.0, 3.0, 2.0, 1.0], n) + rng.normal(0, 0.1, 6 * n))[:, None],
        [1, 1, 1, 0, 0, 0] * n,
        qid=np.repeat([f"q{i}" for i in range(n)], 6),
        item_ids=[f"d{k}" for k in range(6)] * n,
        texts=TEXTS * n,
        feature_names=["f"],
    )
    judged = {f"q{i}": {"cat": {"d0": 1, "d1": 1}, "car": {"d2": 1}, "band": {"d3": 1}} for i in range(n)}
    return with_subtopics(lists, judged)


@pytest.fixture(scope="module")
def model():
    return silent(rerank.train, some_lists(seed=5), learner="best-feature", metric="label@1")


def test_words_are_weighted_by_how_rare_they_are_in_the_list():
    (table,) = similarities.tables("words", some_lists(1))
    np.testing.assert_allclose(table, table.T)
    assert np.array_equal(table.diagonal(), np.ones(6))
    assert table[3, 4] == pytest.approx(1.0)
    assert table[0, 1] > table[0, 2] > table[0, 3] == 0
    assert not table[5, :5].any()


@pytest.mark.parametrize("by", ["sBLEU", "ngram1", "votes", "kernel:gaussian", "chrF"])
def test_similarities_are_symmetric_and_those_of_an_item_with_itself_1(by):
    for table in similarities.tables(by, some_lists(2)):
        np.testing.assert_array_equal(table, table.T)
        np.testing.assert_array_equal(table.diagonal(), 1.0)
        assert table.min() >= 0
        assert table.max() <= 1 + 1e-12


def test_the_second_item_differs(model):
    lists = some_lists(2)
    found = rerank.diversify(model, "mmr:0.5")
    assert found.score(lists)[:6].tolist()[0] == 6.0
    assert found.score(lists)[1] < found.score(lists)[2]
    both = [
        rerank.evaluate(lists, one.score(lists), ["strec@2"], ci=None)["strec@2"] for one in (model, found)
    ]
    assert both[0] == pytest.approx(1 / 3)
    assert both[1] == pytest.approx(2 / 3)
    first = rerank.diversify(model, "mmr:0.5", depth=1).score(lists)
    np.testing.assert_array_equal(first.reshape(2, 6), np.tile(np.arange(6.0, 0, -1), (2, 1)))


@pytest.mark.parametrize("method", ["mmr", "dpp"])
def test_the_share_is_the_best_one_on_dev(model, tmp_path, method):
    dev, test = some_lists(6, seed=1), some_lists(4, seed=2)
    found = rerank.diversify(model, method, tune_on=dev, metric="alpha-nDCG@3")
    record = found.diversification.tuned
    assert len(record.tried) == 10
    values = dict(record.tried)
    assert record.value == max(values.values()) == values[found.diversification.share] > record.without
    again = rerank.diversify(model, f"{method}:{found.diversification.share}")
    np.testing.assert_array_equal(again.score(test), found.score(test))
    path = str(tmp_path / "model")
    found.save(path)
    read = rerank.load_model(path)
    np.testing.assert_array_equal(read.score(test), found.score(test))
    assert read.diversification == found.diversification
    assert "share chosen on" in "\n".join(read.decision_lines())
    # Of relevance alone no order is better than that of the scores.
    plain = rerank.diversify(model, method, tune_on=dev, metric="AP")
    assert plain.diversification.share is None
    np.testing.assert_array_equal(
        plain.score(test).argsort(), test.input_order(plain.score_items(test)).argsort()
    )
    assert "the scores alone decide" in "\n".join(plain.decision_lines())


def test_predict_diversifies_a_run_by_aspects_from_a_file(model, tmp_path):
    lists = some_lists(2)
    path = tmp_path / "aspects"
    path.write_text(
        "".join(
            f"q{i} {a} {d} {v}\n"
            for i in (0, 1)
            for a, d, v in [("cat", "d0", 0.9), ("cat", "d1", 0.8), ("car", "d2", 0.7), ("band", "d3", 0.9)]
        )
    )
    for method in ("xquad:0.8", "pm2:0.5"):
        found = rerank.diversify(model, method, str(path)).score(lists)
        assert found[1] < min(found[0], found[2], found[3])
        with pytest.raises(ConfigError, match="no model can hold it"):
            rerank.diversify(model, method, str(path)).save(str(tmp_path / "m"))
    path.write_text(path.read_text() + "q0 cat x 1\nq7 cat d0 1\n")
    with pytest.warns(DataNote, match="1 line of documents that are in no list"):
        rerank.diversify(model, "xquad:0.8", str(path)).score(lists)


def test_aspects_have_weights(model, tmp_path):
    """A likely aspect comes first; weights are divided by their sum, those of absent aspects are unused."""
    lists, weights = some_lists(1), tmp_path / "likely"
    values = "q0 cat d0 0.9\nq0 cat d1 0.8\nq0 car d2 0.7\nq0 band d3 0.9\n"
    (tmp_path / "aspects").write_text(values)

    def scores(text, method="xquad:1"):
        weights.write_text(text)
        given = str(tmp_path / "aspects"), None
        return rerank.diversify(model, method, *given, weights=str(weights)).score(lists).tolist()

    even = rerank.diversify(model, "xquad:1", str(tmp_path / "aspects")).score(lists).tolist()
    assert scores("q0 cat 2\nq0 car 2\nq0 band 2\nq0 other 9\nq7 cat 1\n") == even
    for method in ("xquad:1", "pm2:1"):
        found = scores("q0 cat 1\nq0 car 8\nq0 band 1\n", method)
        assert found[2] == len(found)
    for text, message in (
        ("q0 cat 1\nq0 car 1\n", "likely: found no weight of aspect 'band' of query 'q0'"),
        ("q0 cat 0\nq0 car 0\nq0 band 0\n", "every weight of its aspects is 0"),
        ("q0 cat -1\n", "likely:1: found the weight -1, expected 0 or more"),
        ("q0 cat x\n", "likely:1: found weight 'x'"),
        ("q0 cat 1\nq0 cat 2\n", "likely:2: found aspect 'cat' again for query 'q0'"),
        ("q0 cat d0 1\n", "likely:1: found 4 fields, expected three fields: query aspect weight"),
        ("", "found no weight"),
    ):
        with pytest.raises((DataError, FormatError), match=message):
            scores(text)
    with pytest.raises(ConfigError, match="mmr has no aspects"):
        rerank.diversify(model, "mmr:0.5", weights=str(weights))


def test_aspects_are_columns_of_features(model):
    lists = some_lists(1)
    wide = rerank.CandidateLists.from_arrays(
        np.column_stack([lists.features.column(0), [1, 1, 0, 0, 0, 0], [0, 0, 5, 0, 0, 0]]),
        group=[6],
        feature_names=["f", "a1", "a2"],
    )
    found = silent(rerank.diversify(model, "xquad:0.9", "features:a*,max").score, wide)
    assert found[2] == 5.0
    with pytest.raises(
        DataError, match=r"item 3, feature 'a2': found the aspect value 5, expected 0 to 1; ,max"
    ):
        silent(rerank.diversify(model, "xquad:0.9", "features:a*").score, wide)
    with pytest.raises(DataError, match="no feature matches 'b'"):
        silent(rerank.diversify(model, "xquad:0.9", "features:b").score, wide)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        (
            "q0 a d0 2\n",
            DataError,
            "document 'd0', aspect 'a' of query 'q0': found the aspect value 2, expected 0 to 1",
        ),
        ("q0 a d0 -1\n", DataError, "found the aspect value -1, expected 0 or more"),
        ("q0 a d0 nan\n", FormatError, "aspects:1: found value 'nan', expected a finite number"),
        ("q0 a d0\n", FormatError, "found 3 fields, expected four fields: query subtopic document value"),
        ("x a d0 1\n", DataError, "has no document of"),
    ],
)
def test_faults_of_aspects_are_one_line(model, tmp_path, text, error, message):
    (tmp_path / "aspects").write_text(text)
    with pytest.raises(error, match=message):
        rerank.diversify(model, "pm2:0.5", str(tmp_path / "aspects")).score(some_lists(1))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"method": "mmr"}, "no number and no lists that choose it"),
        ({"method": "mmr:0.5", "tune_on": True, "metric": "AP"}, "a number and lists that choose it"),
        ({"method": "mmr", "tune_on": True}, "no metric that chooses the share"),
        ({"method": "mmr:0.5", "metric": "AP"}, "metric AP without lists"),
        ({"method": "xquad:0.5"}, "xquad needs aspects"),
        ({"method": "xquad:0.5", "by": "absent"}, "absent: no such file"),
        ({"method": "mmr:0.5", "by": "WER"}, "it counts errors"),
        ({"method": "mmr:0.5", "by": "feature:f"}, r"kernel:gaussian\(f\) is a similarity"),
        ({"method": "mmr:0.5", "by": "wrods"}, "wrods"),
        ({"method": "mmr:0.5", "depth": 0}, "depth: found 0"),
    ],
)
def test_what_does_not_fit_together_is_one_line(model, given, message):
    if given.get("tune_on"):
        given = given | {"tune_on": some_lists(1)}
    with pytest.raises(ConfigError, match=message):
        rerank.diversify(model, **given)


def test_lists_without_what_is_compared_are_refused(model):
    bare = rerank.CandidateLists.from_arrays([[1.0], [2.0]], group=[2], feature_names=["f"])
    with pytest.raises(DataError, match="the lists have no texts"):
        rerank.diversify(model, "mmr:0.5", "words").score(bare)
    with pytest.raises(DataError, match="no subtopics are judged"):
        rerank.diversify(model, "mmr", tune_on=bare, metric="alpha-nDCG@3")


def test_the_verb(tmp_path, monkeypatch, model, rerank):
    monkeypatch.chdir(tmp_path)
    save(some_lists(3, seed=1), "dev.store")
    save(some_lists(3, seed=2), "test.store")
    model.save("m")
    found = rerank(
        "predict",
        "m",
        "test.store",
        "--diversify",
        "mmr",
        "--tune-on",
        "dev.store",
        "--tune-metric",
        "strec@2",
        "--as",
        "best",
    )
    assert "share chosen on dev.store: strec@2" in found.err
    for options, message in [
        (["--diversify", "mmr:2"], "from 0 to 1"),
        (["--similarity", "words"], "not used without --diversify"),
        (["--diversify", "mmr:0.5", "--aspects", "a"], "--aspects: not used by --diversify mmr:0.5"),
        (["--diversify", "mmr:0.5", "--decide", "mbr"], "--decide: not used with --diversify"),
        (["--diversify", "mmr:0.5", "--keep-margin", "1"], "--keep-margin: not used with --diversify"),
    ]:
        refused = rerank("predict", "m", "test.store", *options, code=2)
        assert message in refused.err
        assert refused.err.count("\n") == 1
