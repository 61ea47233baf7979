"""Runs and judgements as people hold them: three columns, JSON, BEIR's tables, fusions of them."""

import json
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_fault, quietly

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.lists import CandidateLists
from rerank.formats import format_of, load
from rerank.formats.trec.qrels import Judgements, read_qrels
from rerank.metrics.base import parse

TREC = "q2 Q0 d1 1 9.5 bm25\nq2 Q0 d2 2 0.5 bm25\nq1 Q0 d1 1 -1 bm25\n"
SCORES = {"q2": {"d1": 9.5, "d2": 0.5}, "q1": {"d1": -1.0}}
META = {"model_name": "intfloat/e5", "revision": "1"}
MTEB = {"mteb_model_meta": META, "default": {"test": SCORES}}
LANGUAGES = {"mteb_model_meta": META, "en": {"test": SCORES, "dev": {}}, "fr": {"test": {"q3": {"d9": 1}}}}


def path_of(folder: Path, text: str | bytes, name: str) -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(path: str, **options: Any) -> tuple[CandidateLists, list[str]]:
    """The lists of a file, and the notes about it without folders."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lists = load(path, **options)
    assert all(issubclass(note.category, DataNote) for note in caught)
    return lists, [str(note.message).replace(f"{Path(path).parent}/", "") for note in caught]


def table(lists: CandidateLists) -> dict[tuple[str, str], list[float]]:
    """The features of each item by query and document."""
    pairs = zip([lists.list_ids[i] for i in lists.list_index], lists.item_ids, strict=True)
    return dict(zip(pairs, lists.features.to_dense().tolist(), strict=True))


FORMS = {
    "x.json": (json.dumps(SCORES), "json-run", "score"),
    "x": (json.dumps(SCORES, indent=1), "json-run", "score"),
    "mteb": (json.dumps(MTEB), "json-run", "intfloat/e5"),
    "split.json": (json.dumps({"test": SCORES}), "json-run", "score"),
    "bom.json": ("\ufeff" + json.dumps(SCORES) + "\r\n", "json-run", "score"),
    "scores.tsv": ("q2\td1\t9.5\r\nq2\td2\t.5\n\nq1\td1\t-1\n", "msmarco", "score"),
    "blanks": ("q2 d1 9.5\nq2 d2 5e-1\nq1 d1 -1", "msmarco", "score"),
    "trec.tsv": (TREC, "trec", "bm25"),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_the_same_run(tmp_path: Path, name: str) -> None:
    text, form, feature = FORMS[name]
    path = path_of(tmp_path, text, name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        assert format_of(path) == form
    lists = quietly(path)
    assert table(lists) == {(q, d): [s] for q, found in SCORES.items() for d, s in found.items()}
    assert lists.feature_names == [feature]
    assert list(lists.list_ids) == ["q2", "q1"]
    assert lists.base_scores.tolist() == lists.run_scores.tolist() == [9.5, 0.5, -1]
    assert lists.first_best.tolist() == [-1, -2, -1]


def test_ranks_become_scores_above_those_of_absent_documents(tmp_path: Path) -> None:
    path = path_of(tmp_path, "1\t30\t2\n2\t30\t1\n1\t10\t1\n1\t7\t4\n", "run.msmarco.tsv")
    lists, notes = read(path)
    assert notes[0] == "run.msmarco.tsv: read as msmarco (by content)"
    assert notes[-1].endswith("taken as ranks (all are whole numbers); scores are 1 / rank")
    assert table(lists) == {("1", "30"): [0.5], ("1", "10"): [1], ("1", "7"): [0.25], ("2", "30"): [1]}
    assert lists.first_best.tolist() == [-2, -1, -4, -1]
    assert lists.feature_names == ["reciprocal-rank"]
    assert lists.rows.tolist() == [0, 2, 3, 1]


def test_ties_of_a_json_run_keep_the_order_of_the_file(tmp_path: Path) -> None:
    lists, notes = read(path_of(tmp_path, '{"q": {"b": 1, "c": 2, "a": 1}, "none": {}}', "x.json"))
    assert lists.first_best.tolist() == [-2, -1, -3]
    assert notes == ["x.json: 1 query has no document; left out"]


FAULTS = {
    "no.json": ("[]", None, "found an array of 0, expected a JSON object {query: {document: number}}"),
    "blank.json": (" \n", None, "found an empty file"),
    "cut.json": ('{"q": {"d": 1}', None, "no JSON (Expecting ',' delimiter, column 15)"),
    "line.json": ('{"q":\n {"d": x}}', None, "line 2, column 8"),
    "nan.json": ('{"q": {"d": NaN}}', None, "JSON has no NaN"),
    "string.json": ('{"q": {"d": "1.5"}}', None, "found the string '1.5' at q.d, expected a number"),
    "flat.json": ('{"q": 1}', None, "found the number 1 at q"),
    "deep.json": ('{"a": {"b": {"c": {"d": {"e": 1}}}}}', None, "found an object at a.b, expected a number"),
    "huge.json": ('{"q": {"d": 1e999}}', None, "a finite number"),
    "twice.json": ('{"q": {"d": 1, "d": 2}}', None, "key 'd' twice"),
    "empty.json": ('{"q": {}}', None, "no document of a run"),
    "none.json": ("{}", None, "no document of a run"),
    "meta.json": (json.dumps({"mteb_model_meta": META}), None, "no document of a run"),
    "several.json": (json.dumps(LANGUAGES), None, "the subsets 'en/test', 'fr/test', expected one (--subset"),
    "surrogate.json": ('{"q": {"\\ud800": 1}}', None, "a lone surrogate"),
    "bytes.json": (b'{"q": {"\xff": 1}}', None, "bytes that are not UTF-8"),
    "a": ("q d 1\nq e\n", 2, "found 2 fields, expected three fields"),
    "b": ("q d 1\nq e one\n", 2, "rank or score 'one'"),
    "c": ("q d 1\nq d 2\n", 2, "document 'd' again"),
    "d": ("q d 1\nq e 1\n", None, "rank 1 twice in query 'q'"),
    "e": ("q d 2\nq e 3\n", None, "rank 2 as the best of query 'q', expected ranks 1, 2, ..."),
    "f": ("q d 0\nq e 1\n", None, "rank 0 as the best"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(tmp_path: Path, name: str) -> None:
    text, line, found = FAULTS[name]
    path = path_of(tmp_path, text, name)
    check_fault(path, line, found, format="json-run" if name.endswith(".json") else "msmarco")


def test_subsets(tmp_path: Path) -> None:
    path = path_of(tmp_path, json.dumps(LANGUAGES), "x.json")
    assert (
        list(quietly(path, subset="fr").list_ids) == list(quietly(path, subset="fr/test").list_ids) == ["q3"]
    )
    assert quietly(path, subset="en").n_items == 3
    for subset in ("test", "de"):
        with pytest.raises(FormatError, match=f"expected one that '{subset}' names"):
            quietly(path, subset=subset)
    with pytest.raises(FormatError, match="no subsets"):
        quietly(path_of(tmp_path, json.dumps(SCORES), "y.json"), subset="en")
    with pytest.raises(ConfigError, match="cannot honour subset"):
        quietly(path_of(tmp_path, TREC, "y.run"), subset="en")


@pytest.mark.parametrize(
    "text",
    ['{"id": "a", "candidates": []}', '{"features": {"a": 1}, "qid": "1"}', '{"qid": 1, "x": {"y": 2}}'],
)
def test_json_lines_are_no_run(tmp_path: Path, text: str) -> None:
    for name in ("x", "x.json"):
        with pytest.warns(DataNote, match="read as jsonl"):
            assert format_of(path_of(tmp_path, text + "\n", name)) == "jsonl"


def test_a_table_of_three_columns_is_no_run(tmp_path: Path) -> None:
    path = path_of(tmp_path, "list\tlabel\t1\n7\t1\t2\n7\t0\t3\n", "x.tsv")
    assert format_of(path) == "table"


def test_runs_of_different_formats_are_fused(tmp_path: Path) -> None:
    one = path_of(tmp_path, TREC, "a.run")
    two = path_of(tmp_path, json.dumps(MTEB), "b.json")
    three = path_of(tmp_path, "q1\td1\t1\nq1\td7\t2\n", "c.tsv")
    lists, notes = read(one, merge=[two, three], missing="nan")
    assert notes[:2] == ["b.json: read as json-run (by content)", "c.tsv: read as msmarco (by content)"]
    assert lists.feature_names == ["bm25", "intfloat/e5", "reciprocal-rank"]
    assert np.array_equal(
        [row for _, row in sorted(table(lists).items())],
        [[-1, -1, 1], [np.nan, np.nan, 0.5], [9.5, 9.5, np.nan], [0.5, 0.5, np.nan]],
        equal_nan=True,
    )
    names = path_of(tmp_path, "a\nb\nc\n", "names")
    for first, others in ((one, [two, three]), (two, [three, one]), (three, [one, two])):
        named = quietly(first, merge=others, feature_names=names)
        assert named.names() == ["a", "b", "c"]
        assert named.n_items == 4
    with pytest.raises(DataError, match="found 3 feature names, expected 2, one for each run"):
        quietly(one, merge=two, feature_names=names)
    with pytest.raises(FormatError, match="1 field, expected six fields"):  # of the first file's format
        quietly(one, merge=path_of(tmp_path, "hello\n", "d.txt"))


def test_negative_scores_beside_absent_documents_are_reported(tmp_path: Path) -> None:
    one = path_of(tmp_path, "q Q0 a 1 -1 lm\nq Q0 b 2 -3 lm\n", "a.run")
    two = path_of(tmp_path, "q Q0 c 1 2 bm25\n", "b.run")
    text = "a.run: 'lm' has scores below 0, so that documents that are absent there (0) rank above others"
    assert read(one, merge=two)[1][-1] == text
    assert text not in read(one, merge=two, missing="nan")[1]
    assert text not in read(one, merge=path_of(tmp_path, "q Q0 a 1 2 x\n", "c.run"))[1]


# Judgements

PAIRS = {b"q1": {b"d1": 1.0, b"d2": 0.0}, b"q2": {b"d1": 2.0}}
QRELS = {
    "TREC": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\n",
    "tabs, CRLF": "q1\t0\td1\t1\r\nq1\t0\td2\t0\r\nq2\t0\td1\t2\r\n",
    "BEIR": "query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td1\t2\n",
    "BEIR, CRLF, BOM": "\ufeffquery-id\tcorpus-id\tscore\r\nq1\td1\t1\r\n\r\nq1\td2\t0\r\nq2\td1\t2",
    "three columns": "q1\td1\t1\nq1\td2\t0\nq2\td1\t2\n",
    "JSON": '{"q1": {"d1": 1, "d2": 0},\n "q2": {"d1": 2.0}}',
    "JSON of a split": '\ufeff {"test": {"q1": {"d1": true, "d2": 0}, "q2": {"d1": 2}}}',
}


def pairs(judgements: Judgements) -> dict[bytes, dict[bytes, float]]:
    """The labels by query and document."""
    out: dict[bytes, dict[bytes, float]] = {}
    for i in range(len(judgements.queries)):
        found = range(*judgements.offsets[i : i + 2].tolist())
        own = {judgements.documents.bytes_at(k): float(judgements.labels[k]) for k in found}
        out[judgements.queries.bytes_at(i)] = own
    return out


@pytest.mark.parametrize("name", QRELS)
def test_every_form_is_the_same_judgements(tmp_path: Path, name: str) -> None:
    assert pairs(read_qrels(path_of(tmp_path, QRELS[name], "qrels"))) == PAIRS


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("q1\ta\t2\nq1\tb\t1\nq1\tc\t3\nq2\ta\t1\n", "labels are 1, 2, 3 ... in each query"),
        ('{"q1": {"a": 12, "b": 7.25}}', "labels such as 7.25 are no whole numbers; is it a run"),
        ("q1\ta\t2\nq1\tb\t1\nq1\tc\t1\nq2\ta\t1\n", None),
        ("q1\ta\t1\nq2\tb\t2\n", None),
        ("q1 0 a 1\nq1 0 b 0.5\n", None),
    ],
)
def test_judgements_that_look_like_a_run_are_named(tmp_path, text, says):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        read_qrels(path_of(tmp_path, text, "qrels"))
    assert [says in str(note.message) for note in caught] == ([] if says is None else [True])


def test_a_json_run_may_be_called_run(tmp_path):
    with pytest.warns(DataNote, match=r"x.run: read as json-run \(by content\)"):
        assert format_of(path_of(tmp_path, json.dumps(SCORES), "x.run")) == "json-run"
    assert format_of(path_of(tmp_path, TREC, "y.run")) == "trec"
    assert format_of(path_of(tmp_path, "odd\n", "z.run")) == "trec"


def test_ids_of_three_columns_may_hold_blanks(tmp_path: Path) -> None:
    found = read_qrels(path_of(tmp_path, "a b\tc d\t1\na b\te\t2\n", "qrels"))
    assert pairs(found) == {b"a b": {b"c d": 1.0, b"e": 2.0}}


QREL_FAULTS = {
    "three in four": ("q 0 d 1\nq\te\t1\n", 2, "found 3 fields, expected four fields: query iteration"),
    "four in three": ("q\td\t1\nq\t0\te\t1\n", 2, "found 4 fields, expected three fields"),
    "two": ("q\td\n", 1, "found 2 fields, expected four fields: query iteration document label; or three"),
    "three by blanks": ("q d 1\n", 1, "or three fields, separated by tabs: query document label"),
    "an empty field": ("q\td\t1\nq\t\t1\n", 2, "expected three fields"),
    "header alone": ("query-id\tcorpus-id\tscore\n", None, "no judgement"),
    "unknown header": ("from\tto\tscore\nq\td\t1\n", 1, "label 'score', expected a number"),
    "header twice": (QRELS["BEIR"] * 2, 5, "label 'score'"),
    "twice": (QRELS["BEIR"] + "q1\td2\t1\n", 5, "document 'd2' again for query 'q1'"),
    "JSON array": ('{"q": ["d"]}', None, "found an array of 1 at q"),
    "JSON label": ('{"q": {"d": null}}', None, "found null at q.d"),
    "JSON of nothing": ('{"q": {}}', None, "no judgement"),
    "JSON subsets": ('{"a": {"q": {"d": 1}}, "b": {"q": {"d": 1}}}', None, "the subsets 'a', 'b'"),
}


@pytest.mark.parametrize("name", QREL_FAULTS)
def test_faults_of_judgements(tmp_path: Path, name: str) -> None:
    text, line, found = QREL_FAULTS[name]
    path = path_of(tmp_path, text, "qrels")
    check_fault(path, line, found, read_qrels)


def test_swapped_columns_are_suspected(tmp_path: Path) -> None:
    run = path_of(tmp_path, TREC, "a.run")
    with pytest.raises(DataError, match="are its columns of queries and documents swapped"):
        quietly(run, qrels=path_of(tmp_path, "d1\tq2\t1\nd2\tq2\t1\n", "qrels"))


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**9))
def test_partial_runs_are_judged_as_by_trec_eval(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    """Positives only, tied scores, documents and queries that runs or judgements lack; in every format."""
    rng = random.Random(seed)
    queries = [f"q{i}" for i in range(6)]
    judged = {q: {f"d{i}": rng.randrange(1, 3) for i in rng.sample(range(20), 3)} for q in queries[:5]}
    run = {
        q: {f"d{i}": rng.choice([0.5, 1.25, -3.0]) for i in rng.sample(range(20), rng.randrange(1, 15))}
        for q in rng.sample(queries, 5)
    }
    folder = tmp_path_factory.getbasetemp()
    beir = "query-id\tcorpus-id\tscore\n" + "".join(
        f"{q}\t{d}\t{label}\n" for q, found in judged.items() for d, label in found.items()
    )
    qrels = path_of(folder, beir, "qrels.tsv")
    three = "".join(f"{q}\t{d}\t{score}\n" for q, found in run.items() for d, score in found.items())
    paths = [
        path_of(folder, json.dumps({"default": {"test": run}}), "p.json"),
        path_of(folder, three, "p.tsv"),
    ]
    expected = pytrec_eval.RelevanceEvaluator(
        judged, {"map", "recip_rank", "ndcg_cut.10", "recall.5"}
    ).evaluate(run)
    ours = {"map": "AP", "recip_rank": "RR", "ndcg_cut_10": "nDCG@10", "recall_5": "R@5"}
    for path in paths:
        try:
            lists = quietly(path, qrels=qrels)
        except RerankError:
            assert not expected
            continue
        judges = {name: parse(metric).prepare(lists) for name, metric in ours.items()}
        for i, query in enumerate(lists.list_ids):
            for name, judge in judges.items():
                value, counted = judge.per_list(lists.base_scores)[i].tolist()
                assert (value, counted) == ((expected[query][name], 1) if query in expected else (0, 0))
