"""Weight files: TSV, the [weight] section of a moses.ini, BLLIP's by the registry."""

from pathlib import Path

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.formats.weights import WEIGHTS, WeightOptions, read_weights, write_weights

INI = """\
# tuned once
[input-factors]
0

[feature]
UnknownWordPenalty
KENLM name=LM0 factor=0 path=lm order=5

[weight]
# dense ones
UnknownWordPenalty0= 1
LM0= 0.5
TranslationModel0= 0.2 0.3 -1e-1

[distortion-limit]
6
"""
OLD = "[weight-l]\n0.5\n0.25\n\n[weight-w]\n-1\n[weight-t]\n0.2\n# half\n0.3\n"
NAMES = ["LM0", "TranslationModel0_0", "TranslationModel0_1", "TranslationModel0_2"]


def written(tmp_path, text, name="file"):
    path = tmp_path / name
    path.write_bytes(text.encode())
    return str(path)


def lines_of(path):
    return Path(path).read_text().splitlines()


@pytest.mark.parametrize("name", WEIGHTS.names())
def test_every_format_gives_back_what_it_wrote(name, tmp_path):
    names = [str(j) for j in range(4)] if name == "bllip" else ["lm", "tm_0", "tm_1", "w"]
    weights = np.array([0.1, -2.5e-17, 1 / 3, 4.0])
    path = str(tmp_path / "weights")
    write_weights(path, names, weights, name)
    for format in (name, None):
        again = read_weights(path, format)
        assert again[0] == names
        np.testing.assert_array_equal(again[1], weights)


def test_tsv_names_may_hold_anything_but_a_newline(tmp_path):
    names = ["a b", "c\td", "e=1", "\udcff"]
    path = str(tmp_path / "weights")
    write_weights(path, names, np.arange(4.0), "tsv")
    assert read_weights(path)[0] == names
    with pytest.raises(DataError, match="does not fit on a line"):
        write_weights(path, ["a\nb"], np.ones(1), "tsv")


def test_values_that_are_not_finite_are_not_written(tmp_path):
    for name in WEIGHTS.names():
        with pytest.raises(DataError, match="weight of feature 'b' is not finite"):
            write_weights(str(tmp_path / "w"), ["a", "b"], np.array([1.0, np.nan]), name)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "file: found no weights, expected lines"),
        ("a 1\n", "file:1: found 'a 1', expected name<TAB>weight"),
        ("a\t1\n\t2\n", "file:2: "),
        ("a\t1\na\t2\n", "file:2: found feature 'a' again"),
        ("a\t1_0\n", "file:1: found weight '1_0', expected a number"),
        ("a\tinf\n", "file:1: found weight 'inf', expected a finite number"),
        ("a\t\n", "file:1: found nothing, expected a weight"),
        ("[weight]\nLM0 0.5\n", "file:2: found 'LM0 0.5', expected a name, '=' and its weights"),
        ("[weight]\nLM0=\n", "file:2: found 'LM0=', expected a name"),
        ("[weight]\nLM0= 1 x\n", "file:2: found weight 'x', expected a number"),
        ("[weight]\nLM0= 1\n\nLM0= 2\n", "file:4: found weights of 'LM0' again"),
        ("[weight-l]\n0.5 0.5\n", "file:2: found weight '0.5 0.5', expected a number"),
        ("[weight]\n[feature]\nLM0\n", "file: found no weights, expected a section"),
    ],
)
def test_a_bad_file_is_reported_with_its_line(tmp_path, text, message):
    with pytest.raises(FormatError) as error:
        read_weights(written(tmp_path, text))
    assert message in str(error.value)


def test_options_that_mean_nothing_are_refused(tmp_path):
    path = written(tmp_path, "a\t1\n")
    with pytest.raises(ConfigError, match="weights of format tsv do not use --feature-names"):
        read_weights(path, "tsv", WeightOptions(feature_names="names"))
    with pytest.raises(ConfigError, match="unknown weights format 'ini'"):
        read_weights(path, "ini")


def test_moses_ini_is_read_by_the_names_of_n_best_lists(tmp_path):
    names, weights = read_weights(written(tmp_path, INI))
    assert names == ["UnknownWordPenalty0", *NAMES]
    assert weights.tolist() == [1, 0.5, 0.2, 0.3, -0.1]


def test_moses_ini_of_the_old_kind(tmp_path):
    names, weights = read_weights(written(tmp_path, OLD))
    assert names == ["lm_0", "lm_1", "w", "tm_0", "tm_1"]
    assert weights.tolist() == [0.5, 0.25, -1, 0.2, 0.3]


