"""Tags, lemmas and stems of the extra, and the errors without it."""

import sys

import pytest

from rerank.core.errors import ConfigError
from rerank.extensions.questions.text import C5, KINDS, PENN, HanTa, penn_tag, stemmer

KNOWN = {*KINDS, "CC", "RP", "UH", "-LRB-", "-RRB-", ":", "''"}


@pytest.fixture(scope="module")
def hanta() -> HanTa:
    pytest.importorskip("HanTa.HanoverTagger")
    return HanTa("a test")


def test_every_tag_of_the_tagger_is_translated(hanta: HanTa) -> None:
    tagger = hanta._tagger
    word_tags = {tagger.int2tag[-code] for code in tagger.int2tag if code < 0 and -code in tagger.int2tag}
    assert word_tags <= set(PENN)
    assert set(PENN.values()) <= KNOWN
    assert {PENN[c5] for c5 in C5.values()} == set(C5) - {"NNPS"}


def test_a_sentence_has_penn_tags(hanta: HanTa) -> None:
    text = "What_WP did_VBD the_DT Black_NNP Panthers_NNPS of_IN Oakland_NNP want_VBP 1969_CD (_-LRB- )_-RRB-"
    forms, tags = zip(*(pair.split("_") for pair in text.split()), strict=True)
    assert hanta.tags(forms) == list(tags)
    assert hanta.tags([]) == []


def test_forms_decide_before_tags() -> None:
    assert penn_tag("to", "PRP", first=False) == "TO"
    assert penn_tag("What", "DTQ", first=True) == "WP"
    assert penn_tag("Fox", "NN1", first=False) == "NNP"
    assert penn_tag("Fox", "NN1", first=True) == "NN"
    assert penn_tag("$", "UNC", first=False) == "$"
    assert penn_tag("%", "UNC", first=False) == "NN"
    assert penn_tag("/", "UNC", first=False) == ":"


def test_lemmas(hanta: HanTa) -> None:
    pairs = {
        ("dogs", "NNS"): "dog",
        ("wrote", "VBD"): "write",
        ("was", "VBD"): "be",
        ("States", "NNPS"): "states",
    }
    assert {pair: hanta.lemma(*pair) for pair in pairs} == pairs
    assert hanta.lemma("children", None) == "child"
    assert hanta.lemma("Of", "IN") == "of"


def test_long_words_take_no_longer_than_short_ones(hanta: HanTa) -> None:
    word = "x" * 100_000  # the tagger's time grows with the square of the length
    assert len(hanta.tags([word])) == 1
    assert hanta.lemma(word, "NN").startswith("xxx")


def test_stems() -> None:
    pytest.importorskip("snowballstemmer")
    assert [stemmer("english", "x")(word) for word in ("Dogs", "this", "ladies")] == ["dog", "this", "ladi"]
    stems = [stemmer("porter", "x")(word) for word in ("Dogs", "this", "ladies", "S")]
    assert stems == ["dog", "thi", "ladi", "s"]  # Porter's stem of s is empty


@pytest.mark.parametrize(
    ("module", "make"), [("HanTa", HanTa), ("snowballstemmer", lambda user: stemmer("porter", user))]
)
def test_a_missing_package_is_named(module: str, make: object, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == module]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ConfigError, match=rf"^a test needs the package {module}: pip install 'rerank\[qa\]'$"
    ):
        make("a test")  # type: ignore[operator]


def test_no_model_of_the_working_directory_is_loaded(hanta: HanTa, tmp_path, monkeypatch) -> None:
    (tmp_path / "morphmodel_en.pgz").write_bytes(b"not a model")
    monkeypatch.chdir(tmp_path)
    HanTa("a test")
