"""N-best parses: what is read, what is refused and where, what is written."""

import gzip
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import trees as reference

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.columns.forests import Forest
from rerank.data.columns.offsets import offsets_of
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.formats import FORMATS, detect, load
from rerank.metrics.base import parse

GOLD = "(S1 (S (NP (DT The) (NN dog)) (VP (VBZ barks))))"
WRONG = "(S1 (NP (NP (DT The) (NN dog)) (NP (NNS barks))))"
SECOND = "(S1 (X (UH Well) (. .)))"
TEXT = f"{GOLD}\n-12.5\t{GOLD}\n-14.25\t{WRONG}\n\n{SECOND}\n-3\t{SECOND}\n\n"


def path_of(folder, text, name="set.parses"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def read(folder, text, **options):
    return load(path_of(folder, text), **options)


def test_columns(tmp_path):
    lists = read(tmp_path, TEXT)
    assert lists.lengths.tolist() == [2, 1]
    assert lists.base_scores.tolist() == [-12.5, -14.25, -3.0]
    assert lists.features.to_dense().tolist() == [[-12.5], [-14.25], [-3.0]]
    assert lists.names() == ["logprob"]
    assert np.argsort(-lists.first_best).tolist() == [0, 1, 2]
    assert list(lists.trees.to_strings()) == list(lists.texts) == [GOLD, WRONG, SECOND]
    assert list(lists.gold.to_strings()) == [GOLD, SECOND]
    assert lists.gold.vocabulary == lists.trees.vocabulary
    assert lists.labels is None
    assert lists.list_ids is None


@pytest.mark.parametrize(
    "text",
    [
        TEXT.rstrip("\n"),
        TEXT.removesuffix("\n"),
        TEXT.replace("\n", "\r\n"),
        "\n \n" + TEXT.replace("\n\n", "\n \t\n\n"),
        "\ufeff" + TEXT,
        TEXT.replace("\t", "  "),
        TEXT.replace(" (", "(").replace("))", ") \t)"),
        TEXT.replace(GOLD, f"( {GOLD} )"),
        TEXT.replace("-3\t", "-3e0 \t "),
        TEXT.replace("-12.5", "  -12.50000000000000000000000000000000000000000000000000000"),
    ],
)
def test_the_same_lists_written_in_other_ways(tmp_path, text):
    lists, plain = read(tmp_path, text), read(tmp_path, TEXT)
    assert lists.offsets.tolist() == plain.offsets.tolist()
    assert lists.base_scores.tolist() == plain.base_scores.tolist()
    assert lists.trees == plain.trees
    assert lists.gold == plain.gold


def test_one_parse_at_the_very_end(tmp_path):
    assert read(tmp_path, "(A b)\n-1\t(A b)").base_scores.tolist() == [-1.0]
    for missing in ("-7", "-7\t", "-7 ()", "-7\t(())", "-7\t(S1 ())\n"):
        with pytest.warns(
            DataNote, match="set.parses: 1 parse is missing; it counts as wrong \\(from line 2"
        ):
            lists = read(tmp_path, f"(A b)\n{missing}")
        assert lists.trees.lengths().tolist() == [0]
        assert lists.base_scores.tolist() == [-7.0]


def test_new_sentences_have_no_gold(tmp_path):
    lists = read(tmp_path, TEXT.replace(f"{GOLD}\n-12", "-12").replace(f"{SECOND}\n-3", "-3"))
    assert lists.gold is None
    assert list(lists.texts) == [GOLD, WRONG, SECOND]
    with pytest.raises(DataError, match="PARSEVAL needs the gold trees"):
        parse("PARSEVAL").prepare(lists)


def test_a_sentence_without_a_parse_is_left_out(tmp_path):
    text = f"(A b)\n\n{TEXT}(C d)\n\n"
    with pytest.warns(DataNote, match=r"set.parses: 2 sentences without a parse left out \(from line 1\)"):
        lists = read(tmp_path, text)
    assert list(lists.gold.to_strings()) == [GOLD, SECOND]
    with pytest.raises(FormatError, match=":1: found a gold tree without a parse"):
        read(tmp_path, text, strict=True)
    with pytest.raises(FormatError, match=":1: found a gold tree without a parse"):
        read(tmp_path, "(A b)\n\n(C d)\n")


def test_ids_are_in_a_separate_file(tmp_path):
    ids = path_of(tmp_path, "wsj.1\nwsj.2\n", "ids")
    assert list(read(tmp_path, TEXT, ids=ids).list_ids) == ["wsj.1", "wsj.2"]
    more = path_of(tmp_path, "none\nwsj.1\nwsj.2\n", "ids")
    with pytest.warns(DataNote, match="left out"):
        lists = read(tmp_path, f"(A b)\n\n{TEXT}", ids=more)
    assert list(lists.list_ids) == ["wsj.1", "wsj.2"]
    with pytest.raises(FormatError, match=r"ids: found 3 ids, expected 2, one per sentence of .*set.parses"):
        read(tmp_path, TEXT, ids=more)
    for text, message in (
        ("a\na\n", r"ids:2: found the id 'a' again \(line 1\)"),
        ("a\n\n", "ids:2: found an empty"),
    ):
        with pytest.raises(FormatError, match=message):
            read(tmp_path, TEXT, ids=path_of(tmp_path, text, "ids"))


def test_traces_and_function_tags_are_removed_on_request(tmp_path):
    gold = "( (S (NP-SBJ-1 (DT The) (NN dog)) (VP (VBZ barks) (NP (-NONE- *-1)))) )"
    text = f"{gold}\n-1\t(S (NP (DT The) (NN dog)) (VP (VBZ barks)))\n"
    lists = read(tmp_path, text)
    assert lists.gold[0] == gold[2:-2]
    assert parse("PARSEVAL").prepare(lists).item_values().tolist() == [100.0]
    bare = read(tmp_path, text, strip=["traces", "functions"])
    assert bare.gold[0] == bare.trees[0] == "(S (NP (DT The) (NN dog)) (VP (VBZ barks)))"
    assert read(tmp_path, text, strip="traces").gold[0].startswith("(S (NP-SBJ-1 ")
    with pytest.raises(ConfigError, match="strip: found 'function', expected 'traces' or 'functions'"):
        read(tmp_path, text, strip="function")


def test_distinct_keeps_the_first_of_equal_trees(tmp_path):
    with pytest.warns(DataNote, match="1 of 3 items repeat"):
        lists = read(
            tmp_path, f"{GOLD}\n-1\t{WRONG}\n-2\t{WRONG.replace(' (', '  (')}\n-3\t{GOLD}", distinct=True
        )
    assert lists.base_scores.tolist() == [-1.0, -3.0]


FAULTS = {
    "no number": (f"{GOLD}\nx\t{GOLD}", r":2: found 'x\\t\(S1 .*\.\.\.', expected a gold tree, or log2"),
    "nan": (f"{GOLD}\nnan\t{GOLD}", ":2: found 'nan', expected a log2 probability that is finite"),
    "infinite": (f"{GOLD}\n-inf\t{GOLD}", ":2: found '-inf', expected a log2 probability that is finite"),
    "huge": (f"{GOLD}\n1e999\t{GOLD}", ":2: found '1e999"),
    "long": (f"{GOLD}\n1.{'0' * 300}\t{GOLD}", ":2: found '1.0"),
    "stuck": (f"{GOLD}\n-1{GOLD}", r":2: found '-1\(S1"),
    "stuck at the end": ("(A b)\n-1x", ":2: found '-1x'"),
    "text": (f"{GOLD}\n-1\tabc", ":2: found 'abc', expected a tree in brackets"),
    "open": (f"{GOLD}\n-1\t{GOLD[:-1]}\n", ":2: found brackets that are not closed"),
    "more": (f"{GOLD}\n\n\n{GOLD}\n-1\t{GOLD}) \n", r":5: found '\)' after the tree"),
    "two trees": (f"{GOLD}\n-1\t(A b) (A b)\n", r":2: found '\(A b\)' after the tree"),
    "empty bracket": (f"{GOLD}\n-1\t(S (NP) (VP a))", ":2: found a bracket without a word"),
    "bad gold": (f"(S\n-1\t{GOLD}", ":1: found brackets that are not closed"),
    "the first of two": ("(A b)\n-1\t(A\n\n(A\n-1\t(A b)", ":2: found brackets that are not closed"),
    "gold twice": (f"{GOLD}\n{GOLD}\n-1\t{GOLD}", ":2: found a tree without a log probability"),
    "no blank line": (f"(A b)\n-1\t(A b)\n{TEXT}", ":3: found a tree without a log probability"),
    "gold lacks": (f"{TEXT}-1\t(A b)", ":8: found no gold tree, expected one first .* as on line 1"),
    "gold too many": (
        f"-1\t(A b)\n\n{TEXT}",
        ":3: found a gold tree, expected none, as in the block of line 1",
    ),
    "gold is empty": (f"{TEXT}()\n-1\t()", ":8: found a gold tree without a word"),
    "another word": (
        f"{GOLD}\n-1\t{GOLD}\n-2\t{WRONG.replace('dog', 'Dog')}",
        ":3: found word 2 'Dog', expected 'dog', as in the gold tree on line 1",
    ),
    "fewer words": (
        f"{TEXT}{GOLD}\n-1\t(S (A The) (B dog))",
        ":9: found 2 words, expected 3, as in .* line 8",
    ),
    "more words": (
        "(A b)\n-1\t(A (B b) (C c))",
        ":2: found 2 words, expected 1, as in the gold tree on line 1",
    ),
    "a tree over lines": (f"{TEXT}( (S\n  (A b)))\n-1\t(S (A b))", ":8: found brackets that are not closed"),
    "cut off in gold": (TEXT + GOLD[:-4], ":8: found brackets that are not closed"),
    "only empty lines": (" \n\r\n", ": found empty lines only"),
}


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_one_line_that_names_the_line(fault, tmp_path):
    text, message = FAULTS[fault]
    with pytest.raises(FormatError, match="set.parses" + message) as caught:
        read(tmp_path, text)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "known"),
    [
        (TEXT, True),
        ("\n\n" + TEXT, True),
        ("-1.5\t(S (A b))\n", True),
        ("(S (A b))\n\n(S (A b))\n-1\t(S (A b))\n", False),  # its start shows too little
        ("0 ||| (a) ||| lm= -1 ||| -1\n", False),
        ("1 qid:1 1:2 # (x)\n", False),
    ],
)
def test_the_content_tells_the_format(text, known):
    assert FORMATS.get("parses").recognises(text.encode()) is known
    if known:
        assert detect("x.nbest.gz", text.encode()) == ("parses", "content")


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@given(
    st.lists(st.sampled_from([*"(((())))ab \t\n\n-19.", "(S ", "\n-1\t(", "\x00", "é"]), max_size=40).map(
        "".join
    )
)
def test_any_text_is_read_or_refused_with_its_line(tmp_path_factory, text):
    path = path_of(tmp_path_factory.mktemp("any"), text)
    line = 1
    try:
        lists = load(path)
    except FormatError as error:
        line = error.line
    else:
        assert len(lists.trees) == lists.n_items
    assert line is None or 1 <= line <= text.count("\n") + 1


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("more", ["", "9" * 60, ".5", "e-3"])
def test_a_number_at_the_very_end_of_a_mapped_file(tmp_path, more):
    text = f"(A b)\n-1\t(A b)\n-1{more}"
    text = " " * (20 * 4096 - len(text)) + text
    assert read(tmp_path, text).base_scores.tolist() == [-1.0, float(f"-1{more}")]