@pytest.mark.parametrize("text", [INI, OLD, INI.replace("\n", "\r\n")])
def test_moses_ini_is_written_into_an_old_one(tmp_path, text):
    old, new = written(tmp_path, text), str(tmp_path / "new")
    names, weights = read_weights(old)
    options = WeightOptions(ini=old)
    write_weights(new, names, weights * 3, "moses-ini", options)
    again = read_weights(new)
    assert again[0] == names
    np.testing.assert_array_equal(again[1], weights * 3)
    one, two = (lines_of(path) for path in (old, new))
    assert len(one) == len(two)
    changed = [a for a, b in zip(one, two, strict=True) if a != b]
    assert len(changed) == (5 if text is OLD else 3)


def test_weights_without_a_place_and_places_without_a_weight_are_noted(tmp_path):
    old, new = written(tmp_path, INI), str(tmp_path / "new")
    with pytest.warns(DataNote) as notes:
        write_weights(new, [*NAMES, "WordPenalty0"], np.arange(5.0), "moses-ini", WeightOptions(ini=old))
    messages = [str(note.message) for note in notes]
    assert messages[0].endswith("the model has no UnknownWordPenalty0; its weight stays")
    assert messages[1].endswith("no place for WordPenalty0; added to [weight]")
    lines = lines_of(new)
    at = lines.index("TranslationModel0= 1.0 2.0 3.0")
    assert lines[at - 2 : at + 2] == [
        "UnknownWordPenalty0= 1",
        "LM0= 0.0",
        "TranslationModel0= 1.0 2.0 3.0",
        "WordPenalty0= 4.0",
    ]


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (NAMES[:3], "TranslationModel0 has 3 weights, the model has no 'TranslationModel0_2'"),
        ([*NAMES, "TranslationModel0_3"], "TranslationModel0 has 3 weights, the model has more"),
    ],
)
def test_another_number_of_weights_is_refused(tmp_path, names, message):
    old = written(tmp_path, INI.replace("UnknownWordPenalty0= 1\n", ""))
    with pytest.raises(DataError, match=message):
        write_weights(str(tmp_path / "new"), names, np.ones(len(names)), "moses-ini", WeightOptions(ini=old))


def test_a_section_alone_groups_what_belongs_together(tmp_path):
    path = str(tmp_path / "new")
    names = ["b_0", "a_0", "a_1", "a", "c_1", "d_0", "e", "d_1"]
    write_weights(path, names, np.arange(8.0), "moses-ini")
    assert lines_of(path) == [
        "[weight]",
        "b_0= 0.0",
        "a_0= 1.0",
        "a_1= 2.0",
        "a= 3.0",
        "c_1= 4.0",
        "d= 5.0 7.0",
        "e= 6.0",
    ]
    with pytest.raises(DataError, match=r"'f g' does not fit in a moses\.ini"):
        write_weights(path, ["f g"], np.ones(1), "moses-ini")


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("[weight]\nlm= 0.5\n[weight-l]\n0.3\n", 4, "weights of 'lm' again"),
        ("[weight-l]\n0.3\n[weight]\nlm= 0.5\n", 4, "weights of 'lm' again"),
        ("[weight-l]\n0.3\n0.4\n[weight]\nlm_1= 0.5\n", 5, "a second weight 'lm_1'"),
        ("[weight]\ntm= 1 2\ntm_0= 3\n", 3, "a second weight 'tm_0'"),
    ],
)
def test_moses_ini_with_two_weights_of_a_feature_is_refused(tmp_path, text, line, found):
    path = tmp_path / "moses.ini"
    path.write_text(text)
    with pytest.raises(FormatError) as caught:
        read_weights(str(path))
    assert (caught.value.line, caught.value.found) == (line, found)
    with pytest.raises(FormatError, match=found):
        write_weights(str(tmp_path / "new"), ["lm"], np.ones(1), "moses-ini", WeightOptions(ini=str(path)))


def test_moses_ini_with_sections_of_both_kinds_is_written_as_it_is_read(tmp_path):
    old, new = tmp_path / "moses.ini", str(tmp_path / "new.ini")
    old.write_text("[weight-l]\n0.5\n\n[weight]\nLM0= 0.25 1\n[weight-d]\n0.125\n")
    names, weights = read_weights(str(old))
    assert names == ["lm", "LM0_0", "LM0_1", "d"]
    write_weights(new, names, weights + 1, "moses-ini", WeightOptions(ini=str(old)))
    assert read_weights(new)[0] == names
    assert read_weights(new)[1].tolist() == (weights + 1).tolist()


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("text", ["[weight-l]\n0.5\n", "[weight]\nlm= 0.5\n"])
def test_moses_ini_that_would_not_read_back_is_not_written(tmp_path, text):
    old, new = tmp_path / "moses.ini", tmp_path / "new.ini"
    old.write_text(text)
    with pytest.raises(
        DataError, match=r"moses\.ini: cannot hold these weights too \(weights of 'lm' again\)"
    ):
        write_weights(str(new), ["lm_0", "lm_1"], np.ones(2), "moses-ini", WeightOptions(ini=str(old)))
    assert not new.exists()
