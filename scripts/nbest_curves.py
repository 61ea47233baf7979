#!/usr/bin/env python3
"""Perceptrons on real-valued labels: Shen & Joshi's curves (2005, section 7.2), Duh's Table 4.1 (2009).

    RERANK_DATA=... python scripts/nbest_curves.py [--out DIR] [--sets syscomb-wmt10 ...] [--epochs N]

As in the paper, weights are learnt on the dev lists and watched on the test lists: Algorithm 2 with a
dimension of its own for each candidate; best against rest, splitting and ordinal pairs. The paper's ranks are
for lists of 1000: here split pairs are of ranks to 30 % and from 70 % of the longest list, ordinal ones of
p, q with 2p < q and p + 2 % of it < q. Curves are written to DIR as TSV.

Intervals are of resampled test lists. r(fall, gain) is the correlation over the epochs of log-loss fallen on
dev and metric gained on test, which the paper reads off its figures; "together" is the share of the falls
with which the metric did not worsen.

The last table quantises the labels, or asks for a least difference of them, and learns from what pairs are
left. Its thresholds and borders are quantiles of the set's own labels.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from text_lists.sets import TASKS, Task, load_part, print_rows, spread
from text_lists.watching import Curve, LogLoss, Recorded

import rerank
from rerank import CandidateLists, RerankError
from rerank.core.files.write import write_lines
from rerank.data.first_best import first_largest
from rerank.data.labels import Quantiser, quantised
from rerank.data.pairs import PairRelation, make_pairs
from rerank.data.scaling import fit_scaling
from rerank.evaluation.significance import bootstrap_sums
from rerank.learners.perceptron import Perceptron
from rerank.metrics.base import parse
from rerank.metrics.judges import ReportJudge
from rerank.models.describe_training import sparkline
from rerank.models.pair_counts import settings_of, standard_relations
from rerank.models.predict import with_quantised

BARS = 14


def settings_for(longest: int) -> dict[str, dict[str, Any]]:
    """The paper's three settings, their ranks scaled from 1000 to lists of ``longest``."""
    top, bottom = max(1, round(0.3 * longest)), round(0.7 * longest)
    split = {"pairs": "split", "split_top": top, "split_bottom": max(top + 1, bottom), "margin": "uneven"}
    ordinal = {"ordinal_factor": 2.0, "ordinal_gap": 0.02 * longest, "margin": "uneven"}
    return {
        "best-rest, even": {"pairs": "best-rest"},
        "split, uneven": split,
        "ordinal, uneven": {"pairs": "ordinal", **ordinal},
    }


def learn(
    dev: CandidateLists, test: CandidateLists, judge: ReportJudge, learner: Perceptron, samples: int
) -> Curve:
    """The curve of ``learner`` on scaled lists."""
    watched = Recorded(judge)
    model = learner.fit(dev, judge=LogLoss(dev), dev=(test, watched))
    width = watched.rounds[0].shape[1]
    sums = bootstrap_sums(np.hstack(watched.rounds), samples, 12345).reshape(samples, -1, width)
    return Curve(
        pairs=make_pairs(dev, learner.relation).n_pairs,
        rows=model.curve,
        loss=np.array([row["train"] for row in model.curve]),
        value=np.array([row["dev"] for row in model.curve]),
        resampled=np.asarray(judge.score_from_sums(sums)),
        better=judge.better,
    )


def write_curve(curve: Curve, metric: str, path: Path) -> None:
    """round, lists with an update, violated pairs, log-loss on dev, metric on test: TSV."""
    lines = ["\t".join(("round", "updates", "violated", "dev_logloss", f"test_{metric}"))]
    for row in curve.rows:
        counts = (int(row[key]) for key in ("round", "updates", "violated"))
        lines.append("\t".join([*map(str, counts), repr(float(row["train"])), repr(float(row["dev"]))]))
    write_lines(str(path), lines)


def curves(task: Task, dev: CandidateLists, test: CandidateLists, asked: argparse.Namespace) -> None:
    """Trains each setting, writes its curve, prints the table."""
    judge = parse(task.metric).prepare(test)
    found = {
        name: learn(dev, test, judge, learner_for(asked, **settings), asked.samples)
        for name, settings in settings_for(int(dev.lengths.max())).items()
    }
    base = found["best-rest, even"]
    values = [("setting", "pairs", "epochs", "dev log-loss", "", f"test {task.metric}", "", "best", "at")]
    claims = [("setting", "95 % interval", "less best-rest's", "r(fall, gain)", "95 % interval", "together")]
    for name, curve in found.items():
        write_curve(curve, task.metric, Path(asked.out) / f"{task.name}.{name.replace(', ', '-')}.tsv")
        values.append((name, *value_cells(curve)))
        claims.append((name, *claim_cells(curve, base)))
    print_rows(values)
    print()
    print_rows(claims)


def value_cells(curve: Curve) -> tuple[str, str, str, str, str, str, str, str]:
    """Pairs, epochs, log-loss as bars and from first to last, the metric as bars, at the end, at its best."""
    best = int(np.argmax(curve.better * curve.value))
    return (
        str(curve.pairs),
        str(len(curve.rows)),
        sparkline(curve.loss.tolist(), BARS),
        f"{curve.loss[0]:.3f} to {curve.loss[-1]:.3f}",
        sparkline(curve.value.tolist(), BARS),
        f"{curve.value[-1]:.2f}",
        f"{curve.value[best]:.2f}",
        str(best + 1),
    )


