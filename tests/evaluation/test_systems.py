"""What eval and compare take as systems: runs by ids, tables, features; values of each run alone."""

import json
import warnings

import numpy as np
import pytest
import pytrec_eval
from reading import silent
from reference.trec_eval import by_query

import rerank
from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.data.reading import Reading
from rerank.evaluation.evaluate import compare_files, evaluate_files
from rerank.metrics.base import FAMILIES, parse, prepare_all
from rerank.metrics.judges import statistics

TREC = {
    "AP": "map", "AP@5": "map_cut_5", "P@5": "P_5", "R@5": "recall_5", "RR": "recip_rank",
    "nDCG": "ndcg", "nDCG@5": "ndcg_cut_5", "Success@5": "success_5",
}  # fmt: skip


def notes_of(function, *args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        function(*args, **options)
    return [str(note.message) for note in caught]


def drawn(seed, n_queries=9):
    """Judgements and two runs, each with ties, lacking some queries and having one that is not judged."""
    rng = np.random.default_rng(seed)
    documents = [f"d{k}" for k in range(25)]

    def some():
        return rng.choice(documents, int(rng.integers(1, 15)), replace=False).tolist()

    queries = [f"q{i}" for i in range(n_queries)]
    qrels = {q: {d: int(rng.choice([0, 0, 1, 2])) for d in some()} for q in queries}
    qrels["q0"] = dict.fromkeys(qrels["q0"], 0)  # nothing relevant
    runs = {}
    for name in ("a", "b"):
        kept = [q for q in [*queries[:-1], "unjudged"] if rng.random() < 0.8 or q == "q1"]
        runs[name] = {q: {d: float(np.round(rng.normal(), 1)) for d in some()} for q in kept}
    return qrels, runs


def written(tmp_path, qrels, runs):
    """Their files, as TREC has them; lines of a query are in any order."""
    lines = [f"{q} 0 {d} {label}" for q, judged in qrels.items() for d, label in judged.items()]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    for name, run in runs.items():
        rows = [(q, d, score) for q, found in run.items() for d, score in found.items()]
        ranked = [(q, d, 1 + sum(other > score for other in run[q].values()), score) for q, d, score in rows]
        text = "".join(f"{q} Q0 {d} {rank} {score} {name}\n" for q, d, rank, score in ranked)
        (tmp_path / f"{name}.run").write_text(text)
    return [str(tmp_path / name) for name in ("qrels.txt", "a.run", "b.run")]


def trec_eval(qrels, run):
    measures = {"map", "map_cut", "P", "recall", "recip_rank", "ndcg", "ndcg_cut", "success"}
    return pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run)


@pytest.mark.parametrize("seed", range(6))
def test_each_run_has_trec_evals_values_of_it_alone(tmp_path, seed):
    qrels, runs = drawn(seed)
    data, a, b = written(tmp_path, qrels, runs)
    theirs = {path: trec_eval(qrels, run) for path, run in ((a, runs["a"]), (b, runs["b"]))}
    every = {q for q in qrels if q in runs["a"] or q in runs["b"]}
    both = every & runs["a"].keys() & runs["b"].keys()
    for policy, counted in (("zero", set(qrels)), ("any", every), ("skip", both)):
        found = silent(evaluate_files, data, [a, b], list(TREC), missing_lists=policy, samples=5)
        for path, of_run in theirs.items():
            for metric, name in TREC.items():
                rows = {q: value for q, *_, value in found.per_list(path) if _[1] == metric}
                assert rows == {q: of_run.get(q, {}).get(name, 0.0) for q in counted}
                value = found.systems[path][metric].value
                assert value == pytest.approx(sum(rows.values()) / len(counted), rel=1e-14)
                assert f"missing_lists:{policy}" in found.metrics[metric].signature
    assert {q: v for q, _, m, v in found.per_list(a) if m == "AP"} == pytest.approx(
        {q: v for q, v in by_query("AP", qrels, runs["a"]).items() if q in both}
    )
    assert found.metrics["AP"].first_best is None


