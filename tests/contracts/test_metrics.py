"""What every metric must do, run over the examples of all families: a new metric is tested by being there.

A metric needs a slow twin: tests/reference/metrics/FILE.py for rerank/metrics/FILE.py, or SUBJECT.py for
rerank/extensions/SUBJECT/metrics.py, with a function
``value(metric, lists, scores, ties)`` that computes the corpus value straight from the definition.
"""

import contextlib
import importlib
import itertools
import math
import re
from dataclasses import replace

import numpy as np
import pytest
from reference.everything import NAN, judged_lists
from small_judging import evaluate, values

from rerank.cli import listings
from rerank.core.errors import ConfigError, DataError
from rerank.data.judge import PreparedMetric, SelectingJudge, corpus_value
from rerank.evaluation.significance import bootstrap_sums
from rerank.metrics.base import FAMILIES, parse, parse_all, prepare_all
from rerank.metrics.judges import statistics
from rerank.metrics.judging import Judging

pytestmark = [  # models in the sets
    pytest.mark.filterwarnings("ignore:.*with alpha carbons alone:rerank.core.errors.DataNote"),
    pytest.mark.filterwarnings("ignore:.*not judged by:rerank.core.errors.DataNote"),
    pytest.mark.filterwarnings("ignore:.*clashes:rerank.core.errors.DataNote"),
    pytest.mark.filterwarnings("ignore:.*structure that shares a residue:rerank.core.errors.DataNote"),
]
TIES = ("trec", "expected", "input")
ALL = [example for name in FAMILIES.names() for example in FAMILIES.get(name).examples]
# Others: test_class_metrics.py, and of assemblies, which these sets lack, extensions/proteins/atoms.
OF_ASSEMBLIES = ("atoms.interfaces", "atoms.casp16")
EXAMPLES = [
    example
    for example in ALL
    if not parse(example).of_classes and not type(parse(example)).__module__.endswith(OF_ASSEMBLIES)
]
SETS = {
    "mixed": judged_lists(1),
    "mixed again": judged_lists(2, sizes=(2, 4, 1, 3, 5, 2, 3)),
    "one item": judged_lists(3, sizes=(1, 1, 1), labels=[1.0, 0.0, 2.0]),
    "one list": judged_lists(4, sizes=(5,), labels=[0.0, 2.0, NAN, 1.0, 2.0]),
    "equal labels": judged_lists(5, sizes=(3, 2), labels=[1.0] * 5),
    "nothing relevant": judged_lists(6, sizes=(3, 2), labels=[0.0] * 5),
    "unjudged": judged_lists(7, sizes=(3, 2), labels=[NAN] * 5),
    "no text": judged_lists(8, sizes=(2, 3), labels=[1.0, 0.0, 2.0, 0.0, 1.0], n_words=0),
}


def scores_of(lists, seed=0):
    """Few different scores, so that there are ties."""
    return np.random.default_rng(seed).integers(0, 3, lists.n_items).astype(float)


def judged(example, lists, **options):
    """A judge; skips if the metric needs a package that is not installed."""
    try:
        (judge,) = prepare_all(lists, [example], Judging(**options))
    except ConfigError as error:
        if "pip install" in str(error):
            pytest.skip(str(error))
        raise
    return judge


NAMES = {family: name for name, family in FAMILIES.entries().items()}
# Metrics whose slow twin has a file of its own.
TWINS = {
    **dict.fromkeys(("ERR", "RBP", "RBP.residual"), "browsing"),
    **dict.fromkeys(("bpref", "infAP", "Judged"), "judged"),
    **dict.fromkeys(("best", "pass"), "best"),
    "PairAcc": "pairs",
    "TER": "ter",
    "clashes": "clashes",
}


