"""TREC runs and judgements: order by rank, fusion of runs, what trec_eval would count, every fault."""

import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import pytrec_eval
from hypothesis import given, settings
from hypothesis import strategies as st
from reading import check_fault, notes_of, quietly

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.store import write_store
from rerank.formats import load
from rerank.formats.base import save
from rerank.formats.trec import TRECRun
from rerank.metrics.base import parse
from rerank.metrics.judging import Judging

STRINGS = StringColumn.from_strings

RUN = "q2 Q0 d1 1 9.5 tag\nq2\tQ0\td2  2 3e-1 tag\r\nq1 Q0 d1 1 -1 tag\n"
QRELS = "q2 0 d2 2\nq2 0 d9 1\nq2 0 d8 0\nq1 0 d1 0\nq7 0 d1 1\n"


def path_of(tmp_path: Path, text: str, name: str = "x.run") -> str:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return str(path)


def test_a_run(tmp_path: Path) -> None:
    lists = load(path_of(tmp_path, RUN))
    assert lists.offsets.tolist() == [0, 2, 3]
    assert list(lists.list_ids) == ["q2", "q1"]
    assert list(lists.item_ids) == ["d1", "d2", "d1"]
    assert lists.feature_names == ["tag"]
    assert lists.features.to_dense().tolist() == [[9.5], [0.3], [-1]]
    assert lists.base_scores.tolist() == [9.5, 0.3, -1]
    assert lists.first_best.tolist() == [-1, -2, -1]
    assert (lists.labels, lists.rows) == (None, None)
    assert load(path_of(tmp_path, RUN), dtype="float32").features.to_dense().dtype == np.float32
    with pytest.raises(DataError, match="too large for float32"):
        load(path_of(tmp_path, RUN.replace("9.5", "1e50")), dtype="float32")


def test_found_by_content(tmp_path: Path) -> None:
    for name in ("run", "run.txt"):
        with pytest.warns(DataNote, match="read as trec"):
            assert load(path_of(tmp_path, "\ufeff" + RUN, name)).n_items == 3
    with pytest.raises(ConfigError, match="unknown format"):
        load(path_of(tmp_path, "q2 XX d1 1 9.5 tag\n", "other"))


def test_first_best_goes_by_rank(tmp_path: Path) -> None:
    """Ranks may start anywhere and be equal; equal ones keep the order of lines."""
    text = "q Q0 a 7 1 t\nq Q0 b 0 2 t\nq Q0 c 7 3 t\np Q0 a 1 2 t\np Q0 b 1 2 t\n"
    path = path_of(tmp_path, text)
    assert notes_of(path) == [
        "x.run: in 1 query of 2 the ranks order documents differently from the scores; first-best "
        "follows the ranks, trec_eval the scores"
    ]
    lists = quietly(path)
    order = np.lexsort((np.arange(5), -lists.first_best, lists.list_index))
    assert [lists.item_ids[i] for i in order] == ["b", "a", "c", "a", "b"]


def test_queries_apart(tmp_path: Path) -> None:
    path = path_of(tmp_path, "q Q0 a 1 3 t\np Q0 a 1 2 t\n\nq Q0 b 2 1 t\n")
    assert notes_of(path) == [
        "x.run: the lines of 1 list are not contiguous (from line 4); they are brought together"
    ]
    lists = quietly(path)
    assert list(lists.item_ids) == ["a", "b", "a"]
    assert lists.base_scores.tolist() == [3, 1, 2]
    assert lists.rows.tolist() == [0, 2, 1]
    with pytest.raises(FormatError, match="run:4: found list 'q' again"):
        load(path, strict=True)


