"""Steps of normalisation: equal to jiwer's and Whisper's, part of the signature."""

import importlib
import sys
import unicodedata
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataNote
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.metrics.base import parse, prepare_all
from rerank.metrics.signatures import normalisers

HYPS = [
    "Hello, World!",
    "it's  a (small) world",
    "don’t STOP — now",
    "３ Ｃａｆés… one",
    "他们说: 早上 good",
    "uh",
]
REFS = [
    "hello world",
    "It is a small world",
    "dont stop now",
    "3 Cafés",
    "他 们说 早上 Good.",
    "Twenty-one dollars",
]


def lists_of(hyps: list[str], refs: list[str], repeat: int = 1) -> CandidateLists:
    hyps, refs = hyps * repeat, refs * repeat
    lists = CandidateLists.from_arrays(np.zeros((len(hyps), 0)), texts=hyps, group=[1] * len(hyps))
    return type(lists)(
        lists.offsets, lists.features, texts=lists.texts, references=(StringColumn.from_strings(refs),)
    )


def value(metric: str, hyps: list[str] = HYPS, refs: list[str] = REFS) -> float:
    judge = prepare_all(lists_of(hyps, refs), [metric])[0]
    return float(judge.score_from_sums(judge.per_list(np.zeros(len(hyps))).sum(axis=0)))


def applied(norm: str, text: str) -> str:
    for step in normalisers(norm):
        text = step.apply(text)
    return text


def of_jiwer(name: str) -> list[Any]:
    """The transforms of jiwer that a step equals."""
    jiwer = pytest.importorskip("jiwer", reason="jiwer is the oracle")
    return {
        "lower": [jiwer.ToLowerCase()],
        "punct": [jiwer.RemovePunctuation()],
        "spaces": [jiwer.RemoveMultipleSpaces(), jiwer.Strip()],
        "no-spaces": [jiwer.RemoveWhiteSpace()],
    }[name]


@pytest.mark.parametrize(
    "norm", ["lower", "punct", "lower+punct", "punct+lower+spaces", "lower+no-spaces", "punct+no-spaces"]
)
def test_rates_equal_those_of_jiwer_with_the_same_transforms(norm: str) -> None:
    jiwer = pytest.importorskip("jiwer", reason="jiwer is the oracle")
    steps = [one for name in norm.split("+") for one in of_jiwer(name)]
    words = jiwer.Compose(
        [*steps, jiwer.RemoveMultipleSpaces(), jiwer.Strip(), jiwer.ReduceToListOfListOfWords()]
    )
    characters = jiwer.Compose([*steps, jiwer.Strip(), jiwer.ReduceToListOfListOfChars()])
    for metric, theirs, transform in (("WER", jiwer.wer, words), ("CER", jiwer.cer, characters)):
        expected = theirs(REFS, HYPS, reference_transform=transform, hypothesis_transform=transform)
        assert value(f"{metric}|norm:{norm}") == pytest.approx(100.0 * expected, abs=1e-9)


def test_steps_one_by_one() -> None:
    slow: dict[str, Callable[[str], str]] = {
        "lower": lambda text: text.lower(),
        "punct": lambda text: "".join(c for c in text if not unicodedata.category(c).startswith("P")),
        "punct-space": lambda text: "".join(
            " " if unicodedata.category(c).startswith("P") else c for c in text
        ),
        "no-spaces": lambda text: "".join(c for c in text if not c.isspace()),
        "nfkc": lambda text: unicodedata.normalize("NFKC", text),
    }
    rng = np.random.default_rng(5)
    drawn = ["".join(map(chr, rng.integers(32, 0x3000, 40))) for _ in range(200)]
    for name, step in slow.items():
        for text in [*HYPS, *REFS, *drawn, ""]:
            assert applied(name, text) == step(text), (name, text)
    assert applied("nfkc+lower+cjk", HYPS[3]) == "3 cafés... one"
    assert applied("cjk", "我 love东京タワーx 한국") == "我 love 东 京 タ ワ ー x 한국"
    assert applied("spaces", " a\t b  ") == "a b"


def test_the_order_of_steps_counts() -> None:
    assert applied("punct+spaces", "a - b") == "a b"
    assert applied("spaces+punct", "a - b") == "a  b"


def test_characters_of_chinese_are_words() -> None:
    assert value("WER|norm:cjk", ["他们说good"], ["他门说 good"]) == 25.0
    assert value("CER|norm:no-spaces", ["他们 说"], ["他 门说"]) == pytest.approx(100 / 3)


def test_the_signature_has_the_steps_and_reads_back() -> None:
    lists = lists_of(HYPS, REFS)
    for family in ("WER", "CER", "PER", "SER", "WER.sub", "CER.ins"):
        plain, judge = prepare_all(lists, [f"{family}(lc=1)", f"{family}|norm:lower+punct"])
        assert "norm" not in plain.signature
        assert "|norm:lower+punct|" in judge.signature
        assert judge.name == f"{family}(norm=lower+punct)"
        assert parse(judge.signature).name == judge.name
        assert prepare_all(lists, [judge.signature])[0].signature == judge.signature


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("WER|norm:lowr", "unknown step of normalisation 'lowr'; did you mean 'lower'"),
        ("WER(norm=lower+)", "unknown step of normalisation ''"),
        ("WER(norm=none+lower)", "unknown step of normalisation 'none'"),
        ("WER(norm=steps)", "unknown step of normalisation 'steps'"),
        ("WER|norm:yes", "unknown step of normalisation 'yes'|'norm:yes' is not in its signature"),
        ("BLEU|norm:lower", "'norm:lower' is not in its signature"),
    ],
)
def test_unknown_steps(metric: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        prepare_all(lists_of(HYPS, REFS), [metric])


def test_normalisers_of_whisper() -> None:
    english = pytest.importorskip("whisper_normalizer.english", reason="extra speech")
    basic = importlib.import_module("whisper_normalizer.basic")
    for norm, theirs in (
        ("whisper", basic.BasicTextNormalizer()),
        ("whisper-en", english.EnglishTextNormalizer()),
        ("numbers-en", english.EnglishNumberNormalizer()),
    ):
        assert [applied(norm, text) for text in HYPS + REFS] == [theirs(text) for text in HYPS + REFS]
    judge = prepare_all(lists_of(HYPS, REFS), ["WER|norm:whisper-en"])[0]
    assert "|norm:whisper-en|whisper-normalizer:" in judge.signature
    assert value("WER|norm:whisper-en", ["it's 21 dollars"], ["It is twenty-one dollars."]) == 0.0
    assert prepare_all(lists_of(HYPS, REFS), [judge.signature])[0].signature == judge.signature


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "whisper_normalizer", None)
    monkeypatch.delitem(sys.modules, "whisper_normalizer.english", raising=False)
    with pytest.raises(ConfigError, match=r"norm=whisper-en needs .* pip install 'rerank\[speech\]'"):
        parse("WER|norm:whisper-en")


def test_a_note_if_texts_differ_mostly_in_case_or_punctuation() -> None:
    lists = lists_of(HYPS[:3], REFS[:3], repeat=10)
    with pytest.warns(
        DataNote,
        match=r"60 of 80 word errors .* case or punctuation, which -m 'WER\|norm:lower\+punct' leaves out",
    ):
        prepare_all(lists, ["WER", "CER"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepare_all(lists, ["WER(lc=1)", "CER|norm:lower"])
        prepare_all(lists_of(["a b"], ["c d"], repeat=30), ["WER"])
        prepare_all(lists_of(HYPS[:3], REFS[:3]), ["WER"])  # too few errors to say