def twin_of(metric):
    """The slow twin's function ``value``."""
    _, subject, name = type(metric).__module__.rsplit(".", 2)
    name = TWINS.get(NAMES.get(type(metric), ""), subject if name == "metrics" else name)
    where = f"tests/reference/metrics/{name}.py"
    missing = f"{where} is missing: add it with value(metric, lists, scores, ties), the slow twin"
    try:
        module = importlib.import_module(f"reference.metrics.{name}")
    except ModuleNotFoundError as error:
        if error.name != f"reference.metrics.{name}":
            raise
        pytest.fail(missing)
    return getattr(module, "value", None) or pytest.fail(
        f"{where} has no function value: it is the slow twin"
    )


def same(found, expected):
    return found == pytest.approx(expected, rel=1e-9, abs=1e-9, nan_ok=True)


@pytest.mark.parametrize("name", FAMILIES.names())
def test_a_family_describes_itself_and_is_listed(name):
    kind = FAMILIES.get(name)
    assert kind.family == name
    assert kind.summary
    assert kind.__doc__
    assert re.fullmatch(r"[0-9A-Z].{40,}\.", kind.meaning), f"{name}: meaning is one to three sentences"
    assert re.search(r"\b(1[89]|20)\d\d\b|^[A-Za-z_]+$", kind.source), (
        f"{name}: source is a paper or a program"
    )
    assert "lower is better" not in kind.summary, f"{name}: better = -1 says so"
    assert kind.examples, f"{name} has no examples for this suite"
    assert not set(kind.needs) - {
        "labels", "texts", "references", "trees", "gold", "counts", "classes", "answers", "traces",
        "natives", "subtopics",
    }  # fmt: skip
    for key, field in kind.settings.items():
        assert field.help, f"{name}: parameter {key} has no help"
    listed = " ".join(" ".join(listings.lines_of(listings.metrics())).split())
    direction = "; lower is better" * (kind.better < 0)
    assert f"{name} {kind.summary}{direction}" in listed
    lines = listings.metric_lines(name)
    text = " ".join(line.strip() for line in lines)
    for stated in (kind.summary, kind.meaning, kind.source, kind.elsewhere):
        assert stated in text
    for typed in (name.lower(), name.upper(), name.rstrip("."), *kind.examples[:1]):
        assert listings.metric_lines(typed) == listings.metric_lines(FAMILIES.get(name).family)
    for example in kind.examples:
        assert type(parse(example)) in (kind, type(parse(example).canonical()))
        assert example in "\n".join(lines)


@pytest.mark.parametrize("example", ALL)
def test_a_name_prints_back(example):
    metric = parse(example)
    assert parse(metric.name) == metric
    assert parse(metric.name).name == metric.name
    assert hash(parse(metric.name)) == hash(metric)
    name = type(metric).family
    for alias in (*FAMILIES.aliases(name), name.lower(), name.upper()):
        typed = metric.name.replace(name, alias, 1) if "." not in name[-1] else metric.name
        assert parse(typed) == metric
    with pytest.raises(ConfigError, match="unknown parameter 'no_such_parameter'"):
        parse(f"{name}(no_such_parameter=1)" if not name.endswith(".") else "BLEU(no_such_parameter=1)")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_value_is_that_of_the_slow_twin_in_every_mode_of_ties(example):
    metric = parse(example)
    value = twin_of(metric)
    for name, seed in itertools.product(SETS, range(2)):
        lists = SETS[name]
        scores = scores_of(lists, seed)
        for ties in TIES if metric.uses_ties else TIES[:1]:
            judge = judged(example, lists, ties=ties)
            expected = value(metric, lists, scores.tolist(), ties)
            assert same(corpus_value(judge, judge.per_list(scores)), expected), (name, ties)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_mode_of_ties_matters_as_declared(example):
    lists, metric = SETS["mixed"], parse(example)
    scores = scores_of(lists)
    found = [judged(example, lists, ties=ties).per_list(scores) for ties in TIES]
    if not metric.uses_ties:
        assert np.array_equal(found[0], found[1])
        assert np.array_equal(found[0], found[2])
    untied = np.random.default_rng(0).permutation(lists.n_items).astype(float)
    found = [judged(example, lists, ties=ties).per_list(untied) for ties in TIES]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-12)
    np.testing.assert_allclose(found[0], found[2], rtol=1e-12)


