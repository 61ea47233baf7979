"""YAML from strangers: what is a number, and documents that are refused in one line."""

import pytest

from rerank.core.errors import ConfigError, FormatError
from rerank.core.files.yaml import LONGEST, read_yaml
from rerank.training.config import read_config

TYPED = {
    **{text: text for text in ("no", "yes", "on", "1:30", "2024-01-01", "1_0", "0b1", "1e", "e3", ".")},
    "1e3": 1000.0,
    "-.5": -0.5,
    "5.": 5.0,
    "0x10": 16,
    "0o17": 15,
    "010": 10,
    "-7": -7,
    "+3": 3,
    "true": True,
    "False": False,
    "null": None,
    "~": None,
    "": None,
    ".inf": float("inf"),
    "'1'": "1",
}


@pytest.mark.parametrize("text", TYPED)
def test_plain_values_are_those_of_the_core_schema(text):
    value = read_yaml(f"a: {text}", "f")["a"]
    assert value == TYPED[text]
    assert type(value) is type(TYPED[text])


def test_aliases_and_merged_keys_stand_for_copies():
    text = "a: &a {x: 1, y: 2}\nb:\n  <<: *a\n  y: 3\nc:\n  <<: [*a, {x: 5, z: 4}]\nd: [*a, *a]\n'<<': 1"
    value = read_yaml(text, "f")
    assert value["b"] == {"x": 1, "y": 3}
    assert value["c"] == {"x": 1, "y": 2, "z": 4}
    assert value["d"] == [value["a"], value["a"]]
    assert value["d"][0] is not value["d"][1]
    assert value["<<"] == 1


BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 10)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &a [*a]", "f:1: found alias 'a' inside its own value"),
        ("a: 1\nb: *c", "f:2: found alias 'c' of nothing"),
        ("[" * 100_000, "f:1: found more than 32 values inside each other"),
        ("\n".join(" " * i + "a:" for i in range(300)), "f:33: found more than 32 values inside each other"),
        ("- " * 5_000, "f:1: found more than 32 values"),
        ("x: 1\na: " + "9" * 5_000, "f:2: found a number of 5000 characters"),
        ("a: 99999999999999999999", "f:1: found the number 99999999999999999999, expected one of 64 bits"),
        ("a: 1e999", "f:1: found the number 1e999"),
        (BOMB, "f:[45]: found more than 20000 values, expected fewer, aliases included"),
        ("a: 1\nb: 2\na: 3", "f:3: found key 'a' again, expected each key once"),
        ("1: 1\n'1': 2", "f:2: found key '1' again"),
        ("? [a]\n: 1", "f:1: found a key that is a list or a section"),
        ("a:\n  <<: 3", "f:2: found << of what has no keys"),
        ("!!python/object/apply:os.system [x]", "f:1: found tag 'tag:yaml.org,2002:python/object"),
        ("a: !!int x", "f:1: found tag 'tag:yaml.org,2002:int', expected values without tags"),
        ('a: "\\ud800"', "f:1: found half of a character"),
        ('a: "\\UFFFFFFFF"', "f: found text that is not YAML"),
        ("a: 1\nb: \x07", "f:2: found a character that YAML does not allow"),
        ("a: b: c", "f:1: found mapping values are not allowed here"),
        ("a\n---\nb", "f:2: found another document"),
        ("#" * (LONGEST + 1), "f: found more than 262144 characters"),
    ],
)
def test_what_is_not_a_configuration_is_one_line(text, message):
    with pytest.raises(FormatError, match=message) as caught:
        read_yaml(text, "f")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


def test_faults_reach_the_reader_of_configurations(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("learner:\n  name: perceptron\n  tau: 1\n  tau: 2\n")
    with pytest.raises(FormatError, match=r"c.yaml:4: found key 'tau' again"):
        read_config(str(path))
    path.write_bytes(b"a" * (LONGEST + 9))
    with pytest.raises(FormatError, match=r"c.yaml: found more than 262144 characters"):
        read_config(str(path))
    with pytest.raises(ConfigError, match=r"--set tau=&a \[\*a\]: the value is not YAML"):
        read_config(None, ["tau=&a [*a]"])
    assert read_config(None, ["tau=1e3"]).learner["tau"] == 1000.0
