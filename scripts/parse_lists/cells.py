"""One cell of the experiment: a learner, features, and a division into training and test lists.

    python scripts/parse_lists/cells.py CONFIG STORES PART OUT

trains by a configuration on the training lists of the part, and writes what it chose on the test lists, as
JSON. A cell is a process of its own, so that its memory is measured.
"""

from __future__ import annotations

import sys
import time
import warnings
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from table_cells.runs import facts, write_cell

import rerank
from parse_lists.sets import division
from rerank.config import TrainConfig, read_config
from rerank.data.leads import first_largest
from rerank.experiment import learner_of
from rerank.experiment.plans import fit_by
from rerank.experiment.training import plan_of


def run(config: TrainConfig, stores: Path, part: str) -> dict[str, Any]:
    """Return what one cell chose, learnt and cost."""
    lists, test = division(stores, part)
    if config.data.label is not None:
        lists = rerank.label(lists, config.data.label)
    started = time.process_time()
    model = fit_by(plan_of(config), learner_of(config), lists).model
    seconds = time.process_time() - started
    chosen = first_largest(model.score(test), test.offsets) - test.offsets[:-1]
    return {
        "chosen": chosen.tolist(),
        "seconds": round(seconds, 2),
        "features_used": model.n_weighted(),
        **facts(model),
    }


def main() -> None:
    config, stores, part, out = sys.argv[1:]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = run(read_config(config), Path(stores), part)
    write_cell(out, found)


if __name__ == "__main__":
    main()