@pytest.mark.parametrize("policy", ["zero", "any", "skip"])
def test_a_run_with_judgements_is_one_of_the_systems(tmp_path, policy):
    """DATA a run and --qrels, DATA the judgements, Python's dictionaries: the same numbers."""
    qrels, runs = drawn(11)
    data, a, b = written(tmp_path, qrels, runs)
    reading = Reading(qrels=data)
    pair = silent(compare_files, a, [b], ["AP"], reading=reading, missing_lists=policy, samples=50).pairs[
        "AP"
    ][0]
    other = silent(compare_files, data, [a, b], ["AP"], missing_lists=policy, samples=50).pairs["AP"][0]
    assert pair.as_json() == other.as_json()
    own = silent(
        rerank.compare, qrels, {a: runs["a"], b: runs["b"]}, ["AP"], missing_lists=policy, samples=50
    )
    assert own.pairs["AP"][0].value_a == pytest.approx(pair.value_a, abs=1e-15)
    found = silent(evaluate_files, a, [b], ["AP"], reading=reading, missing_lists=policy, samples=5)
    assert found.metrics["AP"].first_best == pytest.approx(pair.value_a)
    assert found.systems[b]["AP"].value == pytest.approx(pair.value_b)


def test_trec_evals_averages(tmp_path):
    """One run: left out as by trec_eval, or 0 as by trec_eval -c, said in notes and the signature."""
    qrels = {"1": {"a": 1}, "2": {"a": 1}, "3": {"b": 0}, "4": {"c": 1}}
    run = {"1": {"a": 1.0}, "2": {"b": 2.0, "a": 1.0}}
    data, a, b = written(tmp_path, qrels, {"a": run, "b": run | {"4": {"x": 1.0}}})
    skipped = silent(evaluate_files, data, [a], ["RR"], samples=5)
    assert (skipped.n_lists, skipped.systems[a]["RR"].value) == (2, 0.75)
    zero = silent(evaluate_files, data, [a], ["RR"], missing_lists="zero", samples=5)
    assert (zero.n_lists, zero.systems[a]["RR"].value) == (4, 1.5 / 4)
    assert silent(rerank.evaluate, qrels, run, ["RR"]) == {"RR": 0.75}
    assert silent(rerank.evaluate, qrels, run, ["RR"], missing_lists="zero") == {"RR": 1.5 / 4}
    first = silent(
        evaluate_files, a, [], ["RR"], reading=Reading(qrels=data), missing_lists="zero", samples=5
    )
    assert first.metrics["RR"].first_best == 1.5 / 4
    both = notes_of(evaluate_files, data, [a, b], ["RR"], samples=5)
    assert f"{a}: returned nothing of 1 of 3 judged lists; each counts 0" in both
    left = notes_of(evaluate_files, data, [a, b], ["RR"], missing_lists="skip", samples=5)
    assert any(
        "1 of 3 judged lists left out, of which" in note and note.endswith("returned nothing")
        for note in left
    )


