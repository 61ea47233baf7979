"""The line about every kind of wrong value, and what is accepted for a value of another type."""

import math
from typing import Any, ClassVar, Literal

import numpy as np
import pytest

from rerank.core.errors import ConfigError, one_line
from rerank.core.settings import Settings, setting


class Section(Settings):
    """A section with one setting that has another name than it had."""

    renamed: ClassVar = {"rounds": "epochs"}

    epochs: int = setting(10, "epochs", ge=1)


class Kinds(Settings):
    """One setting of each kind of type."""

    whole: int = setting(1, "", ge=0, le=9)
    wholes: tuple[int, ...] = setting((), "")
    number: float = setting(1.0, "", gt=0, lt=5)
    maybe: int | None = setting(None, "", ge=1)
    text: str = setting("", "")
    perhaps: str | None = setting(None, "")
    flag: bool = setting(False, "")
    way: Literal["up", "down", "none"] = setting("up", "")
    one: Literal["only"] | None = setting(None, "")
    digit: Literal[1, 2] = setting(1, "")
    cost: float | Literal["auto", "dev"] = setting(1.0, "")
    count: Literal["all"] | int = setting("all", "")
    numbers: tuple[float, ...] = setting((), "")
    words: tuple[str, ...] = setting((), "")
    ways: tuple[Literal["up", "down"], ...] = setting((), "")
    costs: float | dict[str, float] | None = setting(None, "")
    keys: dict[str, Any] = setting({}, "")
    base: str | dict[str, Any] = setting("", "")
    section: Section = setting(Section(), "")


WHOLE, NUMBER, FINITE, TEXT = "a whole number", "a number", "a finite number", "text"
LIST, SECTION, TRUTH = "a list", "keys and values", "true or false"
WRONG: list[tuple[str, Any, str]] = [
    *[("whole", value, WHOLE) for value in (1.5, "x", "5.5", "1e1", "", None, [], {}, object())],
    *[("whole", value, FINITE) for value in (math.nan, math.inf)],
    ("whole", -1, "0 or more"),
    ("whole", "12", "9 or less"),
    *[("whole", value, NUMBER) for value in ("1_0", "\u0665")],
    ("number", 0, "more than 0"),
    ("number", "7", "less than 5"),
    *[("number", value, FINITE) for value in ("nan", "inf", "1e999", -math.inf)],
    *[("number", value, NUMBER) for value in ("x", "", "1_0", None, [], "none")],
    ("maybe", 0, "1 or more"),
    ("maybe", "None", WHOLE),
    *[("text", value, TEXT) for value in (1, None, True, ["a"])],
    *[("perhaps", value, TEXT) for value in (1, True, ["a"])],
    *[("flag", value, TRUTH) for value in ("maybe", "", 2, None, [True])],
    *[("way", value, "'up', 'down' or 'none'") for value in ("left", None, 1, True, [])],
    *[("one", value, "'only'") for value in ("left", 1, "None")],
    *[("digit", value, "1 or 2") for value in (3, "1", 1.5)],
    *[("words", value, LIST) for value in ("a", 1, None, {})],
    *[("words", [value], TEXT) for value in (1, None, ["a"])],
    *[("numbers", value, LIST) for value in ("1", 1.0, None)],
    ("numbers", ["x"], NUMBER),
    ("numbers", [math.nan], FINITE),
    ("ways", ("left",), "'up' or 'down'"),
    *[("keys", value, SECTION) for value in ("a", 1, [], None)],
    *[("section", value, SECTION) for value in ("a", 1, [], None)],
]


