"""Head tables: what Collins' rules choose, what a file may contain, and how faults are reported."""

import pytest

from rerank.core.errors import FormatError, RerankError
from rerank.extensions.parsing.heads import bare_label, default_heads, parse_heads, read_heads


def head(parent, children):
    children = children.split()
    return children[default_heads().head(parent, children)]


@pytest.mark.parametrize(
    ("parent", "children", "expected"),
    [
        ("VP", "PP VBD NP NP SBAR", "VBD"),
        ("S", "NP VP .", "VP"),
        ("S", "PP NP", "NP"),
        ("PP", "ADVP IN NP", "IN"),
        ("PP", "IN TO NP", "IN"),  # TO is after IN in the list, though nearer to the right
        ("VP", "MD VP", "MD"),
        ("VP", "AUX VP", "AUX"),
        ("SBAR", "WHNP S", "WHNP"),
        ("ADVP", "RB PP", "RB"),
        ("QP", "IN $ CD", "$"),
        ("NP", "DT JJ NN NNS PP", "NNS"),
        ("NP", "DT NN POS", "POS"),
        ("NP", "NP PP", "NP"),
        ("NP", "DT JJ", "JJ"),
        ("NP", "CD JJ", "CD"),
        ("NP", "ADJP JJ DT", "ADJP"),
        ("NP", "DT IN", "IN"),
        ("XYZ", "A B", "A"),
        ("FRAG", "A B", "B"),
        ("UCP", "A B", "B"),
        ("NP-SBJ-1", "NP=2 PP", "NP=2"),
    ],
)
def test_collins_rules(parent, children, expected):
    assert head(parent, children) == expected


def test_noun_phrases_look_for_nouns_from_the_right_and_for_phrases_from_the_left():
    table = default_heads()
    assert table.head("NP", ["NN", "NN", "PP"]) == 1
    assert table.head("NP", ["NP", "NP"]) == 0
    assert table.head("NP", ["$", "ADJP", "X"]) == 1


def test_the_first_conjunct_is_the_head_of_a_coordination():
    table = default_heads()
    assert table.head("NP", ["NN", "CC", "NN"]) == 0
    assert table.head("NP", ["NN", "NN", "CC", "NN"]) == 1
    assert table.head("NP", ["CC", "NN"]) == 1  # nothing precedes the coordinator


def test_ranks_sweeps_and_braces():
    table = parse_heads("* left A {B C} ; right D\n", "t")
    assert table.head("X", ["C", "B", "A"]) == 2
    assert table.head("X", ["C", "B", "D"]) == 0
    assert table.head("X", ["D", "D", "E"]) == 1
    assert table.head("X", ["E", "E"]) == 1  # the last sweep begins there


@pytest.mark.parametrize(
    ("label", "bare"),
    [("NP", "NP"), ("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("-LRB-", "-LRB-"), ("-", "-"), ("", ""), ("=", "=")],
)
def test_functions_are_no_part_of_a_label(label, bare):
    assert bare_label(label) == bare


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("* left\nNP up A\n", "t:2: found 'up', expected left or right, then labels"),
        ("* left\nNP\n", "t:2: found nothing, expected left or right, then labels"),
        ("* left A ;\n", "t:1: found nothing, expected left or right, then labels"),
        (
            "# c\n\nNP left A\n",
            "t: found no line for *, expected one, for every parent without a line of its own",
        ),
        ("* left\n* right\n", "t:2: found * again, expected one line for each parent"),
        ("@coordinator CC\n", "t:1: found '@coordinator', expected @coordination, or a parent"),
        ("* left A B A\n", "t:1: found A twice in one sweep, expected each label once"),
        ("* left {A {B}}\n", "t:1: found '{' out of place, expected braces in pairs, not nested"),
        ("* left A}\n", "t:1: found '}' out of place, expected braces in pairs, not nested"),
        ("* left {A\n", "t:1: found '{' without '}', expected braces in pairs, not nested"),
    ],
)
def test_faults_are_reported_with_their_line(text, message):
    with pytest.raises(FormatError) as error:
        parse_heads(text, "t")
    assert str(error.value) == message


def test_a_table_from_a_file(tmp_path):
    path = tmp_path / "heads"
    path.write_text("@coordination und\n* right\nNP left NN\n")
    table = read_heads(str(path))
    assert table.head("VP", ["A", "B"]) == 1
    assert table.head("NP", ["A", "NN", "NN"]) == 1
    assert table.head("VP", ["A", "und", "B"]) == 0
    path.write_bytes(b"* right\n\xff left\n")
    with pytest.raises(FormatError, match=r":2: found bytes that are not UTF-8"):
        read_heads(str(path))
    with pytest.raises(RerankError, match="no such file"):
        read_heads(str(tmp_path / "absent"))


def test_a_table_written_out_reads_back():
    table = default_heads()
    assert parse_heads("\n".join(table.lines()), "t") == table