@pytest.mark.parametrize("example", EXAMPLES)
def test_whether_scores_matter_is_as_declared(example):
    changed = False
    for lists in (SETS["mixed"], SETS["mixed again"]):
        judge = judged(example, lists)
        rows = [judge.per_list(scores_of(lists, seed)) for seed in range(4)]
        changed |= any(not np.array_equal(rows[0], row) for row in rows)
    assert parse(example).of_scores or not changed


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_direction_is_that_of_the_judge(example):
    metric = parse(example)
    assert judged(example, SETS["mixed"]).better == getattr(metric, "inner", metric).better


@pytest.mark.parametrize("example", EXAMPLES)
def test_no_ranking_beats_the_oracle(example):
    for lists, ties in itertools.product(SETS.values(), TIES):
        judge = judged(example, lists, ties=ties)
        oracle, random = judge.oracle(), judge.random()
        first = corpus_value(judge, judge.first_best())
        own = corpus_value(judge, judge.per_list(scores_of(lists)))
        assert judge.better in (1, -1)
        assert len({math.isnan(value) for value in (oracle, random, first, own)}) == 1
        if not math.isnan(oracle):
            for value in (random, first, own):
                assert judge.better * (oracle - value) >= -1e-9
        assert judge.random() == random or math.isnan(random)  # the same each time


@pytest.mark.parametrize("example", EXAMPLES)
def test_lists_that_are_not_judged_count_nothing(example):
    lists, metric = SETS["mixed"], parse(example)
    judge = judged(example, lists)
    rows = judge.per_list(scores_of(lists))
    assert judge.judged.dtype == bool
    assert judge.judged.shape == (lists.n_lists,)
    assert not rows[~judge.judged].any()
    if "labels" in metric.needs:
        assert not judge.judged[1]
        assert not judged(example, SETS["unjudged"]).judged.any()
        assert math.isnan(corpus_value(judged(example, SETS["unjudged"]), np.zeros_like(rows)))


@pytest.mark.parametrize("example", EXAMPLES)
def test_statistics_add_up_and_can_be_resampled(example):
    lists, metric = SETS["mixed"], parse(example)
    scores = scores_of(lists)
    judge = judged(example, lists)
    rows = judge.per_list(scores)
    assert isinstance(judge, PreparedMetric)
    assert rows.dtype == np.float64
    assert rows.ndim == 2
    assert np.isfinite(rows).all()
    assert corpus_value(judge, rows) == values(lists, scores, [example])[example]
    sums = bootstrap_sums(rows[judge.judged], 24, 1)
    together = np.asarray(judge.score_from_sums(sums))
    assert together.shape == (24,)
    assert np.array_equal(together, [float(judge.score_from_sums(row)) for row in sums], equal_nan=True)
    folded = np.asarray(judge.score_from_sums(sums.reshape(4, 6, -1)))
    assert np.array_equal(folded.ravel(), together, equal_nan=True)
    if metric.list_by_list:
        halves = [np.arange(0, lists.n_lists, 2), np.arange(1, lists.n_lists, 2)]
        for half in halves:
            items = np.isin(lists.list_index, half)
            # Modes of ties are explicit: their default depends on the ids of all lists.
            part = judged(example, lists.subset(half), ties="input").per_list(scores[items])
            whole = judged(example, lists, ties="input").per_list(scores)[half]
            np.testing.assert_array_equal(part, whole)


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_order_of_the_lists_changes_nothing(example):
    lists = SETS["mixed"]
    scores = scores_of(lists)
    order = np.random.default_rng(3).permutation(lists.n_lists)
    moved = lists.subset(order)
    moved_scores = np.concatenate([scores[lists.list_index == i] for i in order])
    one, other = judged(example, lists), judged(example, moved)
    rows, moved_rows = one.per_list(scores), other.per_list(moved_scores)
    if parse(example).list_by_list:
        np.testing.assert_array_equal(moved_rows, rows[order])
    assert same(corpus_value(other, moved_rows), corpus_value(one, rows))
    assert same(other.oracle(), one.oracle())


