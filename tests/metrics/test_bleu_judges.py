"""BLEU's judges: saved counts, names, bounds, whole evaluations, and real translations."""

import gzip
import itertools
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from reference.metrics import bleu as twin
from reference.texts import DEGENERATE, bleu_rows, drawn_groups, lists_of

from rerank.core.errors import DataError
from rerank.data.columns.offsets import offsets_of
from rerank.data.first_best import first_largest
from rerank.data.judge import corpus_value
from rerank.data.lists import CandidateLists
from rerank.metrics.base import Preparation, parse
from rerank.metrics.bleu import BleuStatistics, sentence_bleu


@pytest.fixture(scope="module")
def sacrebleu() -> ModuleType:
    module: ModuleType = pytest.importorskip("sacrebleu", reason="sacrebleu (extra mt) is not installed")
    return module


# Saved counts, names, errors


def test_saved_counts_replace_texts() -> None:
    groups = drawn_groups(4, 8, 2)
    full = lists_of(groups)
    scores = np.random.default_rng(0).random(full.n_items)
    counts = {"BLEU": np.array(bleu_rows(groups), dtype=float)}
    bare = replace(full, texts=None, references=(), counts=counts)
    for name in ("BLEU", "BLEU(smooth=add-k)", "sBLEU"):
        judge, saved = parse(name).prepare(full), parse(name).prepare(bare)
        assert np.array_equal(judge.per_list(scores), saved.per_list(scores))
        assert judge.oracle() == saved.oracle()
        assert "nrefs:2|" in judge.signature
        assert "nrefs:saved|" in saved.signature
    other = replace(full, counts={"BLEU": counts["BLEU"] * 2})
    assert parse("BLEU").prepare(other).per_item is other.counts["BLEU"]
    lowered = {"BLEU(lc=1)": counts["BLEU"]}
    assert parse("BLEU(lc=1)").prepare(replace(bare, counts=lowered)).per_item is lowered["BLEU(lc=1)"]
    with pytest.raises(DataError, match=r"BLEU\(lc=1\) needs the candidates' texts or saved counts"):
        parse("BLEU(lc=1)").prepare(bare)


def test_signatures_tell_settings_apart() -> None:
    lists = lists_of(DEGENERATE["one token"])
    names = ["BLEU", "BLEU(lc=1)", "BLEU(smooth=none)", "BLEU(smooth=floor)", "BLEU(smooth=add-k)"]
    names += ["BLEU(smooth=floor, value=0.001)", "BLEU(smooth=floor, value=0.002)"]
    names += ["sBLEU", "sBLEU(smooth=higher)", "sBLEU(lc=1)"]
    signatures = [parse(name).prepare(lists).signature for name in names]
    assert len(set(signatures)) == len(names)
    assert signatures[0].startswith("BLEU|nrefs:1|case:mixed|eff:no|tok:none|smooth:exp|version:")


# Bounds


def small_lists(seed: int) -> CandidateLists:
    rng = np.random.default_rng(seed)
    groups = drawn_groups(seed, int(rng.integers(1, 5)), words="abc")
    n_items = sum(len(candidates) for candidates, _ in groups)
    return lists_of(groups, first_best=rng.random(n_items))


@pytest.mark.parametrize("smooth", ["none", "floor", "add-k", "exp"])
def test_the_oracle_lies_between_its_starts_and_the_best_choice(smooth: str) -> None:
    reached = []
    for seed in range(150):
        lists = small_lists(seed)
        judge = parse(f"BLEU(smooth={smooth})").prepare(lists)
        offsets = lists.offsets
        rows = [judge.per_item[a:b].tolist() for a, b in itertools.pairwise(offsets.tolist())]
        best = twin.best_choice(rows, smooth, twin.USUAL[smooth])
        oracle = judge.oracle()
        singly = first_largest(sentence_bleu(judge.per_item), offsets)
        least = 1e-12 + oracle * (1 + 1e-12)
        assert corpus_value(judge, judge.first_best()) <= least
        assert corpus_value(judge, judge.of(singly)) <= least
        assert corpus_value(judge, judge.of(offsets[:-1])) <= least
        assert oracle <= 1e-12 + best * (1 + 1e-12)
        reached.append(oracle == pytest.approx(best, rel=1e-9))
    assert np.mean(reached) > 0.9  # a climb, so not always


