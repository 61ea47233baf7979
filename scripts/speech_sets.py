#!/usr/bin/env python3
"""N-best lists of two recognisers in RERANK_DATA as stores, for the verdicts of the manual's page on speech.

    RERANK_DATA=... python scripts/speech_sets.py --out DIR

AISHELL: the 20 speakers are divided into three groups. DIR/aishell/1 to 3 have train.store, dev.store and
test.store, each group in another role, so that all 7,176 utterances are tested once. There are no texts of
hypotheses: the sets hold their counts of character errors, from which CER is computed, and as labels the
negative errors. Features follow from the scores alone: the score, its distance to the best and to the next
one, the logarithm of the rank, the posterior, and the entropy of the list times the logarithm of the rank.

DIR/pocketsphinx.store: the 400 utterances of dev and test together, with texts and eight features.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from rerank import CandidateLists, load, save
from rerank.data.columns.strings import StringColumn
from rerank.data.joining import joined
from rerank.data.matrix import Dense

FEATURES = ["score", "to_best", "to_next", "log_rank", "posterior", "entropy_by_rank"]
PARTS = ("train", "dev", "test")


def features(scores: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Features (n, 6) of the hypotheses of one utterance, by their scores in falling order."""
    share = np.exp(scores - scores.max())
    share /= share.sum()
    log_rank = np.log(np.arange(1, len(scores) + 1))
    entropy = -(share * np.log(share)).sum()
    to_next = np.append(scores[:-1] - scores[1:], 0.0)
    return np.column_stack([scores, scores - scores[0], to_next, log_rank, share, entropy * log_rank])


def lists_of(utterances: list[str], scores: Any, rates: Any, references: Any) -> CandidateLists:
    """The N-best lists of some utterances."""
    tables = [np.array(list(scores[name].values())) for name in utterances]
    counts = np.array(
        [
            [round(rates[name][key] * len(references[name])), len(references[name])]
            for name in utterances
            for key in scores[name]
        ],
        dtype=np.int32,
    )
    return CandidateLists(
        np.concatenate([[0], np.cumsum([len(values) for values in tables])]),
        Dense(np.concatenate([features(values) for values in tables])),
        labels=-counts[:, 0].astype(float),
        base_scores=np.concatenate(tables),
        first_best=np.concatenate([-np.arange(float(len(values))) for values in tables]),
        list_ids=StringColumn.from_strings(utterances),
        feature_names=FEATURES,
        references=(StringColumn.from_strings(references[name] for name in utterances),),
        counts={"CER": counts},
        source="aishell",
    )


def pooled(folder: Path) -> CandidateLists:
    """The lists of dev and test."""
    parts = []
    for part in ("dev", "test"):
        lists = load(folder / f"{part}.nbest.gz", "moses", refs=folder / f"{part}.ref.gz")
        names = StringColumn.from_strings(f"{part}-{name}" for name in lists.list_ids or ())
        parts.append(replace(lists, list_ids=names))
    return joined(parts)


def main() -> None:
    """Write the stores."""
    parser = argparse.ArgumentParser(description="N-best lists of two recognisers as stores.")
    parser.add_argument("--out", required=True, type=Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    save(pooled(Path(os.environ["RERANK_DATA"]) / "asr-pocketsphinx"), str(out / "pocketsphinx.store"))
    folder = Path(os.environ["RERANK_DATA"]) / "asr-aishell"
    scores, rates, references = (
        json.loads(gzip.decompress((folder / f"{name}.json.gz").read_bytes()))
        for name in ("hyps_score", "hyps_cer", "ref_text")
    )
    speakers = sorted({name[6:11] for name in scores})
    groups: list[list[str]] = [[], [], []]
    for name in scores:
        groups[speakers.index(name[6:11]) % 3].append(name)
    made = [lists_of(group, scores, rates, references) for group in groups]
    for fold in range(3):
        place_of = out / "aishell" / str(fold + 1)
        place_of.mkdir(parents=True, exist_ok=True)
        for place, part in enumerate(PARTS):
            save(made[(fold + place) % 3], str(place_of / f"{part}.store"))


if __name__ == "__main__":
    main()
