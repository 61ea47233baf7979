"""Records: JSON and TSV that read back as what was written."""

import json

import pytest

from rerank.core.tables.data import per_list_tsv, to_json


def test_json_keeps_order_and_every_bit_of_a_number() -> None:
    record = {"b": 0.1 + 0.2, "a": [1e-300, None, "é"], "c": {"z": 1, "y": True}}
    text = to_json(record)
    assert list(json.loads(text)) == ["b", "a", "c"]
    assert json.loads(text) == record
    assert text.endswith("}\n")
    assert "é" in text


def test_json_refuses_what_it_has_no_word_for() -> None:
    with pytest.raises(ValueError, match="JSON"):
        to_json({"value": float("nan")})


def test_json_holds_names_that_are_not_utf8() -> None:
    name = b"run-\xff".decode("utf-8", "surrogateescape")
    text = to_json({"name": name})
    assert text.encode("ascii")
    assert json.loads(text) == {"name": name}


def test_tsv_has_one_line_per_row_whatever_the_names_hold() -> None:
    lines = list(per_list_tsv([("q\t1", "a\nb", "AP", 0.1), ("2", "c\\t", "P@5", 1.0)]))
    assert lines[0] == "list\tsystem\tmetric\tvalue\n"
    assert lines[1] == "q\\t1\ta\\nb\tAP\t0.1\n"
    assert lines[2] == "2\tc\\\\t\tP@5\t1.0\n"