@st.composite
def sets(draw):
    lengths = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
    gold, trees = [], []
    for n in lengths:
        words = draw(st.lists(st.sampled_from(["a", "dog", ",", "é", "-LRB-"]), min_size=1, max_size=6))
        some = reference.parses(words)
        gold.append(reference.brackets(draw(some)))
        trees += [reference.brackets(draw(st.one_of(some, some, st.none()))) for _ in range(n)]
    scores = np.array([draw(st.floats(-1e6, 0)) for _ in trees])
    return CandidateLists(
        offsets_of(lengths),
        Dense(scores[:, None]),
        base_scores=scores,
        first_best=-np.arange(float(len(trees))),
        feature_names=["logprob"],
        texts=StringColumn.from_strings(trees),
        trees=Forest.from_strings(trees),
        gold=Forest.from_strings(gold) if draw(st.booleans()) else None,
    )


@pytest.mark.filterwarnings("ignore:.*missing:rerank.core.errors.DataNote")
@given(sets())
def test_round_trip(tmp_path_factory, lists):
    path = str(tmp_path_factory.mktemp("round") / "set.parses")
    FORMATS.get("parses")().write(lists, path)
    again = load(path)
    assert again.offsets.tolist() == lists.offsets.tolist()
    assert again.base_scores.tolist() == lists.base_scores.tolist()
    assert again.features.to_dense().tolist() == lists.features.to_dense().tolist()
    assert again.trees == lists.trees
    assert again.texts == lists.texts
    assert (again.gold is None) == (lists.gold is None)
    assert again.gold is None or again.gold == lists.gold


