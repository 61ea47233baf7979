"""The reader of BLLIP's feature files against a slow twin, and what it makes of good and bad files."""

import bz2
import gzip
import lzma
import random
from pathlib import Path

import numpy as np
import pytest
from fuzz.mutated import mutated_files
from hypothesis import assume, given, settings
from reading import check_as_slowly
from reference import bllip as slow

import rerank
from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Sparse
from rerank.formats import load
from rerank.learners.perceptron import Perceptron

SMALL = (
    "S=3\n"
    "G=7 N=2 P=7 W=7 1 3=2 6, P=6 W=5 0=1.25 6=-1,\n"
    "G=4 N=1 P=0 W=0,\n"
    "G=3 N=3 P=3 W=3 2, P=3 W=1, P=4 W=2 0=-0.5 1 4=3.5,\n"
)


def read(tmp_path: Path, text: str | bytes, **options: object) -> CandidateLists:
    path = tmp_path / "parses"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return load(path, format="bllip", **options)


def check_against(lists: CandidateLists, twin: slow.Sentences) -> None:
    """All of ``lists`` is what the slow reader read."""
    assert lists.lengths.tolist() == [size for size in twin.sizes if size]
    assert [int(name) for name in lists.list_ids] == twin.numbers()
    assert lists.labels.tolist() == twin.scores()
    counts = lists.counts["PARSEVAL"]
    assert counts[:, :3].tolist() == [[w, g, p] for g, p, w in twin.edges]
    assert np.all(np.isnan(counts[:, 3:]))
    assert lists.n_features == twin.n_features
    assert list(lists.feature_names) == [str(j) for j in range(twin.n_features)]
    features = lists.features
    assert isinstance(features, Sparse)
    assert features.indices.tolist() == [j for row in twin.features for j in row]
    values = np.array([value for row in twin.features for value in row.values()])
    data = np.ones(len(values)) if features.data is None else features.data
    assert data.tobytes() == values.tobytes()
    assert features.indptr.tolist() == np.cumsum([0, *map(len, twin.features)]).tolist()


def random_value(rng: random.Random) -> bytes:
    if rng.random() < 0.5:
        return b"%d" % rng.randint(-3, 20)
    value = rng.uniform(-1, 1) * 10.0 ** rng.randint(-12, 12)
    form = rng.choice([b"%.6g", b"%.17e", b"%.4f"])
    return rng.choice([form % value, b".5", b"-0", b"+3", b"1E5", b"1e-320", b"123456789012345678901234"])


def random_file(rng: random.Random) -> bytes:
    """A valid file with everything in it that the format allows."""
    width = rng.choice([1, 5, 100, 5000])
    ones = rng.random() < 0.3
    blank = rng.choice([b" ", b" ", b"  ", b"\t"])
    newline = rng.choice([b"\n", b"\n", b"\r\n", b"\n\n"])
    lines = []
    for _ in range(rng.choice([1, 2, 8])):
        gold = rng.randrange(12)
        tokens = [b"G=%d" % gold]
        parses = []
        for _ in range(rng.choice([0, 1, 3, 10])):
            test = rng.randrange(12)
            ids = sorted(rng.sample(range(width), min(width, rng.choice([0, 1, 4, 60]))))
            values = [b"" if ones or rng.random() < 0.7 else b"=" + random_value(rng) for _ in ids]
            head = [b"P=%d" % test, b"W=%d" % rng.randint(0, min(gold, test))]
            parses.append(blank.join(head + [b"%d%s" % pair for pair in zip(ids, values, strict=True)]))
        tokens.append(b"N=%d" % len(parses))
        tokens += [parse + rng.choice([b",", b" ,"]) for parse in parses]
        lines.append(blank.join(tokens) + rng.choice([b"", b"", b" "]))
    if all(b"P=" not in line for line in lines):
        lines.append(b"G=2 N=1 P=1 W=1,")
    bom = b"\xef\xbb\xbf" if rng.random() < 0.1 else b""
    return bom + newline.join([b"S=%d" % len(lines), *lines]) + rng.choice([b"", newline, b"\n \n"])


@pytest.mark.parametrize("seed", range(150))
def test_reads_what_the_slow_reader_reads(tmp_path: Path, seed: int) -> None:
    data = random_file(random.Random(seed))
    slow.read(data)
    check_as_slowly(tmp_path / "parses", data, slow.read, check_against, format="bllip")