@pytest.mark.parametrize("example", EXAMPLES)
def test_only_the_order_of_the_scores_matters(example):
    lists = SETS["mixed"]
    scores = scores_of(lists)
    judge = judged(example, lists)
    rows = judge.per_list(scores)
    orders = (3 * scores - 7, scores**3, np.exp(scores), scores.astype(np.float32), list(scores))
    for other in orders if parse(example).of_order else orders[3:]:
        np.testing.assert_array_equal(judge.per_list(other), rows)
    for wrong, message in ((np.full(lists.n_items, NAN), "NaN"), (scores[:-1], "shape"), (["a"], "numbers")):
        with pytest.raises(DataError, match=message):
            judge.per_list(wrong)


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_missing_column_is_reported(example):
    lists, metric = SETS["mixed"], parse(example)
    judged(example, lists)  # skips if it cannot be counted here
    for column in metric.needs:
        empty = () if column == "references" else None
        with pytest.raises(DataError) as caught:
            metric.prepare(replace(lists, **{column: empty}))
        assert str(caught.value).startswith("everything: ")
        assert "\n" not in str(caught.value)
    rest = {"labels", "texts", "references", "trees", "gold", "traces", "natives"} - set(metric.needs)
    if metric.needs:
        bare = replace(lists, **{column: () if column == "references" else None for column in rest})
        assert np.array_equal(
            metric.prepare(bare).per_list(scores_of(bare)), metric.prepare(lists).per_list(scores_of(lists))
        )


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_input_stays_as_it_was(example):
    lists = judged_lists(1)
    before = lists.fingerprint()
    scores = scores_of(lists)
    scores.flags.writeable = False
    lists.labels.flags.writeable = False
    judge = judged(example, lists)
    for call in (judge.random, judge.oracle, judge.first_best):
        call()
    judge.per_list(scores)
    assert lists.fingerprint() == before


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_judge_of_single_items_agrees_with_its_choice(example):
    lists = SETS["mixed"]
    judge = judged(example, lists)
    if not isinstance(judge, SelectingJudge):
        return
    assert judge.per_item.shape[0] == lists.n_items
    assert np.isfinite(judge.per_item).all()
    best = [int(np.argmax(part)) for part in np.split(scores_of(lists), lists.offsets[1:-1])]
    chosen = lists.offsets[:-1] + np.array(best)
    np.testing.assert_array_equal(judge.per_item[chosen], judge.per_list(scores_of(lists)))
    own = [float(judge.score_from_sums(row)) for row in judge.per_item]
    assert np.array_equal(judge.item_values(), own, equal_nan=True)


def test_metrics_judged_together_are_those_judged_alone():
    lists = SETS["mixed"]
    scores = scores_of(lists)
    known = [example for example in EXAMPLES if not type(parse(example)).__module__.endswith("chrf")]
    judges = prepare_all(lists, known)
    for example, rows in zip(known, statistics(judges, scores), strict=True):
        np.testing.assert_array_equal(rows, judged(example, lists).per_list(scores))
    signatures = [judge.signature for judge in judges]
    assert len(set(signatures)) == len({parse(example).name for example in known})
    found = evaluate(lists, {"s": scores}, known, samples=20)
    assert list(found.metrics) == [judge.name for judge in judges]


HUGE, MOST = 1e308, float(np.finfo(np.float64).max)
WIDTHS = {"BLEU": 10, "PARSEVAL": 5, "WER": 2, "PER": 2, "CER": 2, "TER": 2, "chrF": 18}


@pytest.mark.parametrize("example", EXAMPLES)
def test_numbers_beyond_reason_are_values_or_one_line(example):
    """No warning of numpy comes out, whatever the labels, saved counts and scores are."""
    plain = judged_lists(4, sizes=(5,), labels=[0.0, 2.0, NAN, 1.0, 2.0])
    counts = [{key: np.full((5, width), value) for key, width in WIDTHS.items()} for value in (HUGE, -MOST)]
    counts += [{key: np.outer([0, 1, HUGE, 1, 0], np.ones(w)) for key, w in WIDTHS.items()}]
    odd = [replace(plain, labels=np.array(row)) for row in ([HUGE, -HUGE, NAN, MOST, 5e-324], [MOST] * 5)]
    odd += [replace(plain, counts=one) for one in counts]
    scores = {"a": [HUGE, -MOST, 5e-324, np.inf, -np.inf], "b": [MOST] * 5}
    for lists in odd:
        with contextlib.suppress(ConfigError, DataError):
            evaluate(lists.with_first_best("input"), scores, [example], samples=20).as_json()