@pytest.mark.parametrize("smooth", ["none", "floor", "add-k", "exp"])
def test_the_climb_takes_only_what_is_offered_and_ends_if_no_change_gains(smooth: str) -> None:
    for seed in range(100):
        judge = parse(f"BLEU(smooth={smooth})").prepare(small_lists(seed))
        rng = np.random.default_rng(seed)
        bounds = itertools.pairwise(judge.stage.lists.offsets.tolist())
        parts = [rng.permutation(np.arange(a, b))[:3] for a, b in bounds]
        items, offsets = np.concatenate(parts), offsets_of([len(part) for part in parts])
        chosen = judge.best_of(items, offsets)
        assert all(item in part for item, part in zip(chosen, parts, strict=True))
        value = corpus_value(judge, judge.of(chosen))
        for i, part in enumerate(parts):
            for item in part:
                changed = chosen.copy()
                changed[i] = item
                assert corpus_value(judge, judge.of(changed)) <= value * (1 + 1e-9) + 1e-12


def test_of_equal_choices_the_first_offered_is_taken() -> None:
    judge = parse("BLEU").prepare(lists_of([(["a b c d", "a b c d", "x"], ["a b c d"])] * 2))
    offsets = np.array([0, 3, 6])
    assert judge.best_of(np.array([2, 1, 0, 5, 3, 4]), offsets).tolist() == [1, 3]
    assert judge.oracle() == pytest.approx(100.0)


def test_judges_share_counts_by_tokenizer_and_case() -> None:
    preparation = Preparation(lists_of([(["The cat", "a"], ["the cat"])]))
    names = ["BLEU", "BLEU(smooth=none)", "sBLEU", "BLEU(lc=1)"]
    judges = [parse(name).prepare_in(preparation) for name in names]
    assert judges[0].per_item is judges[1].per_item
    assert preparation.shared(BleuStatistics()) is judges[0].per_item
    assert judges[3].per_item[0, 0] == 2.0 > judges[0].per_item[0, 0] == 1.0


# Real data: nine systems' translations of the news test of 2010

BEST_ON_DEV = 3  # the system with the largest BLEU of dev, which is not the best of test
SINGLE = {"dev": 19.13, "test": 18.84}
LARGEST_TOTAL = {"dev": 18.92, "test": 18.50}
ORACLE = {"dev": 21.89, "test": 21.82}


def moses_lists(folder: Path, part: str) -> tuple[CandidateLists, np.ndarray, np.ndarray]:
    """The lists, their totals and the number of the system of each item."""
    with gzip.open(folder / f"{part}.nbest.gz", "rt", encoding="utf-8", newline="\n") as file:
        fields = [line.rstrip("\n").split(" ||| ") for line in file]
    with gzip.open(folder / f"{part}.ref.gz", "rt", encoding="utf-8", newline="\n") as file:
        references = [line.rstrip("\n") for line in file]
    groups: list[tuple[list[str], list[str]]] = [([], [reference]) for reference in references]
    for field in fields:
        groups[int(field[0])][0].append(field[1])
    systems = np.array([field[2].split("Sys= ")[1].split().index("1") for field in fields])
    return lists_of(groups), np.array([float(field[3]) for field in fields]), systems


@pytest.mark.parametrize("part", ["dev", "test"])
def test_translations_of_nine_systems(part: str, shared_data: Path, sacrebleu: ModuleType) -> None:
    lists, totals, systems = moses_lists(shared_data / "syscomb-wmt10", part)
    judge = parse("BLEU").prepare(lists)
    texts, references = list(lists.texts), [list(lists.references[0])]

    def checked(scores: np.ndarray) -> float:
        chosen = first_largest(scores, lists.offsets)
        value = corpus_value(judge, judge.per_list(scores))
        expected = sacrebleu.corpus_bleu([texts[j] for j in chosen], references, tokenize="none", force=True)
        assert value == pytest.approx(expected.score, rel=1e-12)
        return value

    singles = [checked((systems == k).astype(float)) for k in range(systems.max() + 1)]
    assert round(singles[BEST_ON_DEV], 2) == SINGLE[part]
    assert part == "test" or max(singles) == singles[BEST_ON_DEV]
    by_total = checked(totals)
    assert round(by_total, 2) == LARGEST_TOTAL[part]
    oracle = judge.oracle()
    assert oracle > max(*singles, by_total)
    assert round(oracle, 2) >= ORACLE[part]
    groups = list(zip(texts, lists.list_index.tolist(), strict=True))[::7]
    rows = [twin.statistics(text, [references[0][i]]) for text, i in groups]
    assert judge.per_item[::7].tolist() == rows