FAULTS = {
    "nothing": ("\n \n", None, "no line of a run"),
    "five fields": (RUN + "q Q0 d 1 2\n", 4, "5 fields, expected six fields"),
    "seven fields": (RUN + "q Q0 d 1 2 t t\n", 4, "7 fields"),
    "rank": ("q Q0 d first 2 t\n", 1, "rank 'first', expected a whole number"),
    "rank with a point": ("q Q0 d 1.5 2 t\n", 1, "rank '1.5'"),
    "score": (RUN + "q Q0 d 1 high t\n", 4, "score 'high', expected a number"),
    "nan": ("q Q0 d 1 nan t\n", 1, "score 'nan'"),
    "infinite": ("q Q0 d 1 -inf t\n", 1, "score '-inf'"),
    "too large": ("q Q0 d 1 1e999 t\n", 1, "score '1e999'"),
    "twice": (RUN + "q2 Q0 d2 3 0 t\n", 4, "document 'd2' again in query 'q2', expected each document once"),
    "twice, first": ("b Q0 d 1 2 t\na Q0 d 1 2 t\na Q0 d 1 2 t\nb Q0 d 1 2 t\n", 3, "in query 'a'"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults(tmp_path: Path, name: str) -> None:
    text, line, found = FAULTS[name]
    path = path_of(tmp_path, text)
    check_fault(path, line, found)


def test_queries_are_text(tmp_path: Path) -> None:
    path = tmp_path / "x.run"
    path.write_bytes(b"q Q0 d\xff 1 2 t\n")
    assert load(path).item_ids.bytes_at(0) == b"d\xff"
    path.write_bytes(b"q Q0 d 1 2 t\nq\xff Q0 d 1 2 t\n")
    with pytest.raises(FormatError, match="run:2: found bytes that are not UTF-8"):
        load(path)


def test_judgements(tmp_path: Path) -> None:
    path, qrels = path_of(tmp_path, RUN + "q3 Q0 d1 1 1 tag\n"), path_of(tmp_path, QRELS, "qrels")
    lists = quietly(path, qrels=qrels)
    assert np.array_equal(lists.labels, [np.nan, 2, 0, np.nan], equal_nan=True)
    with pytest.warns(DataNote) as notes:
        load(path, qrels=qrels)
    printed = [str(note.message).replace(f"{tmp_path}/", "") for note in notes]
    assert printed == [
        "qrels: judges nothing of 1 query of x.run",
        "qrels: 1 judged query not in x.run; left out (trec_eval -c and --missing-lists zero count 0)",
    ]
    assert lists.unretrieved.values.tolist() == [1, 0]  # d9 and d8 of q2
    assert lists.unretrieved.offsets.tolist() == [0, 2, 2, 2]
    with pytest.raises(DataError, match="judges no query of"):
        load(path, qrels=path_of(tmp_path, "q9 0 d 1\n", "other"))


QREL_FAULTS = {
    "nothing": ("\n", None, "no judgement"),
    "three fields": ("q2 0 d2 2\nq2 d2 1\n", 2, "3 fields, expected four fields"),
    "label": ("q2 0 d2 good\n", 1, "label 'good', expected a number"),
    "infinite": ("q2 0 d2 inf\n", 1, "label 'inf'"),
    "twice": (QRELS + "q2 0 d2 2\n", 6, "document 'd2' again for query 'q2', expected one judgement each"),
}


@pytest.mark.parametrize("name", QREL_FAULTS)
def test_faults_of_judgements(tmp_path: Path, name: str) -> None:
    text, line, found = QREL_FAULTS[name]
    qrels = path_of(tmp_path, text, "qrels")
    check_fault(qrels, line, found, lambda _: load(path_of(tmp_path, RUN), qrels=qrels))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("missed", [False, True])
def test_measures_equal_those_of_trec_eval(tmp_path: Path, seed: int, missed: bool) -> None:
    """With unjudged documents, tied scores, and relevant documents that the run did not retrieve."""
    rng = random.Random(seed)
    run: dict[str, dict[str, float]] = {}
    judged: dict[str, dict[str, int]] = {}
    lines = []
    for q in range(6):
        documents = [f"d{i}" for i in rng.sample(range(99), rng.randrange(2, 12))]
        run[f"q{q}"] = {d: rng.choice([0.5, 1.25, -3.0, 7.0]) for d in documents}
        judged[f"q{q}"] = {d: rng.randrange(-1, 4) for d in documents if rng.random() < 0.8} | {"absent": 0}
        judged[f"q{q}"][documents[0]] = 1
        if missed:
            judged[f"q{q}"] |= {f"far{i}": rng.randrange(-1, 4) for i in range(rng.randrange(15))}
        ranked = sorted(documents, key=lambda d, q=q: -run[f"q{q}"][d])
        lines += [f"q{q} Q0 {d} {r} {run[f'q{q}'][d]} t" for r, d in enumerate(ranked)]
    qrels = "".join(f"{q} 0 {d} {rel}\n" for q, docs in judged.items() for d, rel in docs.items())
    options = {"qrels": path_of(tmp_path, qrels, "qrels")}
    lists = load(path_of(tmp_path, "\n".join(lines)), **options)
    ours = {"map": "AP", "recip_rank": "RR", "ndcg": "nDCG", "P_5": "P@5", "ndcg_cut_10": "nDCG@10"}
    ours |= {"map_cut_5": "AP@5", "recall_5": "R@5", "ndcg_cut_5": "nDCG@5"}
    ours |= {"Rprec": "Rprec", "bpref": "bpref", "infAP": "infAP"}
    asked = {"map", "recip_rank", "ndcg", "P.5", "ndcg_cut.5,10", "map_cut.5", "recall.5"}
    asked |= {"Rprec", "bpref", "infAP"}
    theirs = pytrec_eval.RelevanceEvaluator(judged, asked)
    by_query = theirs.evaluate(run)
    for name, metric in ours.items():
        judge = parse(metric).prepare(lists)
        expected = [by_query[q][name] for q in run]
        assert judge.per_list(lists.base_scores)[:, 0].tolist() == expected, metric  # to the last bit


def test_a_query_whose_relevant_documents_were_all_missed_counts_zero(tmp_path: Path) -> None:
    qrels = path_of(tmp_path, "q2 0 d2 1\nq1 0 far 3\n", "qrels")
    lists = load(path_of(tmp_path, RUN), qrels=qrels)
    for metric, value in (("AP", 0.5), ("nDCG", np.log(2) / np.log(3)), ("R@5", 1.0), ("RR", 0.5)):
        judge = parse(metric).prepare(lists)
        assert judge.per_list(lists.base_scores).tolist() == [[pytest.approx(value), 1.0], [0.0, 1.0]]
    alone = lists.subset([1])
    assert alone.unretrieved.values.tolist() == [3]
    assert parse("AP").prepare(alone).per_list(alone.base_scores).tolist() == [[0.0, 1.0]]


def test_fusion(tmp_path: Path) -> None:
    one = path_of(tmp_path, "q Q0 a 1 3 one\nq Q0 b 2 2 one\np Q0 a 1 9 one\n", "1.run")
    two = path_of(tmp_path, "q Q0 c 1 30 two\nr Q0 z 1 1 two\nq Q0 a 2 20 two\n", "2.run")
    lists = quietly(one, merge=two)
    assert list(lists.list_ids) == ["q", "p", "r"]
    assert list(lists.item_ids) == ["a", "b", "c", "a", "z"]
    assert lists.feature_names == ["one", "two"]
    assert lists.features.to_dense().tolist() == [[3, 20], [2, 0], [0, 30], [9, 0], [0, 1]]
    assert np.array_equal(lists.base_scores, [3, 2, np.nan, 9, np.nan], equal_nan=True)
    assert lists.rows.tolist() == [0, 1, 3, 2, 4]
    order = np.lexsort((np.arange(5), -lists.first_best, lists.list_index))
    assert [lists.item_ids[i] for i in order] == ["a", "b", "c", "a", "z"]
    assert "x" not in notes_of(one, merge=two)
    assert "of 5 documents runs lack 'one' 2, 'two' 2; taken as 0" in notes_of(one, merge=two)[-1]
    lists = quietly(one, merge=[two, one], missing="nan", dtype="float32")
    assert lists.feature_names == ["one", "two", "one-2"]
    assert np.isnan(lists.features.to_dense()).sum() == 6
    assert any("an earlier run has the tag 'one' too" in note for note in notes_of(one, merge=one))
    with pytest.raises(ConfigError, match="missing='nan' needs further runs"):
        load(one, missing="nan")
    labelled = quietly(one, merge=two, qrels=path_of(tmp_path, "q 0 c 1\nr 0 z 0\n", "qrels"))
    assert np.array_equal(labelled.labels, [np.nan, np.nan, 1, np.nan, 0], equal_nan=True)


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10**9))
def test_fusion_is_the_union(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path_factory.getbasetemp()
    tables: list[dict[tuple[str, str], float]] = []
    paths = []
    for k in range(3):
        pairs = [(q, d) for q in "abc" for d in "uvwxyz"]
        chosen = rng.sample(pairs, rng.randrange(1, 12))
        tables.append({pair: rng.choice([-1.5, 0.0, 2.0]) for pair in chosen})
        lines = [f"{q} Q0 {d} {i} {s!r} run{k}\n" for i, ((q, d), s) in enumerate(tables[-1].items())]
        paths.append(path_of(folder, "".join(lines), f"{k}.run"))
    lists = quietly(paths[0], merge=paths[1:], missing="nan")
    seen = list(dict.fromkeys(pair for table in tables for pair in table))
    pairs = list(zip([lists.list_ids[i] for i in lists.list_index], lists.item_ids, strict=True))
    assert lists.input_order(np.arange(lists.n_items)).tolist() == [pairs.index(pair) for pair in seen]
    expected = [[table.get(pair, np.nan) for table in tables] for pair in pairs]
    assert np.array_equal(lists.features.to_dense(), expected, equal_nan=True)
    assert np.array_equal(lists.base_scores, [row[0] for row in expected], equal_nan=True)


@settings(deadline=None, max_examples=100)
@given(st.integers(0, 10**9), st.booleans())
def test_what_is_written_reads_back(
    tmp_path_factory: pytest.TempPathFactory, seed: int, by_rank: bool
) -> None:
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 5, rng.integers(1, 5))
    n = int(lengths.sum())
    scores = rng.choice([0.1, -2.5e-300, 7.0, 1e22, -0.0], n)
    lists = CandidateLists(
        np.cumsum([0, *lengths]),
        Dense(scores[:, None].copy()),
        base_scores=scores,
        first_best=rng.integers(0, 3, n).astype(float) if by_rank else None,
        list_ids=STRINGS(f"q\u2028{i}" for i in range(len(lengths))),
        item_ids=STRINGS(bytes([200 + i]) for i in range(n)),
    )
    path = str(tmp_path_factory.getbasetemp() / "round.run")
    TRECRun().write(lists, path)
    again = quietly(path)
    assert np.array_equal(again.offsets, lists.offsets)
    assert again.base_scores.tobytes() == scores.tobytes()
    assert (again.list_ids, again.item_ids) == (lists.list_ids, lists.item_ids)
    order = lists.base_scores if lists.first_best is None else lists.first_best
    expected = np.lexsort((np.arange(n), -order, lists.list_index))
    assert np.array_equal(np.lexsort((np.arange(n), -again.first_best, again.list_index)), expected)
    ranks = -again.first_best[expected]
    assert ranks.tolist() == [r + 1 for length in lengths for r in range(length)]


