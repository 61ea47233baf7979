"""Steps that regenerate the numbers of a text: what runs, what is kept, what is reported."""

import json
import os
from pathlib import Path

import pytest
from reproduce.config import read_reproduction
from reproduce.running import reproduce

from rerank.core.errors import ConfigError, FormatError, RerankError
from rerank.core.system import lock

TEXT = """\
Of 3 lists 2 are good, AP .250; it took 4 s, 1 to 9 times.

```
$ python scripts/count.py 2
2 lists
```
"""
SCRIPT = "import sys\nprint(sys.argv[1], 'lists')\n"
VALUES = 'print(\'{"systems": [{"name": "a b", "value": 0.25}], "n": 3, "flag": true}\')\n'
CONFIG = """\
text: [text.md]
folders: [scripts]
steps:
  count: {run: [python scripts/count.py 2]}
  values: {run: [python scripts/values.py]}
numbers:
  - {text: good, printed: 2 are good, step: count, find: '^(\\d+) lists'}
  - {text: AP, printed: AP .250, step: values, find: [[systems, a b, value]]}
given: [Of 3 lists]
"""


@pytest.fixture
def place(tmp_path):
    """A folder with a text, scripts and the configuration above."""
    (tmp_path / "text.md").write_text(TEXT)
    (tmp_path / "scripts").mkdir()
    (tmp_path / "scripts" / "count.py").write_text(SCRIPT)
    (tmp_path / "scripts" / "values.py").write_text(VALUES)
    write(tmp_path)
    return tmp_path


def write(place: Path, old: str = "", new: str = "") -> str:
    """Write the configuration with one change."""
    assert old in CONFIG
    path = place / "reproduce.yaml"
    path.write_text(CONFIG.replace(old, new, 1))
    return str(path)


def verdicts(place: Path, **more) -> list[str]:
    """The verdict of each row."""
    config = read_reproduction(str(place / "reproduce.yaml"))
    return [row.verdict for row in reproduce(config, str(place / "out"), **more)]


@pytest.mark.parametrize("jobs", [1, 2])
def test_outputs_and_numbers_are_found(place, jobs):
    config = read_reproduction(str(place / "reproduce.yaml"))
    rows = reproduce(config, str(place / "out"), jobs)
    assert [(row.text, row.verdict) for row in rows] == [
        ("python scripts/count.py 2", "same"),
        ("good", "same"),
        ("AP", "same"),
    ]
    assert rows[2].found == "AP .250"


def test_a_step_runs_again_only_if_it_changed(place):
    """The record is marked: a step that runs again writes a new one."""
    verdicts(place)
    records = {name: place / "out" / "steps" / f"{name}.json" for name in ("count", "values")}
    before = {name: os.stat(path).st_ino for name, path in records.items()}

    def changed() -> set[str]:
        now = {name: os.stat(path).st_ino for name, path in records.items()}
        found = {name for name in now if now[name] != before[name]}
        before.update(now)
        return found

    verdicts(place)
    assert changed() == set()
    write(place, "values.py]", "values.py x]")
    verdicts(place)
    assert changed() == {"values"}
    (place / "scripts" / "common.py").write_text("")  # a script may import it
    verdicts(place)
    assert changed() == {"count", "values"}
    records["count"].write_text('{"key": 1}')
    assert verdicts(place, steps=[]) == ["not run yet", "not run yet", "same"]


def test_needs_are_a_part_of_the_key(place, monkeypatch):
    path = write(place, "values: {", "values: {needs: ['${PLACE}/data'], ")
    assert verdicts(place) == ["same", "same", "not run: PLACE is not set"]
    monkeypatch.setenv("PLACE", str(place))
    assert verdicts(place)[2] == f"not run: {place}/data: no such file or folder"
    (place / "data").mkdir()
    assert verdicts(place)[2] == "same"
    (place / "data" / "x").write_text("1")
    assert verdicts(place, steps=[])[2] == "not run yet"
    rows = reproduce(read_reproduction(path), str(place / "out"))
    assert all(row.good for row in rows)


def test_a_variable_of_a_command_is_needed(place, monkeypatch):
    write(place, "[python scripts/values.py]", "['python scripts/values.py ${PLACE}']")
    assert verdicts(place)[2] == "not run: PLACE is not set"
    monkeypatch.setenv("PLACE", "a 'b $(c)")
    assert verdicts(place)[2] == "same"


def test_a_command_has_variables_of_its_own(place):
    (place / "scripts" / "values.py").write_text("import os\nprint(os.environ['VALUE'])\n")
    path = Path(write(place, "[[systems, a b, value]]", "'(\\S+)'"))
    text = path.read_text()
    for value, verdict in (("0.25", "same"), ("7", "differs")):
        path.write_text(text.replace("[python scripts/values", f"[VALUE={value} python scripts/values"))
        assert verdicts(place)[2] == verdict