def test_the_writer_gives_the_same_bytes_and_reports_what_it_leaves_out(tmp_path):
    lists = read(tmp_path, TEXT)
    out = tmp_path / "out.parses"
    FORMATS.get("parses")().write(lists, str(out))
    assert out.read_text() == TEXT.replace("-3\t", "-3.0\t")
    turned = replace(lists.reordered(np.array([1, 0, 2])), labels=np.zeros(3), feature_names=["other"])
    with pytest.warns(DataNote, match="parses holds no labels, first-stage order, feature names; left out"):
        FORMATS.get("parses")().write(turned, str(out))
    assert out.read_text().split("\n")[1] == f"-14.25\t{WRONG}"


def test_what_cannot_be_written_is_refused(tmp_path):
    lists = read(tmp_path, TEXT)

    def symbols(forest, *strings):
        return replace(
            forest,
            vocabulary=StringColumn.from_strings([*strings, *forest.vocabulary][: len(forest.vocabulary)]),
        )

    for changes, message in (
        ({"trees": None}, "parses holds trees, and the lists have none"),
        ({"base_scores": None}, "holds log probabilities .*, and the lists have none"),
        ({"base_scores": np.array([0.0, np.nan, 0.0])}, "and some are missing"),
        ({"trees": symbols(lists.trees, "S S")}, "would read a tree back as another"),
        ({"trees": symbols(lists.trees, "S\n(")}, "would read a tree back as another"),
        ({"gold": symbols(lists.gold, "")}, "would read a gold tree back as another"),
        ({"gold": Forest.from_strings(["", SECOND])}, "cannot hold a gold tree without a word"),
    ):
        with pytest.raises(DataError, match=message):
            FORMATS.get("parses")().write(replace(lists, **changes), str(tmp_path / "out.parses"))
        assert not (tmp_path / "out.parses").exists()