def test_rows_are_written_in_their_old_places(tmp_path: Path) -> None:
    text = "q Q0 a 1 3.0 rerank\np Q0 a 1 2.0 rerank\nq Q0 b 2 1.0 rerank\n"
    path = path_of(tmp_path, text)
    out = str(tmp_path / "out.run")
    TRECRun().write(quietly(path), out)
    assert Path(out).read_text() == text


def test_what_cannot_be_written_is_refused_or_reported(tmp_path: Path) -> None:
    path = str(tmp_path / "x.run")
    two, X = np.array([0, 1, 2]), Dense(np.ones((2, 1)))
    ids, scores = STRINGS(["a", "b"]), np.ones(2)
    for columns, message in (
        ({"item_ids": ids}, "a run needs a base score of every item, which arrays lacks"),
        ({"item_ids": ids, "base_scores": np.array([1, np.nan])}, "a base score of every item"),
        ({"base_scores": scores}, "a run needs ids of items"),
        ({"base_scores": scores, "item_ids": STRINGS(["a", ""])}, "cannot hold the item id ''"),
        ({"base_scores": scores, "item_ids": STRINGS(["a b", "c"])}, "cannot hold the item id 'a b'"),
        ({"base_scores": scores, "item_ids": ids, "list_ids": STRINGS(["a\n", "c"])}, "the list id"),
        (
            {"base_scores": scores, "item_ids": ids, "list_ids": STRINGS(["a", "a"])},
            "two lists have the id 'a', trec would",
        ),
        (
            {"base_scores": scores, "item_ids": STRINGS(["a", "a"]), "offsets": np.array([0, 2])},
            "two items of list '1' have the id 'a'",
        ),
    ):
        with pytest.raises(DataError, match=message):
            TRECRun().write(CandidateLists(**{"offsets": two, "features": X, **columns}), path)
        assert list(tmp_path.iterdir()) == []
    lists = CandidateLists(
        two, Dense(np.zeros((2, 1))), base_scores=scores, item_ids=ids, labels=scores, texts=ids
    )
    with pytest.warns(DataNote, match="trec holds no features, labels, texts; left out"):
        TRECRun().write(lists, path)
    assert list(load(path).list_ids) == ["1", "2"]