PIECES = [b" ", b"\n", b",", b"=", b"1", b"0", b".", b"-", b"e", b"P=", b"W=1 ", b"G=2", b"N=0", b"S=1"]
PIECES += [b"\0", b"x", b"\t", b"\r", b"nan", b"\x0b", b" 7", b"=1", b"9" * 12, b" , "]


@given(content=mutated_files(random_file, PIECES))
@settings(max_examples=400)
def test_a_mutated_file_reads_the_same_or_fails_at_the_same_line(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    twin_ids = [int(token) for token in content.replace(b"=", b" ").split() if token.isdigit()]
    assume(all(number < 100_000 or number > 99_999_999 for number in twin_ids))  # names take memory
    check_as_slowly(
        tmp_path_factory.getbasetemp() / "mutated", content, slow.read, check_against, format="bllip"
    )


def test_every_column(tmp_path: Path) -> None:
    lists = read(tmp_path, SMALL)
    assert lists.offsets.tolist() == [0, 2, 3, 6]
    assert list(lists.list_ids) == ["1", "2", "3"]
    assert lists.labels.tolist() == [1.0, 10 / 13, 0.0, 1.0, 1 / 3, 4 / 7]
    assert lists.first_best.tolist() == [0, -1, -2, -3, -4, -5]
    assert lists.base_scores is None
    assert list(lists.feature_names) == ["0", "1", "2", "3", "4", "5", "6"]
    expected = np.zeros((6, 7))
    expected[0, [1, 3, 6]] = 1, 2, 1
    expected[1, [0, 6]] = 1.25, -1
    expected[3, 2] = 1
    expected[5, [0, 1, 4]] = -0.5, 1, 3.5
    assert np.array_equal(lists.features.to_dense(), expected)
    assert lists.source.endswith("parses")


def test_ids_alone_take_no_values(tmp_path: Path) -> None:
    lists = read(tmp_path, "S=1\nG=2 N=2 P=2 W=2 0 5, P=2 W=1 7,\n")
    assert lists.features.data is None
    assert lists.features.n_values == 3


def test_found_by_content_whatever_the_compression(tmp_path: Path) -> None:
    for suffix, pack in ((".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)):
        path = tmp_path / f"train{suffix}"
        path.write_bytes(pack(SMALL.encode()))
        with pytest.warns(DataNote, match="read as bllip"):
            lists = load(path)
        check_against(lists, slow.read(SMALL.encode()))


def test_an_archive_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "train.gz"
    path.write_bytes(gzip.compress(SMALL.encode() * 50)[:-20])
    with pytest.raises(FormatError, match=r"train\.gz"):
        load(path, format="bllip")


NAMES = "0\tNLogP 0\n1\tRightBranch 0\n2\tRightBranch 1\n4\tRule:0 (NP DT)\n9\tRule:0 (VP VB)\n"


def test_names_keep_their_ids_and_name_the_first_stage(tmp_path: Path) -> None:
    names = tmp_path / "features.txt"
    names.write_text(NAMES)
    lists = read(tmp_path, SMALL, feature_names=str(names))
    assert lists.n_features == 10
    assert lists.feature_names[:5] == ["NLogP 0", "RightBranch 0", "RightBranch 1", "3", "Rule:0 (NP DT)"]
    assert lists.feature_names[5:] == ["5", "6", "7", "8", "Rule:0 (VP VB)"]
    assert lists.features.column(4).tolist() == [0, 0, 0, 0, 0, 3.5]
    assert lists.base_scores.tolist() == [0, -1.25, 0, 0, 0, 0.5]
    names.write_text(NAMES.replace("NLogP", "Rule:1"))
    assert read(tmp_path, SMALL, feature_names=str(names)).base_scores is None
    names.write_text("0\tNLogP 0\n1\tx\n")
    with pytest.raises(DataError, match="found 2 feature names, expected 7"):
        read(tmp_path, SMALL, feature_names=str(names))


def test_columns_of_two_files_are_matched_by_id(tmp_path: Path) -> None:
    """A model of a narrow file knows the same features in a wide one, and the other way round."""
    narrow = read(tmp_path, "S=1\nG=2 N=2 P=2 W=2 0=2 1, P=2 W=1 2,\n")
    wide = read(tmp_path, "S=1\nG=2 N=2 P=2 W=2 1=5 3, P=2 W=1 2=7 4,\n")
    assert wide.with_columns(narrow.names()).features.to_dense().tolist() == [[0, 5, 0], [0, 0, 7]]
    assert narrow.with_columns(wide.names()).features.to_dense().tolist() == [
        [2, 1, 0, 0, 0],
        [0, 0, 1, 0, 0],
    ]
    # Ids 1 to n alone would be taken for columns without names, were there no column 0.
    assert list(read(tmp_path, "S=1\nG=1 N=1 P=1 W=1 1 2,\n").feature_names) == ["0", "1", "2"]


EMPTY = "S=4\nG=7 N=0\nG=5 N=1 P=5 W=4 0,\n\nG=2 N=0 \nG=3 N=1 P=3 W=3 1,\n"


def test_sentences_without_a_parse_are_reported_or_refused(tmp_path: Path) -> None:
    with pytest.warns(DataNote, match=r"2 sentences of 4 without a parse left out \(first: sentence 1\)"):
        lists = read(tmp_path, EMPTY)
    assert list(lists.list_ids) == ["2", "4"]
    assert lists.counts["PARSEVAL"][:, 1].tolist() == [5, 3]
    with pytest.raises(FormatError) as caught:
        read(tmp_path, EMPTY, strict=True)
    assert (caught.value.line, caught.value.found) == (2, "a sentence without a parse")
    with pytest.raises(FormatError) as caught:
        read(tmp_path, EMPTY.replace("G=7 N=0", "G=7 N=1 P=1 W=1,"), strict=True)
    assert caught.value.line == 5
    with pytest.raises(FormatError, match="found no parse, expected at least one sentence with parses"):
        read(tmp_path, "S=1\nG=7 N=0\n")


ONE = "S=1\nG=7 N=2 P=7 W=7 3 14=2, P=7 W=6 0=1.5 3,\n"
FAULTS = [
    ("", None, "an empty file", "S=<number of sentences> alone on the first line"),
    (" \n\n", None, "a file of blanks", "S=<number of sentences> alone on the first line"),
    ("\nG=7 N=0\n", 2, "'G=7'", "S=<number of sentences> alone on the first line"),
    ("S=1 G=7 N=0\n", 1, "'S=1'", "S=<number of sentences> alone on the first line"),
    ("S=-1\n", 1, "'S=-1'", "S=<number of sentences> alone on the first line"),
    ("S=2", None, "0 sentences", "2, as S=2 on its first line says"),
    (ONE.replace("S=1", "S=2"), None, "1 sentence", "2, as S=2 on its first line says"),
    (ONE.replace("S=1", "S=0"), None, "1 sentence", "0, as S=0 on its first line says"),
    (ONE.replace("G=7", "7"), 2, "'7'", "G=<constituents of the gold tree>"),
    (ONE.replace("G=7", "G=-7"), 2, "'G=-7'", "G=<constituents of the gold tree>, a whole number"),
    (ONE.replace("G=7", "G=7.5"), 2, "'G=7.5'", "G=<constituents of the gold tree>, a whole number"),
    (
        ONE.replace("G=7", "G=9999999999"),
        2,
        "'G=9999999999'",
        "G=<constituents of the gold tree>, at most 999999999",
    ),
    ("S=1\nG=7\n", 2, "no N=", "N=<number of parses>"),
    (ONE.replace("N=2", "N=3"), 2, "2 parses", "as many as N=3 says"),
    (ONE.replace("N=2", "N=1"), 2, "2 parses", "as many as N=1 says"),
    ("S=1\nG=7 N=1\n", 2, "0 parses", "as many as N=1 says"),
    (ONE.replace("P=7 W=6", "W=6"), 2, "'W=6'", "P=<constituents of the parse>"),
    (ONE.replace("W=7 3", "3"), 2, "'3'", "W=<constituents of both>"),
    (ONE.replace("W=6", "W=8"), 2, "'W=8'", "at most 7, as the parse or the gold tree has no more"),
    (ONE.replace("P=7 W=6", "P=5 W=6"), 2, "'W=6'", "at most 5, as the parse or the gold tree has no more"),
    (ONE.replace("3,\n", "3\n"), 2, "the end of the line", "a comma after the last parse"),
    (ONE.replace("3,\n", "3"), 2, "the end of the line", "a comma after the last parse"),
    (
        ONE.replace("=2,", "=2"),
        2,
        "'P=7' among the features of a parse",
        "id, id=value or the comma that ends it",
    ),
    (ONE.replace(" 3,", " -3,"), 2, "'-3'", "a feature, id or id=value"),
    (ONE.replace(" 3,", " x=3,"), 2, "'x=3'", "a feature, id or id=value"),
    (ONE.replace(" 3,", " 3=,"), 2, "no value for feature 3", "id=value"),
    (ONE.replace("=2,", "=two,"), 2, "value of feature 14: 'two'", "a number"),
    (ONE.replace("=2,", "=nan,"), 2, "value of feature 14: 'nan'", "a finite number"),
    (
        ONE.replace("=2,", "=1e999,"),
        2,
        "value of feature 14: '1e999', too large for float64",
        "a finite number",
    ),
    (ONE.replace("3 14", "14=3 14"), 2, "feature 14 after 14", "increasing ids"),
    (ONE.replace("3 14", "15 14"), 2, "feature 14 after 15", "increasing ids"),
    (ONE.replace(" 14=2", " 100000000=2"), 2, "feature '100000000'", "an id below 100000000"),
    (ONE.replace("G=7", "\0"), 2, r"'\x00'", "G=<constituents of the gold tree>"),
]


@pytest.mark.parametrize(("text", "line", "found", "expected"), FAULTS)
def test_a_fault_is_reported_with_its_line(
    tmp_path: Path, text: str, line: int | None, found: str, expected: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read(tmp_path, text)
    assert (caught.value.line, caught.value.found, caught.value.expected) == (line, found, expected)
    if line == 2 and text.startswith("S=1\n") and text.count("\n") == 2:  # after much else
        many = "S=900\n" + ONE.split("\n")[1].join(["", *["\n"] * 899]) + text.split("\n")[1] + "\n"
        with pytest.raises(FormatError) as caught:
            read(tmp_path, many)
        assert (caught.value.line, caught.value.found, caught.value.expected) == (901, found, expected)


def test_parseval_needs_no_trees(tmp_path: Path) -> None:
    lists = read(tmp_path, SMALL)
    scores = np.array([0.0, 1, 0, 0, 0, 1])
    values = rerank.evaluate(lists, scores, ["PARSEVAL", "PARSEVAL.LR", "PARSEVAL.LP"])
    assert values == pytest.approx({"PARSEVAL": 1400 / 24, "PARSEVAL.LR": 50, "PARSEVAL.LP": 70})
    with pytest.raises(DataError, match=r"PARSEVAL\.CB needs crossing brackets"):
        rerank.evaluate(lists, np.zeros(6), ["PARSEVAL.CB"])


def test_other_layouts_are_refused(tmp_path: Path) -> None:
    for option in ({"layout": "dense"}, {"missing": "nan"}, {"zero_based": True}):
        with pytest.raises(ConfigError):
            read(tmp_path, SMALL, **option)


def test_the_shared_development_set(shared_data: Path, tmp_path: Path) -> None:
    folder = shared_data / "parse-bllip"
    lists = load(folder / "dev.gz", format="bllip", feature_names=str(folder / "features.txt.gz"))
    assert (lists.n_lists, lists.n_items, lists.n_features) == (345, 17009, 150611)
    assert lists.features.n_values == 5042803
    assert lists.feature_names[0] == "NLogP 0"
    # The first stage's own order is that of its probabilities.
    within = lists.list_index[1:] == lists.list_index[:-1]
    assert np.all(np.diff(lists.base_scores)[within] <= 0)
    counts = lists.counts["PARSEVAL"]
    first = counts[lists.offsets[:-1]].sum(axis=0)
    assert round(200 * first[0] / (first[1] + first[2]), 2) == 84.63
    head = gzip.decompress((folder / "dev.gz").read_bytes()).split(b"\n")[1:9]
    text = b"\n".join([b"S=8", *head, b""])
    check_against(read(tmp_path, text), slow.read(text))
    model = Perceptron(epochs=1).fit(lists)
    scores = np.split(model.score(lists), lists.offsets[1:-1])
    best = lists.offsets[:-1] + [int(np.argmax(some)) for some in scores]
    assert lists.labels[best].mean() > lists.labels[lists.offsets[:-1]].mean()


@pytest.mark.parametrize("digits", ["9" * 5000, "0" * 5000 + "100000000"])
def test_an_id_of_more_digits_than_python_reads(tmp_path, digits):
    path = tmp_path / "set.bllip"
    path.write_text(f"S=1\nG=7 N=1 P=7 W=7 {digits},\n")
    with pytest.raises(FormatError, match=r"set\.bllip:2: found feature .*, expected an id below 100000000"):
        load(path)