def test_real_parses_are_written_as_they_were(shared_data, tmp_path):
    folder = shared_data / "parse-nbest"
    text = gzip.decompress((folder / "dev.nbest.gz").read_bytes())
    with pytest.warns(DataNote, match="read as parses"):
        lists = load(folder / "dev.nbest.gz", ids=str(folder / "dev.ids"))
    assert (lists.n_lists, lists.n_items) == (345, 17009)
    with pytest.warns(DataNote, match="list ids"):
        FORMATS.get("parses")().write(lists, str(tmp_path / "out.parses"))
    written = (tmp_path / "out.parses").read_bytes().rstrip().split(b"\n")
    given_lines = text.rstrip().split(b"\n")
    assert [line.rpartition(b"\t")[2] for line in written] == [
        line.rpartition(b"\t")[2] for line in given_lines
    ]
    assert [float(line.partition(b"\t")[0]) for line in written if b"\t" in line] == [
        float(line.partition(b"\t")[0]) for line in given_lines if b"\t" in line
    ]


def test_a_sentence_of_249_words_is_read(shared_data):
    with pytest.warns(DataNote, match="read as parses"):
        lists = load(shared_data / "parse-nbest" / "train.nbest.gz")
    assert np.diff(lists.gold.words()[0]).max() == 249
