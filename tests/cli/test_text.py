"""N-best lists of text through the command line: labels from references, training, BLEU."""

import json

import numpy as np
import pytest
from command_line import NBEST

from rerank import load

DEV = ("dev.nbest", "-f", "moses")
REF = ("--refs", "dev.ref")
REFS = ["the cat sat down", "it rains in town", "yes"]


def test_training_on_labels_made_from_references(rerank, nbest):
    rerank(
        "train", "--data", *DEV, *REF, "--label", "sBLEU",
        "-m", "BLEU", "--out", "model",
    )  # fmt: skip
    rerank("predict", "model", *DEV, "-o", "scores")
    asked = ("eval", "dev.nbest", "scores", "-f", "moses", *REF, "--as", "json")
    found = json.loads(rerank(*asked).out)
    assert list(found["metrics"]) == ["BLEU"]
    assert found["metrics"]["BLEU"]["first_best"] < found["systems"][0]["metrics"]["BLEU"]["value"]
    assert found["systems"][0]["metrics"]["BLEU"]["value"] == pytest.approx(100)


def test_the_best_texts_are_those_that_eval_judges(rerank, nbest):
    sacrebleu = pytest.importorskip("sacrebleu", reason="needs rerank[mt]")
    (nbest / "scores").write_text("1\n2\n3\n9\n8\n0\n1\n")
    found = json.loads(
        rerank("eval", "dev.nbest", "scores", "-f", "moses", "-R", "dev.ref", "--as", "json").out
    )
    chosen = ["a cat", "it rains in the town", ""]
    expected = sacrebleu.corpus_bleu(chosen, [REFS], tokenize="none", force=True).score
    assert found["systems"][0]["metrics"]["BLEU"]["value"] == pytest.approx(expected, abs=1e-12)


def test_a_feature_with_the_metrics_name_is_reported(rerank, nbest):
    (nbest / "dev.nbest").write_text(NBEST.replace("lm=", "Bleu="))
    asked = ("train", *DEV, *REF, "--label", "sBLEU", "-m", "BLEU", "--out", "model")
    result = rerank(asked[0], "--data", *asked[1:])
    assert "feature 'Bleu' has the same name as the metric BLEU" in result.err


def test_consensus_features_are_added_by_name(rerank, nbest):
    asked = ("features", "consensus", *DEV, "--by", "ngram1", "--by", "lm", "--statistic")
    assert (
        rerank(*asked, "median", "-o", "c.store").err
        == "rerank: 7 items with 2 further features to c.store (store)\n"
    )
    lists = load("c.store")
    assert lists.names()[-2:] == ["consensus.ngram1.median", "consensus.lm.median"]
    np.testing.assert_allclose(lists.features.column(3)[:3], [(1 + 1 / 3) / 2, (3 / 4 + 1 / 4) / 2, 1 / 2])
    assert "did you mean 'median'" in rerank(*asked, "medan", "-o", "x.store", code=2).err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("label", *DEV, "-m", "sBLEU", "-o", "x.store"), "needs references"),
        (("label", *DEV, *REF, "-m", "AP", "-o", "x.store"), "labels need one of single candidates"),
        (("label", *DEV, "-R", "short", "-m", "sBLEU", "-o", "x.store"), "short"),
        (("label", *DEV, *REF, "-m", "sBLUE", "-o", "x.store"), "did you mean"),
        (("train", "--data", *DEV, "-o", "m"), "no judged item"),
        (("eval", *DEV, "-m", "BLEU"), "needs references"),
    ],
)
def test_what_is_missing_is_reported(rerank, nbest, arguments, message):
    (nbest / "short").write_text("one\n")
    assert message in rerank(*arguments, code=2).err


def test_a_configuration_with_references(rerank, nbest):
    (nbest / "c.yaml").write_text(
        "data:\n  {train: dev.nbest, dev: dev.nbest, format: moses, refs: [dev.ref], dev_refs: [dev.ref],\n"
        "   label: sBLEU}\n"
        "select: {metric: BLEU, keep: best}\n"
    )
    result = rerank("train", "c.yaml", "--out", "model")
    assert "note: dev and train are the same file" in result.err
    assert "dev BLEU 100" in result.err