def table_of(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


LISTS = "qid,id,label,bm25,length\n1,a,0,3,5\n1,b,1,2,6\n2,c,1,0.5,7\n1,d,0,1,8\n2,e,0,0.25,9\n"


@pytest.fixture
def data(tmp_path):
    return table_of(tmp_path, "data.csv", LISTS)


OTHERS = {
    "run": ("x.run", "2 Q0 e 1 9 t\n2 Q0 c 2 8 t\n1 Q0 b 1 7 t\n1 Q0 a 2 6 t\n1 Q0 d 3 5 t\n"),
    "predict": ("x.txt", "1\tb\t1\t7\n1\ta\t2\t6\n1\td\t3\t5\n2\te\t1\t9\n2\tc\t2\t8\n"),
    "csv": ("x.csv", "qid,id,score\n2,c,8\n2,e,9\n1,d,5\n1,b,7\n1,a,6\n"),
    "jsonl": (
        "x.jsonl",
        "".join(
            json.dumps({"qid": q, "id": i, "score": s}) + "\n"
            for q, i, s in (("1", "b", 7), ("1", "a", 6), ("1", "d", 5), ("2", "c", 8), ("2", "e", 9))
        ),
    ),
    "numbers": ("x.scores", "6\n7\n8\n5\n9\n"),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_scores_of_every_form_are_the_same_system(tmp_path, data, kind):
    path = table_of(tmp_path, *OTHERS[kind])
    found = silent(evaluate_files, data, [path], ["RR", "PairAcc", "label@1"], samples=5)
    assert {name: result.value for name, result in found.systems[path].items()} == {
        "RR": 0.75,
        "PairAcc": 0.5,
        "label@1": 0.5,
    }
    assert "missing_lists" not in found.metrics["RR"].signature


def test_first_best_is_a_baseline_if_there_is_one(data):
    reading = Reading(first_best="bm25")
    named, plain = (
        silent(evaluate_files, data, [":length"], ["RR"], baseline=name, reading=reading, samples=5)
        for name in ("first-best", None)
    )
    assert named.as_json() == plain.as_json()
    with pytest.raises(ConfigError, match="has no first-best; name one of the systems"):
        silent(evaluate_files, data, [":length"], ["RR"], baseline="first-best")


def test_lists_that_no_metric_counts(data):
    with pytest.raises(DataError, match="no judged list counts; --no-relevant skip or short=skip"):
        silent(evaluate_files, data, [":bm25"], ["best(short=skip)@9"])


def test_features_are_systems(data, tmp_path):
    found = silent(evaluate_files, data, [":bm25", f"{data}:length"], ["RR"], baseline=":bm25", samples=5)
    assert found.systems[":bm25"]["RR"].value == 0.75
    assert found.systems[f"{data}:length"]["RR"].value == pytest.approx((1 / 2 + 1 / 2) / 2)
    with pytest.raises(ConfigError, match=r"bm25: no such file; the feature of .* is :bm25"):
        silent(evaluate_files, data, ["bm25"], ["RR"])
    with pytest.raises(ConfigError, match="no feature 'bm52'; did you mean 'bm25'"):
        silent(evaluate_files, data, [":bm52"], ["RR"])
    other = table_of(tmp_path, "other.csv", "qid,id,bm25\nq1,a,1\n")
    with pytest.raises(ConfigError, match=r"other.csv: no feature 'bm52'; did you mean 'bm25'"):
        silent(evaluate_files, data, [f"{other}:bm52"], ["RR"])
    table_of(tmp_path, "data.csv:bm25", "1\n2\n3\n4\n5\n")
    with pytest.raises(ConfigError, match=r"is a file, and could be a feature of DATA; write \./"):
        silent(evaluate_files, data, [f"{data}:bm25"], ["RR"])
    reading = Reading(first_best="bm25")
    found = silent(evaluate_files, data, [":first-best"], ["RR"], reading=reading, samples=5)
    assert found.systems[":first-best"]["RR"].value == found.metrics["RR"].first_best == 0.75


def test_features_of_other_tables_are_systems_by_ids(data, tmp_path):
    scores = "{}\n2,c,8,1\n2,e,9,2\n1,d,5,3\n1,b,7,\n1,a,6,9\n"
    other = table_of(tmp_path, "other.csv", scores.format("target,model,mine,theirs"))
    same = table_of(tmp_path, *OTHERS["csv"])
    found = silent(evaluate_files, data, [same, f"{other}:mine"], ["RR"], samples=5)
    assert found.systems[f"{other}:mine"]["RR"].value == found.systems[same]["RR"].value
    with pytest.raises(DataError, match=r"other.csv: list '1', item 'b' has no score; --missing nan"):
        silent(evaluate_files, data, [f"{other}:theirs"], ["RR"])
    reading = Reading(missing="nan")
    silent(evaluate_files, data, [f"{other}:theirs"], ["RR"], reading=reading, samples=5)
    with pytest.raises(ConfigError, match="holds numbers alone, which have no feature 'x'"):
        silent(evaluate_files, data, [table_of(tmp_path, *OTHERS["numbers"]) + ":x"], ["RR"])
    named = table_of(tmp_path, "named.csv", scores.format("target,name,mine,theirs"))
    with pytest.raises(DataError, match=r"holds no ids of items \(--id-column names its column\)"):
        silent(evaluate_files, data, [f"{named}:mine"], ["RR"])
    reading = Reading(missing="zero")
    models = "data/structures-tiny/models"
    with pytest.raises(DataError, match="has no list of"):
        silent(evaluate_files, models, [f"{other}:mine"], ["RR"], reading=reading)


def test_systems_stay_in_the_order_in_which_they_were_named(tmp_path, data):
    names = [table_of(tmp_path, *OTHERS["run"]), ":bm25", table_of(tmp_path, *OTHERS["csv"]), ":length"]
    assert list(silent(evaluate_files, data, names, ["RR"], samples=5).systems) == names
    pair = silent(compare_files, data, names[:2], ["RR"], samples=5).pairs["RR"][0]
    assert (pair.a, pair.b) == (names[0], ":bm25")


def test_items_that_data_lacks_take_ranks(tmp_path, data):
    """As unjudged documents do in trec_eval; metrics of texts refuse them."""
    run = "1 Q0 z 1 9 t\n1 Q0 b 2 8 t\n2 Q0 c 1 1 t\n9 Q0 c 1 1 t\n"
    path = table_of(tmp_path, "x.run", run)
    found = silent(evaluate_files, data, [path, ":bm25"], ["RR", "label@1"], samples=5)
    assert found.systems[path]["RR"].value == (1 / 2 + 1) / 2
    assert found.systems[":bm25"]["RR"].value == 0.75
    assert found.systems[path]["label@1"].value == 0.5
    notes = notes_of(evaluate_files, data, [path], ["RR"], samples=5)
    assert (
        f"{path}: 1 item of 4 not in the lists of {data}, such as list '1', item 'z'; they take ranks as "
        "unjudged ones, as in trec_eval" in notes
    )
    assert f"{path}: 1 list of 3 not in {data}, such as '9'; left out" in notes
    with pytest.raises(DataError, match=r"1 item of 4 not in the lists of .*list '1', item 'z'; BLEU cannot"):
        silent(evaluate_files, data, [path], ["BLEU"])
    for name in ("loss@1", "casp-z@1", "oracle2.loss@1"):  # an item beside the list has no place in it
        with pytest.raises(DataError, match=rf"such as list '1', item 'z'; {name} cannot judge them"):
            silent(evaluate_files, data, [path], ["RR", name])


FAULTS = {
    "other queries": (
        "data.csv",
        ["q7.run"],
        {},
        "has no list of .*; its first list is 'q7', that of .* '1'",
    ),
    "other documents": ("data.csv", ["other.run"], {}, "has lists of .*, but none of their items"),
    "judgements as a system": (
        "data.csv",
        ["qrels.txt"],
        {},
        r"holds judgements \(qrels\), expected a score file",
    ),
    "a run as judgements": ("qrels.txt", ["x.run"], {"qrels": "x.run"}, "--qrels is not used"),
    "swapped": ("x.run", ["x.run"], {"qrels": "x.run"}, "is a run, expected judgements"),
    "numbers without lists": ("qrels.txt", ["x.scores"], {}, "numbers alone, which follow lines of items"),
    "lists as a system": ("data.csv", ["data.csv"], {}, "holds no scores; expected a score file"),
    "nothing known": ("data.csv", ["odd"], {}, "odd:2: found 'what is this', expected a score file"),
    "a feature of judgements": ("qrels.txt", [":bm25"], {}, "have no feature 'bm25'"),
    "unjudged queries": ("qrels.txt", ["q7.run"], {}, "has no query in common with .*qrels.txt"),
    "ranks out of order": ("data.csv", ["bad.tsv"], {}, "bad.tsv:2: found rank '3', expected 2"),
    "a run without judgements": ("x.run", ["q7.run"], {}, "a run has no judgements; give them by --qrels"),
    "judgements that could be a run": ("q3.tsv", ["x.run"], {}, "--qrels FILE, also this file if it holds"),
    "an empty score": ("data.csv", ["empty.csv"], {}, "empty.csv: list '1', item 'b' has no score"),
    "no score on a line": ("data.csv", ["some.jsonl"], {}, "some.jsonl: list '1', item 'b' has no score"),
    "judgements without runs": ("qrels.txt", [], {}, "holds judgements alone; give the runs"),
    "twice": ("data.csv", ["twice.csv"], {}, "list '1' has two items with the id 'a'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_mistakes_are_named(tmp_path, data, fault):
    files = {
        "x.run": OTHERS["run"][1],
        "x.scores": "1\n2\n3\n4\n5\n",
        "q7.run": "q7 Q0 a 1 3 t\n",
        "other.run": "1 Q0 x 1 3 t\n",
        "qrels.txt": "1 0 a 1\n1 0 b 0\n2 0 c 1\n",
        "odd": "\nwhat is this\n",
        "empty.csv": "qid,id,score\n1,a,1\n1,b,\n",
        "some.jsonl": '{"qid": "1", "id": "a", "score": 1}\n{"qid": "1", "id": "b"}\n',
        "q3.tsv": "1\tb\t1\n2\tc\t1\n",
        "bad.tsv": "1\ta\t1\t0.5\n1\tb\t3\t0.4\n",
        "twice.csv": "qid,id,score\n1,a,1\n1,a,2\n",
    }
    for name, text in files.items():
        table_of(tmp_path, name, text)
    where, paths, options, message = FAULTS[fault]
    reading = Reading(**{key: str(tmp_path / name) for key, name in options.items()})
    systems = [path if path.startswith(":") else str(tmp_path / path) for path in paths]
    with pytest.raises(RerankError, match=message):
        silent(evaluate_files, str(tmp_path / where), systems, ["RR"], reading=reading)


def test_options_and_metrics_that_make_no_sense_are_refused(tmp_path, data):
    qrels, runs = drawn(5)
    judgements, a, b = written(tmp_path, qrels, runs)
    scores = table_of(tmp_path, *OTHERS["numbers"])
    with pytest.raises(ConfigError, match=r"missing_lists \(--missing-lists\) is for runs"):
        silent(evaluate_files, data, [scores], ["RR"], missing_lists="skip")
    with pytest.raises(ConfigError, match="missing_lists: found 'no', expected 'any', 'zero' or 'skip'"):
        silent(evaluate_files, judgements, [a], ["RR"], missing_lists="no")
    for metric in ("PairAcc", "Kendall", "loss@1", "oracle2.z@1"):
        with pytest.raises(ConfigError, match=f"{metric}: depends on all items of a list"):
            silent(evaluate_files, judgements, [a, b], [metric])
    below = {q: {d: label - 2 for d, label in judged.items()} for q, judged in qrels.items()}
    with pytest.raises(ConfigError, match="label@1: gives unjudged documents the lowest label"):
        rerank.evaluate(below, runs["a"], ["label@1"])
    with pytest.raises(ConfigError, match="BLEU: needs more than labels"):
        silent(evaluate_files, judgements, [a, b], ["BLEU"])
    with pytest.raises(DataError, match="a: found list, expected a run"):
        rerank.compare(qrels, {"a": [1.0], "b": [2.0]})
    with pytest.raises(DataError, match="the score of list 'q1', item 'd' is not a finite number"):
        rerank.evaluate(qrels, {"q1": {"d": float("nan")}}, ["AP"])


@pytest.mark.parametrize(
    "example", [e for n in FAMILIES.names() for e in FAMILIES.get(n).examples if not parse(e).of_classes]
)
def test_a_metric_declares_whether_it_depends_on_what_others_returned(example):
    """The value of a run alone is that in a pool with documents of others, unless of_pool says so."""
    metric = parse(example)
    if tuple(getattr(metric, "inner", metric).needs) != ("labels",):
        return
    qrels, runs = drawn(8, n_queries=5)
    a = {q: found for q, found in runs["a"].items() if q in qrels}
    b = {q: {f"x{d}": s for d, s in runs["b"].get(q, {"x": 1.0}).items()} for q in a}
    from rerank.evaluation.systems import gathered_values

    def values(systems):
        found = silent(gathered_values(qrels, systems).together)
        judges = prepare_all(found.lists, [example])
        (rows,) = statistics(judges, found.lists.from_input_order(found.scores["a"]))
        return judges[0].score_from_sums(rows.sum(axis=0))

    if not getattr(metric, "inner", metric).of_pool:
        assert values({"a": a, "b": b}) == values({"a": a})


def test_a_page_and_values_of_lists_of_runs(tmp_path):
    pytest.importorskip("matplotlib")
    qrels, runs = drawn(3)
    data, a, b = written(tmp_path, qrels, runs)
    from rerank.report.page import write_page

    page, rows = str(tmp_path / "page.html"), str(tmp_path / "rows.tsv")
    found = silent(evaluate_files, data, [a, b], ["AP", "label@1"], baseline=a, per_list=rows, samples=5)
    write_page(found, page)
    text = (tmp_path / "page.html").read_text()
    assert "nan" not in text.lower().replace("nanum", "").replace("finan", "")
    assert len((tmp_path / "rows.tsv").read_text().splitlines()) > 20
    for judge in (compare_files, evaluate_files):
        write_page(silent(judge, a, [b], ["AP"], reading=Reading(qrels=data), samples=5), page)


def test_a_run_that_misses_lists_is_judged_by_its_texts(tmp_path):
    rows = [
        {"qid": "1", "id": "a", "text": "it rains", "score": 2, "references": ["it rains"]},
        {"qid": "1", "id": "b", "text": "it snows", "score": 1, "references": ["it rains"]},
        {"qid": "2", "id": "a", "text": "two cats", "score": 2, "references": ["two dogs bark"]},
        {"qid": "2", "id": "b", "text": "two dogs", "score": 1, "references": ["two dogs bark"]},
    ]
    data = table_of(tmp_path, "data.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    path = table_of(tmp_path, "x.run", "2 Q0 b 1 1 t\n")
    found = silent(evaluate_files, data, [path], ["WER"], samples=5).systems[path]["WER"]
    assert (found.value, found.switched) == (100 * 2 / 5, 1)  # the worst item of list 1
    skipped = silent(evaluate_files, data, [path], ["WER"], missing_lists="skip", samples=5)
    assert skipped.systems[path]["WER"].value == pytest.approx(100 / 3)
    assert notes_of(evaluate_files, data, [path], ["WER"], samples=5)[:2] == [
        f"{path}: no score for 1 item in 1 of 2 judged lists; not returned by this system",
        f"{path}: returned nothing of 1 of 2 judged lists; each counts as its worst item",
    ]


def test_features_may_lack_items_and_lists(tmp_path):
    text = "qid,id,label,f,g\n1,a,0,,1\n1,b,1,2,1\n2,c,1,,1\n2,d,0,,2\n"
    data, reading = table_of(tmp_path, "d.csv", text), Reading(missing="nan")
    found = silent(evaluate_files, data, [":f"], ["RR"], reading=reading, samples=5)
    assert found.systems[":f"]["RR"].value == 0.5
    assert "missing_lists:any" in found.metrics["RR"].signature
    notes = notes_of(evaluate_files, data, [":f"], ["RR"], reading=reading, samples=5)
    assert ":f: returned nothing of 1 of 2 judged lists; each counts 0" in notes
    both = silent(
        evaluate_files, data, [":f", ":g"], ["RR"], reading=reading, samples=5, missing_lists="skip"
    )
    assert (both.n_lists, both.systems[":g"]["RR"].value) == (1, 1.0)
