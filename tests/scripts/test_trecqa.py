"""TREC QA to lists."""

import gzip
import json
import subprocess
import sys
from pathlib import Path

from qa import trecqa

from rerank.formats import load

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts" / "qa"


def tokens(text: str) -> dict[str, list[str]]:
    return {"tok": text.split(), "pos": ["NN"] * len(text.split())}


def test_trecqa_without_a_trace_of_its_order(tmp_path: Path) -> None:
    texts = [f"passage {i} ( _ )" for i in range(40)]
    entry = {
        "qid": "1",
        "q": tokens("Who ?"),
        "c": [tokens(text) | {"label": int(i < 20)} for i, text in enumerate(texts)],
    }
    path = tmp_path / "in.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps(entry) + "\n" + json.dumps({"qid": "2", "q": tokens("Why ?"), "c": []}) + "\n")
    out = tmp_path / "out.jsonl"
    subprocess.run([sys.executable, SCRIPTS / "trecqa.py", path, out, "--mixed"], check=True)
    lists = load(str(out))
    assert list(lists.prompts or ()) == ["Who_NN ?_NN"]
    assert sorted(lists.texts or ()) == sorted(
        " ".join(f"{word}_NN" for word in text.split()) for text in texts
    )
    assert lists.labels is not None
    assert 5 <= lists.labels[:20].sum() <= 15
    assert trecqa.entry_of({**entry, "c": entry["c"][::-1]}, False) == trecqa.entry_of(entry, False)