def claim_cells(curve: Curve, base: Curve) -> tuple[str, str, str, str, str]:
    """Intervals of the last value and its difference to ``base``; do log-loss and metric go together."""
    r = curve.correlations()
    last = curve.resampled[:, -1]
    return (
        spread(last),
        "" if curve is base else spread(last - base.resampled[:, -1]),
        f"{r[0]:z.2f}",
        spread(r[1:]),
        f"{100 * curve.together():.0f}%",
    )


def learner_for(asked: argparse.Namespace, **settings: Any) -> Perceptron:
    """Algorithm 2 with what was asked for on the command line."""
    common = {name: getattr(asked, name) for name in ("tau", "epochs", "average", "dimension", "seed")}
    return Perceptron(**{**common, **settings})


def schemes(
    dev: CandidateLists, task: Task, asked: argparse.Namespace
) -> list[tuple[str, CandidateLists, PairRelation]]:
    """Names, labels and relations of the second table's rows."""
    assert dev.labels is not None
    gaps = [relation for relation in standard_relations(dev) if relation.pairs == "all"]
    rows = [("all that differ", dev, PairRelation("all"))]
    rows += [(settings_of(gap).removeprefix("pairs=all "), dev, gap) for gap in gaps]
    border = float(f"{np.quantile(dev.labels, 0.75):.3g}")
    ways = [Quantiser("best"), Quantiser("above", border), Quantiser("top", 70.0), Quantiser("top", 30.0)]
    ways += [Quantiser("kmeans", 3.0), Quantiser("list-kmeans", 3.0)]
    rows += [(f"quantise={way}", with_quantised(dev, way), PairRelation()) for way in ways]
    chooser = rerank.train(dev, asked.chooser, metric=task.metric)
    above = Quantiser("model", path=asked.chooser)
    few = quantised(dev, above, first_largest(chooser.score_items(dev), dev.offsets))
    return [*rows, (f"quantise={above}", few, PairRelation())]


def quantising(task: Task, dev: CandidateLists, test: CandidateLists, asked: argparse.Namespace) -> None:
    """The table of pair extractions: pairs, and the metric on dev and test of averaged weights."""
    judges = [parse(task.metric).prepare(part) for part in (dev, test)]
    table = [("pairs of labels", "pairs", f"dev {task.metric}", f"test {task.metric}", "95 % interval")]
    for name, few, relation in schemes(dev, task, asked):
        pairs = make_pairs(few, relation).n_pairs
        cells = ("", "", "")
        if pairs:
            given = {"pairs": relation.pairs, "label_gap": relation.label_gap, "average": "average"}
            model = learner_for(asked, **given, dimension=0.0).fit(few)
            rows = [j.per_list(model.score_items(part)) for j, part in zip(judges, (dev, test), strict=True)]
            values = [float(j.score_from_sums(r.sum(axis=0))) for j, r in zip(judges, rows, strict=True)]
            resampled = np.asarray(judges[1].score_from_sums(bootstrap_sums(rows[1], asked.samples, 12345)))
            cells = (f"{values[0]:.2f}", f"{values[1]:.2f}", spread(resampled))
        table.append((name, str(pairs), *cells))
    print_rows(table)


def run(task: Task, asked: argparse.Namespace) -> None:
    """Both tables of one set."""
    folder = Path(asked.data) / task.name
    dev, test = (load_part(folder, part, task) for part in ("dev", "test"))
    scaling = fit_scaling("zscore", dev)
    dev, test = scaling.apply(dev), scaling.apply(test)
    for part, lists in (("dev", dev), ("test", test)):
        judge = parse(task.metric).prepare(lists)
        first = judge.first_best()
        assert first is not None  # lists of text have an order of their own
        value = float(judge.score_from_sums(first.sum(axis=0)))
        size = f"{lists.n_lists} lists of up to {lists.lengths.max()}"
        print(
            f"{task.name} {part}: {size}; {task.metric} {value:.2f} first-best, {judge.oracle():.2f} oracle"
        )
    print()
    curves(task, dev, test, asked)
    print()
    quantising(task, dev, test, asked)
    print(flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Command line; returns the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data", default=os.environ.get("RERANK_DATA"), help="folder of the sets")
    parser.add_argument("--sets", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--out", default="curves", metavar="DIR", help="folder for the curves [curves]")
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--tau", type=float, default=1.0)
    parser.add_argument("--dimension", type=float, default=1.0, help="of the curves")
    parser.add_argument("--average", choices=("last", "average"), default="last", help="of the curves")
    parser.add_argument("--chooser", default="mert", help="learner whose choice is the border")
    parser.add_argument("--samples", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args(arguments)
    if asked.data is None:
        parser.error("RERANK_DATA is not set: it names the folder of the sets (or give --data)")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rerank.DataNote)
            Path(asked.out).mkdir(parents=True, exist_ok=True)
            for name in asked.sets:
                run(TASKS[name], asked)
    except (RerankError, OSError) as error:
        print(f"nbest_curves.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