def test_a_failure_is_reported_and_the_others_run(place):
    (place / "scripts" / "values.py").write_text("import sys\nprint('x')\nsys.exit('it\\nfailed')\n")
    found = verdicts(place)
    assert found[:2] == ["same", "same"]
    assert found[2] == "failed: python scripts/values.py: exit code 1: failed"
    record = json.loads((place / "out" / "steps" / "values.json").read_text())
    assert record["ran"][0]["out"] == "x\n"
    (place / "scripts" / "values.py").write_text(VALUES)
    assert verdicts(place)[2] == "same"


@pytest.mark.parametrize(
    ("find", "why"),
    [
        ("[[systems, c, value]]", "not found: no 'c' in the JSON"),
        ("[[systems, 1, value]]", "not found: no 1 in the JSON"),
        ("[[n, x]]", "not found: no 'x' in the JSON"),
        ("[[flag]]", "not found: flag is True, expected a number"),
        ("[[systems]]", "not found: systems is [{'name': 'a b', 'value': 0.25}], expected a number"),
        ("nothing (.*)", "not found: no match of nothing (.*)"),
        ("(systems)", "not found: (systems) is 'systems', expected a number"),
        ("'(\\d)'", "not found: 4 matches"),
    ],
)
def test_what_is_not_in_the_output_is_reported(place, find, why):
    write(place, "[[systems, a b, value]]", find)
    assert verdicts(place)[2] == why


def test_one_expression_finds_both_ends_of_a_range(place):
    text = "{text: t, printed: 1 to 9 times, step: values, kind: measured, find: '(\\d+)'}"
    path = write(place, "given:", f"  - {text}\ngiven:")
    row = reproduce(read_reproduction(path), str(place / "out"))[-1]
    assert (row.found, row.quotients) == ("0 to 25 times", (0.0, 25 / 9))


def test_a_number_that_differs(place):
    write(place, "count.py 2]", "count.py 5]")
    write_text = (place / "text.md").read_text().replace("count.py 2", "count.py 5")
    (place / "text.md").write_text(write_text)
    assert verdicts(place) == ["differs", "differs", "same"]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("text: [text.md]\n", "", "text: not given"),
        ("text.md", "other.md", "other.md: no such file"),
        ("[scripts]", "[scripts, data]", "data: no such folder"),
        ("2 are good", "3 are good", "'3 are good' is not in"),
        ("Of 3 lists", "Of 4 lists", "'Of 4 lists' is not in"),
        ("step: count", "step: cuont", "no step 'cuont'; did you mean 'count'?"),
        ("printed: AP .250", "printed: it took", "has no number"),
        ("AP .250", "Of 3 lists 2", "found 1 entries of find, expected 2"),
        ("'^(\\d+) lists'", "'('", "find: (: "),
        ("'^(\\d+) lists'", "'lists'", "found 0 groups, expected one"),
        ("  values: {", "  a/b: {", "found the name 'a/b'"),
        ("[python scripts/values.py]", "[]", "no command"),
        ("python scripts/values.py", "sh -c true", "expected 'rerank VERB ...' or 'python SCRIPT.py ...'"),
        ("python scripts/values.py", "python -c 1", "expected 'rerank VERB ...'"),
        ("python scripts/values.py", "python 'scripts/values.py", "no closing quotation"),
        ("step: values", "step: count", "steps.values: gives no number"),
        ("numbers:", "number:", "unknown setting 'number'"),
        ("text: AP", "txt: AP", "numbers: 'AP .250': unknown setting 'txt'"),
    ],
)
def test_a_mistake_is_one_line_with_the_file_and_the_key(place, old, new, message):
    path = write(place, old, new)
    with pytest.raises(RerankError) as error:
        read_reproduction(path)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_file_that_is_none(tmp_path):
    (tmp_path / "x.yaml").write_text("- 1\n")
    with pytest.raises(FormatError, match="keys such as"):
        read_reproduction(str(tmp_path / "x.yaml"))


def test_an_unknown_step(place):
    with pytest.raises(ConfigError, match="no step 'cont'; did you mean 'count'"):
        verdicts(place, steps=["cont"])


def test_two_runs_in_one_folder(place):
    verdicts(place)
    held = lock(str(place / "out"))
    assert held is not None
    try:
        with pytest.raises(RerankError, match="out: another process is at work in this folder"):
            verdicts(place)
    finally:
        os.close(held)


def test_results_are_written_as_json(place):
    verdicts(place)
    found = json.loads((place / "out" / "numbers.json").read_text())
    assert [row["verdict"] for row in found["numbers"]] == ["same"] * 3


def test_a_folder_with_something_else(place):
    (place / "out").mkdir()
    (place / "out" / "experiment.json").write_text("{}")
    with pytest.raises(ConfigError, match="out: holds something else, expected a new folder"):
        verdicts(place)


def test_an_output_that_is_a_file(place):
    (place / "out").write_text("")
    with pytest.raises(RerankError, match=r"out"):
        verdicts(place)


def test_verbs_are_those_of_this_package(place):
    (place / "text.md").write_text(TEXT.replace("python scripts/count.py 2", "rerank --version"))
    path = write(place, "python scripts/count.py 2", "rerank --version")
    row = reproduce(read_reproduction(path), str(place / "out"))[0]
    assert row.found is not None
    assert row.found.startswith("rerank ")
