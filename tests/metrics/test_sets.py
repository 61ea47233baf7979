"""Sets of metrics: one word for several, wherever several may be named."""

import pytest

import rerank
from rerank.cli.listings import metric_lines
from rerank.core.errors import ConfigError
from rerank.experiments.config import ExperimentConfig
from rerank.metrics.base import FAMILIES, parse, parse_all
from rerank.metrics.judging import SETS, expanded

CASP = SETS["casp"].metrics


@pytest.mark.parametrize("name", SETS)
def test_a_set_holds_canonical_names_and_hides_no_metric(name):
    one = SETS[name]
    assert [parse(metric).name for metric in one.metrics] == list(one.metrics)
    spellings = {s.lower() for family in FAMILIES.names() for s in (family, *FAMILIES.aliases(family))}
    assert name == name.lower()
    assert name not in spellings
    lines = "\n".join(metric_lines(name.upper()))
    assert all(part in lines for part in (*one.metrics, one.summary, one.source, f"-m {one.metrics[0]}"))


def test_a_set_stands_for_its_metrics_in_its_place():
    assert expanded(["AP", " CASP ", "RR"]) == ["AP", *CASP, "RR"]
    assert list(parse_all("casp")) == list(CASP)
    assert list(parse_all(["Pearson", "casp"])) == ["Pearson", *(m for m in CASP if m != "Pearson")]
    with pytest.raises(ConfigError, match=r"casp is a set of metrics, expected one of them: label@1, loss@1"):
        parse("casp")


def test_results_name_the_metrics_of_a_set():
    labels, scores = [[1.0, 3.0, 2.0], [5.0, 4.0]], [[0.1, 0.2, 0.3], [0.2, 0.1]]
    one = rerank.evaluate(labels, scores, "casp")
    assert list(one) == list(CASP)
    assert one == {name: rerank.evaluate(labels, scores, name)[name] for name in CASP}
    several = rerank.evaluate(labels, {"a": scores, "b": labels}, ["casp"], samples=5)
    assert list(several.metrics) == list(CASP)
    pairs = rerank.compare(labels, {"a": scores, "b": labels}, "casp", samples=5).pairs
    assert list(pairs) == list(CASP)


def test_an_experiment_keeps_the_metrics_of_a_set():
    sections = {"data": {"train": "a", "test": "b"}, "learners": {"ridge": {}}}
    assert ExperimentConfig(metrics=["casp", "AP"], **sections).metrics == (*CASP, "AP")
    assert ExperimentConfig(metrics="casp", **sections).metrics == CASP
    with pytest.raises(ConfigError, match="given twice"):
        ExperimentConfig(metrics=["casp", "Pearson"], **sections)