@pytest.mark.parametrize("example", EXAMPLES)
@pytest.mark.parametrize(
    "policy", [{}, {"ties": "expected", "no_relevant": "skip"}, {"missing_lists": "zero"}]
)
def test_a_pasted_signature_is_the_metric(example, policy):
    judge = judged(example, SETS["mixed"], **policy)
    given = {key: value for key, value in policy.items() if key == "missing_lists"}  # done before the metric
    again = judged(judge.signature, SETS["mixed"], **given)
    assert again.signature.split("|")[1:] == judge.signature.split("|")[1:]
    scores = scores_of(SETS["mixed"])
    assert np.array_equal(again.per_list(scores), judge.per_list(scores), equal_nan=True)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("nDCG(gain=rel)@10", "nDCG@10"),
        ("nDCG(gain=2^rel-1)@10", "nDCG-exp@10"),
        ("nDCG@3|gain:2^rel-1|discount:1,log2(i)", "nDCG-letor@3"),
        ("ERR|gain:(2^rel-1)/2^4", "ERR(max=4)"),
        ("AP | rel:2", "AP(rel=2)"),
        (
            "BLEU|nrefs:1|case:lc|eff:no|tok:none|smooth:floor[0.10]|version:2.6.0",
            "BLEU(lc=1, smooth=floor)",
        ),
        ("BLEU|smooth:add-k[2.00]", "BLEU(smooth=add-k, value=2)"),
        ("sBLEU|smooth:add-1[higher]", "sBLEU(smooth=higher)"),
        ("chrF2++|nrefs:1|case:lc|eff:yes|nc:6|nw:2|space:yes", "chrF(nw=2, lc=1, space=1)"),
        (
            "TER|nrefs:1|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes",
            "TER(normalized=1, no_punct=1, asian=1, case_sensitive=1)",
        ),
        ("oracle:5|label@1|mean:lists", "oracle5.label@1"),
        ("oracle:2|sBLEU|smooth:add-1[higher]", "oracle2.sBLEU(smooth=higher)"),
    ],
)
def test_words_of_signatures_are_settings(typed, name):
    assert parse(typed).name == name


@pytest.mark.parametrize(
    "typed",
    [
        "AP|foo",
        "AP|gain:rel",
        "AP(gain=rel)",
        "AP|rel:x",
        "AP|missing:zero",
        "WER|nrefs:7",
        "nDCG@3|gain:rel|discount:1,log2(i)",
    ],
)
def test_a_word_that_is_not_true_is_refused(typed):
    with pytest.raises(ConfigError, match="is not in its signature"):
        parse(typed).prepare(SETS["mixed"])


def test_the_message_on_an_untrue_word_names_the_known_ones():
    known = r"known: gain:rel, gain:2\^rel-1$"
    for typed in ("nDCG@3|gain:exp", "nDCG(gain=exp)@3"):
        with pytest.raises(ConfigError, match=known):
            parse(typed).prepare(SETS["mixed"])


def test_signatures_of_one_metric_agree_in_ties():
    metrics = parse_all(["AP|ties:expected", "AP|rel:1|ties:expected", "RR|ties:input"])
    assert list(metrics) == ["AP", "RR"]
    judges = prepare_all(SETS["mixed"], metrics.values())
    assert ["ties:expected" in judges[0].signature, "ties:input" in judges[1].signature] == [True, True]
    for other in ("AP|ties:input", "AP", "MAP|ties:expected|no_relevant:skip"):
        with pytest.raises(ConfigError, match="AP is named twice, with other ties or no_relevant"):
            parse_all(["AP|ties:expected", other])