@pytest.mark.parametrize(("name", "value", "expected"), WRONG)
def test_a_wrong_value_has_a_line(name, value, expected):
    inner = value[0] if name in ("words", "numbers", "ways") and isinstance(value, list | tuple) else value
    quoted = "none" if inner is None else "true" if inner is True else repr(inner)
    with pytest.raises(ConfigError) as caught:
        Kinds(**{name: value})
    assert str(caught.value) == f"{name}: found {quoted}, expected {expected}"


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"cost": "x"}, "cost: found 'x', expected a number; cost: found 'x', expected 'auto' or 'dev'"),
        (
            {"cost": "inf"},
            "cost: found 'inf', expected a finite number; cost: found 'inf', expected 'auto' or 'dev'",
        ),
        ({"cost": "1_0"}, "cost: found '1_0', expected a number"),
        ({"count": 1.5}, "count: found 1.5, expected 'all'; count: found 1.5, expected a whole number"),
        ({"costs": "x"}, "costs: found 'x', expected a number; costs: found 'x', expected keys and values"),
        (
            {"costs": {"a": "x"}},
            "costs: found {'a': 'x'}, expected a number; costs.a: found 'x', expected a number",
        ),
        ({"base": 1}, "base: found 1, expected text; base: found 1, expected keys and values"),
        (
            {"numbers": ["x", 1, "y"]},
            "numbers: found 'x', expected a number; numbers: found 'y', expected a number",
        ),
        ({"keys": {1: 2}}, "keys: found 1, expected text"),
        (
            {"text": 1, "whole": "x", "flg": 2, "flag": "maybe"},
            "whole: found 'x', expected a whole number; text: found 1, expected text; "
            "flag: found 'maybe', expected true or false; unknown setting 'flg'; did you mean 'flag'? "
            f"known: {', '.join(sorted(Kinds().get_params()))}",
        ),
        ({"text": ["a", "b"]}, "text: found ['a', 'b'], expected text"),
        ({"text": ("a", "b")}, "text: found ['a', 'b'], expected text"),
    ],
)
def test_the_lines_of_alternatives_and_of_several_faults(given, line):
    with pytest.raises(ConfigError) as caught:
        Kinds(**given)
    assert str(caught.value) == one_line(line)


@pytest.mark.parametrize(
    ("name", "given", "value"),
    [
        ("whole", "5", 5),
        ("whole", " +5 ", 5),
        ("whole", "5.0", 5),
        ("whole", 5.0, 5),
        ("whole", np.int64(5), 5),
        ("whole", np.float32(5), 5),
        ("number", 1, 1.0),
        ("number", "1e-3", 0.001),
        ("number", np.float32(0.5), 0.5),
        ("maybe", "none", None),
        ("perhaps", "none", "none"),
        ("one", "none", None),
        ("way", "none", "none"),
        ("way", np.str_("down"), "down"),
        ("flag", "true", True),
        ("flag", "False", False),
        ("flag", 1, True),
        ("digit", 2, 2),
        ("cost", "dev", "dev"),
        ("cost", "2", 2.0),
        ("count", "3", 3),
        ("numbers", [1, "2"], (1.0, 2.0)),
        ("words", ["a"], ("a",)),
        ("costs", {"a": "2"}, {"a": 2.0}),
        ("costs", 2, 2.0),
        ("section", {"epochs": "3"}, Section(epochs=3)),
    ],
)
def test_a_value_of_another_type_is_changed_into_that_of_the_setting(name, given, value):
    found = getattr(Kinds(**{name: given}), name)
    assert found == value
    assert type(found) is type(value)


def test_settings_are_equal_by_value_hashable_and_cannot_be_changed():
    assert Section(epochs=10) == Section() != Section(epochs=3)
    assert len({Section(), Section(epochs=10)}) == 1
    with pytest.raises((AttributeError, ValueError), match="frozen"):
        Section().epochs = 3
    assert repr(Section()) == "Section(epochs=10)"


def test_a_default_of_keys_and_values_belongs_to_one_object():
    changed = Kinds()
    changed.keys["a"] = 1
    assert Kinds().keys == {}


@pytest.mark.parametrize(
    ("name", "value", "line"),
    [
        ("whole", True, "found true, expected a whole number"),
        ("number", False, "found false, expected a number"),
        ("digit", True, "found true, expected 1 or 2"),
        ("flag", "maybe", "found 'maybe', expected true or false"),
        ("flag", 1.0, "found 1.0, expected true or false"),
    ],
)
def test_truth_values_are_no_numbers_and_other_words_no_truth_values(name, value, line):
    with pytest.raises(ConfigError, match=f"^{name}: {line}$"):
        Kinds(**{name: value})


def test_a_setting_of_a_section_is_named_with_the_section():
    with pytest.raises(ConfigError, match=r"^section\.epochs: found 0, expected 1 or more$"):
        Kinds(section={"epochs": 0})
