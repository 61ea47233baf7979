"""Names that resemble known ones."""

import pytest

from rerank.core.errors import DataNote
from rerank.data import names as roles


def test_of_very_many_names_only_cases_of_known_ones_are_reported(monkeypatch):
    calls = []
    real = roles.resembled
    monkeypatch.setattr(roles, "resembled", lambda *a: calls.append(a) or real(*a))
    some = [f"{i}word" for i in range(5000)]
    with pytest.warns(DataNote, match=r"'lable' \(label\?\), 'Label' \(label\?\), 'F1' \(a metric\?\)$"):
        roles.note_resembling("data.tsv", ["lable", *some, "txet", "Label", "F1", "feature12"], ())
    assert len(calls) == 1001  # comparing spellings is slow


def test_numbered_names_resemble_nothing(recwarn):
    roles.note_resembling("data.tsv", [f"{name}{i}" for i in range(9) for name in ("feature", "f")], ())
    assert not recwarn
