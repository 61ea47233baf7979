#!/usr/bin/env python3
"""Print how often HanTa's tags, translated, are the Penn tags of TREC QA.

python scripts/qa/tagging_agreement.py /data/trecqa/dev.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections import Counter
from pathlib import Path

from rerank.extensions.questions.text import KINDS, HanTa


def pairs(path: Path, tagger: HanTa) -> Counter[tuple[str, str]]:
    """Return how often each pair of a tag of the tagger and a tag of the file occurs."""
    found: Counter[tuple[str, str]] = Counter()
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for entry in map(json.loads, lines):
            for text in (entry["q"], *entry["c"]):
                found.update(zip(tagger.tags(text["tok"]), text["pos"], strict=True))
    return found


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+")
    tagger = HanTa("this script")
    for path in parser.parse_args().files:
        found = pairs(path, tagger)
        n = found.total()
        same = sum(k for (ours, theirs), k in found.items() if ours == theirs)
        kind = sum(k for (ours, theirs), k in found.items() if KINDS.get(ours) == KINDS.get(theirs))
        shares = f"same tag {100 * same / n:.1f}%, same kind of phrase {100 * kind / n:.1f}%"
        print(f"{path.name}: {n} tokens, {shares}")


if __name__ == "__main__":
    main()
