"""Agreement of the tagger with a file's tags."""

import gzip
import json
from pathlib import Path

import pytest
from qa import tagging_agreement

from rerank.extensions.questions.text import HanTa


def test_pairs_of_tags(tmp_path: Path) -> None:
    pytest.importorskip("HanTa.HanoverTagger")
    question = {"tok": ["The", "dog", "was", "."], "pos": ["DT", "NNP", "VBD", "."]}
    path = tmp_path / "a.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"q": question, "c": []}) + "\n")
    expected = {("DT", "DT"): 1, ("NN", "NNP"): 1, ("VBD", "VBD"): 1, (".", "."): 1}
    assert tagging_agreement.pairs(path, HanTa("a test")) == expected
