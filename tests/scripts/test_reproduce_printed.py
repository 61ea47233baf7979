"""Numbers of a text, found again: which digits count, how they are styled and compared."""

import pytest
from reproduce import printed
from reproduce.printed import Regenerated, numbers_in, regenerated, replaced, same_output, styled


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("990,000 hypotheses per CPU second, 56 × sacrebleu's", ["990,000", "56"]),
        ("`ranksvm` nDCG@10 .449, AP .446; P@1", [".449", ".446"]),
        ("F 84.18 to 85.70.", ["84.18", "85.70"]),
        ("50-best of 1,2 and 1,234,567 (0-1)", ["1,234,567", "0", "1"]),
        ("version 3.11.2, n2, a/2, 2nd", []),
        ("O(k log k)", []),
        ("<.001*, 68%, .960-.986", [".001", "68", ".960", ".986"]),
    ],
)
def test_numbers_are_not_digits_of_names(text, numbers):
    assert numbers_in(text) == numbers


@pytest.mark.parametrize(
    ("value", "like", "text"),
    [
        (0.44937, ".449", ".449"),
        (0.44937, "0.449", "0.449"),
        (1.2, ".449", "1.200"),
        (-0.5, ".449", "-.500"),
        (1234567.8, "990,000", "1,234,568"),
        (999.6, "56", "1000"),
        (10.04, "0.0", "10.0"),
    ],
)
def test_a_value_is_styled_as_the_number_it_stands_beside(value, like, text):
    assert styled(value, like) == text


def test_words_keep_their_places():
    assert replaced("nDCG@10 .449, AP .446", [0.5, 0.25]) == "nDCG@10 .500, AP .250"
    with pytest.raises(ValueError, match="zip"):
        replaced("one 1", [1.0, 2.0])


def test_exact_numbers_are_judged_as_printed_and_measured_ones_are_not():
    same = regenerated("AP", "s", "exact", "AP .446", [0.44649])
    assert (same.verdict, same.good, same.quotients) == ("same", True, ())
    other = regenerated("AP", "s", "exact", "AP .446", [0.4466])
    assert (other.verdict, other.good, other.found) == ("differs", False, "AP .447")
    slow = regenerated("time", "s", "measured", "2 s, 0 s", [5.0, 1.0])
    assert (slow.verdict, slow.good, slow.quotients, slow.found) == ("measured", True, (2.5,), "5 s, 1 s")


def test_what_is_missing_is_only_good_with_an_excuse():
    assert not Regenerated("a", "s", "measured", "1", missing="failed: x").good
    row = Regenerated("a", "s", "exact", "1", missing="not run: X is not set", excused=True)
    assert (row.good, row.verdict, row.as_json()["found"]) == (True, "not run: X is not set", None)


def test_commands_of_blocks_with_their_outputs():
    text = "```\n$ a b\nout\n\n more\n$ c\n```\n\n```python\n$ d\n```\n\n```console\n$ e\n1\n```\nf\n"
    assert printed.examples(text) == [("a b", "out\n\n more\n"), ("c", ""), ("e", "1\n")]


def test_outputs_are_the_same_but_for_blanks_at_ends_and_dots():
    assert same_output("a\n b\n", "a  \n b")
    assert not same_output("a\n", " a\n")
    assert same_output("a\n...\nz\n", "a\nb\nc\nz\n")
    assert same_output("a\n...\n", "a\n")
    assert not same_output("a.\n", "ab\n")
    assert same_output("", "")
