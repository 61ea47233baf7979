"""``rerank eval --detail``: parts of BLEU, WER, CER and TER, beside sacrebleu and jiwer."""

import json

import numpy as np
import pytest
from reference.metrics.detail import ter_edits
from reference.texts import text_lists
from small_judging import values

from rerank.core.errors import ConfigError
from rerank.data.judge import corpus_value
from rerank.metrics.base import parse
from rerank.metrics.detail import TerEdits, with_parts


def texts(seed, n_lists=40, size=3):
    """References, and candidates with words lost, replaced, added and moved."""
    rng = np.random.default_rng(seed)
    references, candidates = [], []
    for _ in range(n_lists):
        words = rng.choice(list("abcdefgh"), rng.integers(1, 25)).tolist()
        references.append(" ".join(words))
        made = []
        for _ in range(size):
            other = [w if rng.random() < 0.8 else str(rng.choice(list("abxyz"))) for w in words]
            other = [w for w in other if rng.random() < 0.9] + ["new"] * int(rng.integers(0, 3))
            cut = int(rng.integers(0, len(other) + 1))
            made.append(" ".join(other[cut:] + other[:cut]))
        candidates.append(made)
    return candidates, references


def first(name, lists):
    judge = parse(name).prepare(lists)
    return corpus_value(judge, judge.per_list(np.tile([1.0, 0.0, 0.0], lists.n_lists)))


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_bleu_are_those_of_sacrebleu(seed):
    sacrebleu = pytest.importorskip("sacrebleu", reason="sacrebleu is the oracle")
    candidates, references = texts(seed)
    lists = text_lists(candidates, references)
    theirs = sacrebleu.BLEU(tokenize="none").corpus_score([one[0] for one in candidates], [references])
    for n in range(4):
        assert first(f"BLEU.precision@{n + 1}", lists) == pytest.approx(theirs.precisions[n], rel=1e-12)
    assert first("BLEU.length", lists) == pytest.approx(theirs.bp, rel=1e-12)
    assert first("BLEU.length(part=ratio)", lists) == pytest.approx(theirs.sys_len / theirs.ref_len)
    assert first("BLEU.length(part=texts)", lists) * lists.n_lists == pytest.approx(theirs.sys_len)
    assert first("BLEU.length(part=references)", lists) * lists.n_lists == pytest.approx(theirs.ref_len)
    product = np.prod([first(f"BLEU.precision@{n}", lists) for n in range(1, 5)]) ** 0.25
    assert first("BLEU", lists) == pytest.approx(first("BLEU.length", lists) * product)


@pytest.mark.parametrize("n_references", [1, 2])
def test_edits_of_ter_are_those_of_its_own_alignment_and_sum_to_it(n_references):
    pytest.importorskip("sacrebleu", reason="its shifts are the oracle")
    candidates, references = texts(5, n_lists=60)
    others = [references, texts(5, n_lists=60)[1][::-1]][:n_references]
    lists = text_lists(candidates, *others)
    found = TerEdits().of(lists)
    assert np.array_equal(found[:, :2], parse("TER").of(lists))
    assert np.array_equal(found[:, 2:].sum(axis=1), found[:, 0])
    assert found[:, 5].any()
    rows = [(i, text) for i, of_list in enumerate(candidates) for text in of_list]
    for row, (i, text) in zip(found[:, 2:].tolist(), rows, strict=True):
        known = [ter_edits(text, file[i]) for file in others]
        assert row == list(min(known, key=lambda edits: sum(edits.values())).values())


def test_the_parts_of_wer_are_those_of_jiwer():
    jiwer = pytest.importorskip("jiwer", reason="jiwer is the oracle")
    candidates, references = texts(6)
    lists = text_lists(candidates, references)
    made = jiwer.process_words(references, [one[0] for one in candidates])
    tokens = made.hits + made.substitutions + made.deletions
    wanted = {"sub": made.substitutions, "ins": made.insertions, "del": made.deletions}
    assert with_parts(["WER"]) == ["WER", *(f"WER.{part}" for part in wanted)]
    for part, n in wanted.items():
        assert first(f"WER.{part}", lists) == pytest.approx(100 * n / tokens)


def test_parts_have_the_settings_of_their_metric():
    assert with_parts(["BLEU(lc=1)"])[:2] == ["BLEU(lc=1)", "BLEU.precision(lc=1)@1"]
    assert with_parts(["TER(case_sensitive=1)"])[-1] == "TER.edits(case_sensitive=1, part=shift)"
    assert with_parts(["CER(lc=1)", "RR"])[1:] == ["CER.sub(lc=1)", "CER.ins(lc=1)", "CER.del(lc=1)", "RR"]
    assert len(with_parts(["WER", "WER.sub"])) == 4
    assert with_parts([]) == with_parts(["BLEU"])
    with pytest.raises(ConfigError, match="found RR, expected one with parts: BLEU, WER, CER or TER"):
        with_parts(["RR"])


def test_texts_without_a_word_have_values():
    lists = text_lists([["", "a"], ["", "b"]], ["a b", ""])
    assert values(lists, [1, 0, 1, 0], ["BLEU.precision@1", "BLEU.length", "BLEU.length(part=ratio)"]) == {
        "BLEU.precision@1": 0.0,
        "BLEU.length": 0.0,
        "BLEU.length(part=ratio)": 0.0,
    }


def test_eval_prints_the_parts_with_intervals(rerank, tmp_path):
    candidates, references = texts(7, n_lists=12)
    lines = [f"{i} ||| {text} ||| f= 1 ||| 1" for i, one in enumerate(candidates) for text in one]
    nbest, scores, refs = (tmp_path / name for name in ("a.nbest", "s", "a.ref"))
    for path, content in ((nbest, lines), (scores, ["1"] * len(lines)), (refs, references)):
        path.write_text("\n".join(content) + "\n")
    command = ("eval", nbest, scores, "--refs", refs, "-m", "BLEU", "-m", "TER")
    found = json.loads(rerank(*command, "--detail", "--as", "json").out)
    parts = found["systems"][0]["metrics"]
    assert list(parts) == with_parts(["BLEU", "TER"])
    for name, part in parts.items():
        low, high = part["ci"]
        assert low <= part["value"] <= high, name
    edits = sum(parts[name]["value"] for name in parts if name.startswith("TER.edits"))
    assert edits == pytest.approx(parts["TER"]["value"])
    assert "BLEU.precision@4" in rerank(*command, "--detail").out
    assert "BLEU.precision@4" not in rerank(*command).out
    alone = rerank("eval", nbest, scores, "--refs", refs, "--detail").out
    assert "BLEU.precision@4" in alone
    assert "TER" not in alone
    assert "expected one with parts" in rerank("eval", nbest, "--detail", "-m", "AP", code=2).err
