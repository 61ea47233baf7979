#!/usr/bin/env python3
"""The preference SVM: seconds and objectives beside SVM-light-TK, and on all questions of TREC QA.

    python scripts/bench/preference_svm.py [--svm-learn PROGRAM] [--quick]

First, ``tree-kernels/pair.train.gz`` of $RERANK_DATA: partial trees of questions and of answers (lambda .4,
mu .4, at most 5 children) plus a polynomial of degree 3 of the features, each normalised. Second, the
questions of ``trecqa/train.jsonl.gz`` with the fewest pairs, as many as SVM-light-TK can learn from, as chunk
trees with relational links. With --svm-learn, SVM-light-TK 1.5 (the version for reranking, built by the
user: its licence does not allow copies) learns from the same pairs without a threshold; its objective is that
of the loss and the norm that it prints. Third, all training questions of TREC QA, and the scores of the test
questions, by rerank alone. CPU seconds are those of the whole process of SVM-light-TK, and of ``fit``, on one
thread. --quick leaves out the third part.
"""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from common import arguments

from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.pairs import PairRelation, make_pairs
from rerank.extensions.questions.features import qa_features
from rerank.extensions.questions.settings import QASettings
from rerank.formats import FORMATS, load
from rerank.learners.preference import PreferenceSVM
from rerank.models.preference import PreferenceModel
from rerank.models.training import MinimumRecord

PAIRS = 1500  # for which SVM-light-TK takes about a minute
PEER = ["-t", "5", "-F", "3", "-C", "+", "-W", "R", "-V", "R", "-N", "3", "-S", "1", "-d", "3", "-b", "0"]
VECTORS = "polynomial(degree=3, normalise=true)"


def main() -> None:
    parser = arguments(__doc__, quick="only what SVM-light-TK can learn from")
    parser.add_argument("--svm-learn", metavar="PROGRAM", help="svm_learn of SVM-light-TK 1.5")
    given = parser.parse_args()
    warnings.simplefilter("ignore")  # the format of SVM-light-TK has no texts
    folder = Path(os.environ.get("RERANK_DATA", "."))
    if not (folder / "trecqa").is_dir():
        print(f"no {folder / 'trecqa'}: set RERANK_DATA")
        return
    beside_peer(load(str(folder / "tree-kernels" / "pair.train.gz"), format="svmtk-pairs"), given.svm_learn)
    train, test = (questions(folder / "trecqa" / f"{part}.jsonl.gz") for part in ("train", "test"))
    beside_peer(few_pairs(train), given.svm_learn)
    if not given.quick:
        whole(train, test)


def questions(path: Path) -> CandidateLists:
    """Questions and sentences of TREC QA as chunk trees with links, and features of overlap."""
    lengths, texts, labels, prompts = [], [], [], []
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            if not entry["c"]:  # one training question has no candidates
                continue
            prompts.append(tagged(entry["q"]))
            texts += [tagged(one) for one in entry["c"]]
            labels += [float(one["label"]) for one in entry["c"]]
            lengths.append(len(entry["c"]))
    lists = CandidateLists(
        np.concatenate([[0], np.cumsum(lengths)]),
        Dense(np.empty((len(texts), 0))),
        labels=np.array(labels),
        texts=StringColumn.from_strings(texts),
        prompts=StringColumn.from_strings(prompts),
        source=path.name,
    )
    return qa_features(lists, QASettings(tagged="_", overlap=True, match="form", leaves="form")).lists


def few_pairs(lists: CandidateLists) -> CandidateLists:
    """The lists with the fewest pairs, as many as SVM-light-TK can learn from."""
    pairs = make_pairs(lists, PairRelation("all"))
    order = np.argsort(pairs.counts, kind="stable")
    return lists.subset(np.sort(pairs.lists[order[np.cumsum(pairs.counts[order]) <= PAIRS]]))


def tagged(text: dict[str, Any]) -> str:
    """The tokens of a text with their tags."""
    return " ".join(f"{form}_{tag}" for form, tag in zip(text["tok"], text["pos"], strict=True))


def kernel_of(lists: CandidateLists) -> str:
    """The expression of the kernel that the options of SVM-light-TK choose."""
    trees = [f"ptk({name}, max_children=5)" for name in lists.tree_names()]
    return " + ".join([*trees, VECTORS])


def fitted(lists: CandidateLists, **settings: Any) -> tuple[PreferenceModel, float]:
    """The model of lists, and the CPU seconds of its fit."""
    started = time.process_time()
    model = PreferenceSVM(kernel=kernel_of(lists), list_balance=False, **settings).fit(lists)
    assert isinstance(model, PreferenceModel)
    return model, time.process_time() - started


def beside_peer(lists: CandidateLists, program: str | None) -> None:
    """Print seconds and objectives under two values of C."""
    for given in ("auto", 1.0):
        model, seconds = fitted(lists, C=given)
        rounds, notes = model.training.rounds, model.training.notes
        assert isinstance(rounds, MinimumRecord)
        strength, names = float(rounds.C or 0.0), ("objective", "gap", "pairs_of_equal_items")
        objective, gap, equal = (float(notes[name]) for name in names)
        size = f"{lists.n_items:,} items, {model.training.data.pairs:,} pairs"
        print(f"{lists.source}: {size}, C = {strength:.4f}")
        found = f"objective {objective:.4f}, at most {gap:.4f} above the minimum"
        print(f"  rerank        {seconds:7.2f} CPU s, {found}, {len(model.coefficients)} support items")
        if program:
            theirs, value, support = by_peer(lists, program, strength)
            value -= strength * equal  # its loss has the pairs of equal items
            found = f"objective {value:.4f} ({value / objective - 1.0:+.1e}), {support:g} support pairs"
            print(f"  SVM-light-TK  {theirs:7.2f} CPU s, {found}: {theirs / seconds:.0f} x", flush=True)


def by_peer(lists: CandidateLists, program: str, strength: float) -> tuple[float, float, float]:
    """CPU seconds of SVM-light-TK, its objective, and its support vectors."""
    with tempfile.TemporaryDirectory() as folder:
        data, model = str(Path(folder) / "pairs"), str(Path(folder) / "model")
        FORMATS.get("svmtk-pairs")().write(lists, data)
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        command = [program, *PEER, "-c", repr(strength), data, model]
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    loss, norm, support = (
        float(re.findall(rf"{name}([0-9.]+)", output)[0])
        for name in ("L1 loss: loss=", r"vector: \|w\|=", "Number of SV: ")
    )
    return seconds, 0.5 * norm**2 + strength * loss, support


def whole(train: CandidateLists, test: CandidateLists) -> None:
    """Print seconds of all questions."""
    model, seconds = fitted(train)
    pairs = model.training.data.pairs
    size = f"{train.n_lists} questions, {train.n_items:,} items, {pairs:,} pairs"
    print(f"{train.source}: {size}: {seconds:.1f} CPU s, {len(model.coefficients):,} support items")
    started = time.process_time()
    model.score(test)
    print(f"{test.source}: {test.n_items:,} items scored in {time.process_time() - started:.1f} CPU s")


if __name__ == "__main__":
    main()
