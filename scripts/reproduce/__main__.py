"""Regenerate the numbers of a text and print them beside the printed ones; exit 1 if one differs.

    python scripts/reproduce configs/reproduce.yaml [--out DIR] [--jobs N] [--task I | --cheap] [--status]

Steps that are done are not done again. The configuration is described in rerank/docs/experiments.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rerank.core.errors import RerankError

sys.path[0] = str(Path(__file__).resolve().parent.parent)  # scripts, whose packages the others import

from reproduce.config import read_reproduction  # noqa: E402
from reproduce.running import reproduce  # noqa: E402
from reproduce.table import print_reproduction  # noqa: E402


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser("reproduce", description="Regenerate the numbers of a text.")
    parser.add_argument("config", help="YAML file with the steps and the numbers")
    parser.add_argument("--out", help="folder of what is run [runs/NAME]")
    parser.add_argument("--jobs", type=int, help="steps at once; those that measure time run alone")
    parser.add_argument("--task", type=int, metavar="I", help="run one step, from 1")
    parser.add_argument("--cheap", action="store_true", help="run and print only the steps that are cheap")
    parser.add_argument("--status", action="store_true", help="run nothing, print what is there")
    asked = parser.parse_args(arguments)
    for name in ("jobs", "task"):
        if asked.status and getattr(asked, name) is not None:
            parser.error(f"--{name}: not used with --status, which runs nothing")
    if asked.cheap and asked.task is not None:
        parser.error("--cheap: not used with --task, which names the step")
    try:
        config = read_reproduction(asked.config)
        steps = [name for name, step in config.steps.items() if step.cheap or not asked.cheap]
        if asked.task is not None:
            if not 1 <= asked.task <= len(steps):
                parser.error(f"--task: found {asked.task}, expected 1 to {len(steps)}")
            steps = steps[asked.task - 1 : asked.task]
        folder = asked.out or os.path.join("runs", Path(asked.config).stem)
        rows = reproduce(config, folder, asked.jobs, [] if asked.status else steps)
        if asked.cheap:
            rows = [row for row in rows if row.step in steps]
    except RerankError as error:
        parser.error(str(error))
    print_reproduction(rows, sys.stdout)
    return 0 if all(row.good for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