# Against the slow reader


def slowly(data: bytes) -> dict[str, list[tuple[bytes, int, float]]] | int | None:
    """Documents, ranks and scores by query, or the number of the first bad line; None = no line."""
    out: dict[str, list[tuple[bytes, int, float]]] = {}
    again = None
    for number, line in enumerate(data.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            query, _, document, rank, score, _ = fields
            if any(mark in score + rank for mark in b"_nN") or not np.isfinite(float(score)):
                return number
            if len(rank.lstrip(b"+-")) > 15:
                return number
            entry = (document, int(rank), float(score))
            documents = out.setdefault(query.decode(), [])
        except ValueError:
            return number
        if again is None and document in [other for other, _, _ in documents]:
            again = number  # found when all lines have been read
        documents.append(entry)
    return again if again is not None else out or None


@settings(deadline=None, max_examples=120)
@given(st.integers(0, 10**9))
def test_changed_files_fail_or_read_as_the_slow_reader(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    rng = random.Random(seed)
    lines = [
        f"{rng.choice('abc')} Q0 d{i} {i} {rng.choice(['1', '-2.5e3', '.5', '7.'])} t"
        for i in range(rng.randrange(1, 8))
    ]
    data = "\n".join(lines).encode()
    for _ in range(rng.randrange(3)):
        at = rng.randrange(len(data) + 1)
        new = rng.choice([b"", b" ", b"\n", b"x", b"e9", b"nan", b"_", b"\xff", bytes([rng.randrange(256)])])
        data = data[:at] + new + data[at + rng.randrange(4) :]
    path = tmp_path_factory.getbasetemp() / "any.run"
    path.write_bytes(data)
    expected = slowly(data)
    if not isinstance(expected, dict):
        with pytest.raises(FormatError) as caught:
            quietly(str(path))
        assert caught.value.line == expected, str(caught.value)
        return
    lists = quietly(str(path))
    assert list(lists.list_ids) == list(expected)
    items = [item for documents in expected.values() for item in documents]
    assert [lists.item_ids.bytes_at(i) for i in range(lists.n_items)] == [item[0] for item in items]
    assert (-lists.first_best).tolist() == [item[1] for item in items]
    assert lists.base_scores.tolist() == [item[2] for item in items]


# First-best against trec_eval

OURS = {
    "map": "AP",
    "recip_rank": "RR",
    "ndcg": "nDCG",
    "P_5": "P@5",
    "ndcg_cut_5": "nDCG@5",
    "recall_5": "R@5",
}
THEIRS = {"map", "recip_rank", "ndcg", "P.5", "ndcg_cut.5", "recall.5"}


def first_best_of(lists: CandidateLists, metric: str, **options: Any) -> list[float]:
    rows = parse(metric).prepare(lists, Judging(**options)).first_best()
    assert rows is not None
    return rows[:, 0].tolist()


def random_run(rng: random.Random, ranks: str) -> tuple[dict[str, dict[str, float]], str]:
    """Scores of documents, many of them tied, and the run's text."""
    run, lines = {}, []
    for q in rng.sample(["q1", "q2", "q3", "q4", "q5"], 4):
        documents = [f"d{i}" for i in rng.sample(range(30), rng.randrange(1, 12))]
        run[q] = {d: rng.choice([0.5, 1.25, -3.0, 1e-9, 2e-9, 1e60, 0.1, 0.1 + 1e-12]) for d in documents}
        for rank, d in enumerate(sorted(documents, key=lambda d, q=q: -run[q][d]), start=1):
            lines.append(f"{q} Q0 {d} {rank if ranks == 'ranks' else 0} {run[q][d]!r} t\n")
    if ranks == "scattered":
        rng.shuffle(lines)
    return run, "".join(lines)


@pytest.mark.parametrize("ranks", ["ranks", "no ranks", "scattered"])
@pytest.mark.parametrize("seed", range(8))
def test_first_best_is_trec_evals(tmp_path: Path, seed: int, ranks: str) -> None:
    """Of a run alone, of a run that others are merged to, and of a store made of it."""
    rng = random.Random(seed)
    run, text = random_run(rng, ranks)
    _, other = random_run(rng, "ranks")
    judged = {
        q: {f"d{i}": rng.randrange(3) for i in rng.sample(range(30), 12)} | {"far": 1, "absent": 0}
        for q in run
    }
    qrels = "".join(f"{q} 0 {d} {rel}\n" for q, docs in judged.items() for d, rel in docs.items())
    path = path_of(tmp_path, text)
    options = {"qrels": path_of(tmp_path, qrels, "qrels")}
    expected = pytrec_eval.RelevanceEvaluator(judged, THEIRS).evaluate(run)
    alone = quietly(path, **options)
    merged = quietly(path, merge=path_of(tmp_path, other, "other.run"), **options)
    write_store(merged, tmp_path / "s")
    for lists in (alone, merged, load(tmp_path / "s"), merged.subset([2, 1, 0])):
        assert lists.list_ids is not None
        for name, metric in OURS.items():
            wanted = [expected[q][name] if q in run else 0.0 for q in lists.list_ids]
            assert first_best_of(lists, metric) == wanted, metric


def test_a_run_has_the_same_feature_alone_merged_and_written_again(tmp_path: Path) -> None:
    first, second = path_of(tmp_path, RUN), path_of(tmp_path, RUN.replace("tag", "other"), "y.run")
    alone, merged = load(first), load(first, merge=(second,))
    assert [alone.names(), merged.names()] == [["tag"], ["tag", "other"]]
    with warnings.catch_warnings(action="error"):
        save(alone, str(tmp_path / "copy.run"))
    assert load(str(tmp_path / "copy.run")).names() == ["tag"]


def test_first_best_with_tied_scores(tmp_path: Path) -> None:
    qrels = path_of(tmp_path, "q 0 d1 1\n", "qrels")
    lists = load(path_of(tmp_path, "q Q0 d1 1 .5 t\nq Q0 d2 2 .5 t\nq Q0 d3 3 .1 t\n"), qrels=qrels)
    assert first_best_of(lists, "RR") == [0.5]
    assert first_best_of(lists, "RR", ties="input") == [1.0]
    by_feature = lists.with_first_best("t")
    assert first_best_of(by_feature, "RR") == [1.0]


def test_first_best_follows_ranks_that_contradict_the_scores(tmp_path: Path) -> None:
    qrels = path_of(tmp_path, "q 0 d1 1\np 0 d1 1\n", "qrels")
    text = "q Q0 d1 1 .1 t\nq Q0 d2 2 .5 t\nq Q0 d3 3 .7 t\np Q0 d1 1 .5 t\np Q0 d2 2 .5 t\n"
    assert first_best_of(quietly(path_of(tmp_path, text), qrels=qrels), "RR") == [1.0, 0.5]


def test_what_a_run_did_not_return_earns_nothing(tmp_path: Path) -> None:
    one = path_of(tmp_path, "q Q0 a 1 3 one\nq Q0 b 2 2 one\n", "1.run")
    two = path_of(tmp_path, "q Q0 c 1 3 two\nq Q0 d 2 2 two\np Q0 a 1 3 two\np Q0 b 2 2 two\n", "2.run")
    qrels = path_of(tmp_path, "q 0 c 1\nq 0 a 0\np 0 a 1\np 0 b 0\n", "qrels")
    lists = quietly(one, merge=two, qrels=qrels)
    for metric in ("AP", "RR", "nDCG", "R@5", "label@1"):
        assert first_best_of(lists, metric) == [0.0, 0.0], metric
    assert first_best_of(lists, "AP", no_relevant="one") == [0.0, 0.0]
    assert first_best_of(lists, "PairAcc") == [0.0, 0.5]  # all that it did not return is tied
    assert first_best_of(lists.with_first_best("two"), "RR") == [1.0, 1.0]


def test_lines_of_equal_rank_out_of_order_are_reported(tmp_path: Path) -> None:
    assert notes_of(path_of(tmp_path, "q Q0 a 0 1 t\nq Q0 b 0 2 t\n")) == [
        "x.run: in 1 query of 1 documents of equal rank are not in the order of their scores; for metrics of "
        "one chosen item the first line of equal rank comes first"
    ]


QRELS_MISTAKES = {
    "other documents": ("q2 0 x 1\nq1 0 y 0\n", "qrels: judges no document of x.run"),
    "another case": ("q2 0 D1 1\n", "qrels: judges no document of x.run: 'D1' in one is 'd1' in the other"),
    "documents second": (
        "q2 d1 0 1\nq1 d1 0 1\n",
        "qrels: judges no document of x.run: its second column holds documents, swapped with the third?",
    ),
    "labels second": (
        "q2 1 d1 0\nq2 0 d2 0\n",
        "qrels: every label is 0, but not its second column: are they swapped?",
    ),
    "no label above 0": ("q2 0 d1 0\nq1 0 d1 0\n", "qrels: every label is 0"),
}


@pytest.mark.parametrize("name", QRELS_MISTAKES)
def test_judgements_that_cannot_be_meant_are_reported(tmp_path: Path, name: str) -> None:
    text, expected = QRELS_MISTAKES[name]
    options = {"qrels": path_of(tmp_path, text, "qrels")}
    with pytest.warns(DataNote) as notes:
        load(path_of(tmp_path, RUN), **options)
    assert expected in [str(note.message).replace(f"{tmp_path}/", "") for note in notes]


def test_queries_in_another_case_are_named(tmp_path: Path) -> None:
    qrels = path_of(tmp_path, "Q2 0 d1 1\n", "qrels")
    with pytest.raises(DataError, match=r"judges no query of .*: 'Q2' in one is 'q2' in the other$"):
        load(path_of(tmp_path, RUN), qrels=qrels)
