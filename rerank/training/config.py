"""Configuration of training: YAML, environment variables and ``--set key=value`` become checked settings."""

from __future__ import annotations

import io
import os
import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from rerank.core.errors import ConfigError, DataNote, FormatError, os_error
from rerank.core.files.read import first_bytes, inputs_opened_once, is_file, shown
from rerank.core.settings import Settings
from rerank.data.reading import BASE, DataSection, paths_of
from rerank.training.options import DEFAULT_LEARNER, Select, TrainOptions
from rerank.training.text_options import beside, put_texts_beside

# Keys that belong to other verbs: a file that train would use only in part is a mistake.
_OF_OTHER_VERBS = {
    "metrics": "'rerank eval --metric M' reports metrics; train watches select.metric",
    "data.test": "'rerank predict' and 'rerank eval' take the test lists",
    "data.test_refs": "'rerank eval --refs FILE' takes the references of the test lists",
}
# Keys of the section select that --set accepts without it; its keep is a setting of learners too. Former
# names are among them for the error that gives the new one.
_OF_SELECT = {*Select.settings, *Select.renamed} - {"keep"}
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
# Keys that mean the same.
_SPELLINGS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("learner", "metric"): ("select", "metric"),
    ("learner", "keep"): ("select", "keep"),
    ("learner", "seed"): ("seed",),
    ("learner", "init"): ("data", "init"),
}
# Settings of learners that have settings of their own: base=NAME or base.KEY=VALUE.
WITH_SETTINGS = ("base",)
_OF_GIVEN = ("given", "auto")  # values of learner.init that use the file of data.init


def read_config(
    path: str | None, overrides: Sequence[str] = (), base: Mapping[str, Any] | None = None
) -> TrainOptions:
    """Return the settings of a YAML file with ``base`` and ``key=value`` overrides put over them.

    Relative paths in the file are relative to the file; ``${NAME}`` takes an environment variable.
    A key without a dot that is not a section is a setting of the learner, except ``metric``,
    ``keep_margin``, ``tune_base``, ``by`` and ``folds``, which belong to ``select``; learner.metric is
    another spelling of select.metric. If ``base`` names another learner than the file, the settings of the
    file's learner are ignored with a DataNote.

    Parameters
    ----------
    path : the YAML file; None = defaults.
    overrides : texts ``KEY=VALUE``, the value as in YAML.
    base : values by dotted key, such as ``{"data.train": "a.letor"}``.

    Raises
    ------
    ConfigError, FormatError
        With the file and the key; also for a key that only other verbs use, and for one that ``base`` and
        ``overrides`` give twice, in whatever spelling.
    """
    values = {} if path is None else read_values(path)
    if "learners" in values:
        raise ConfigError(f"{path}: learners: a comparison of several learners is for 'rerank run'")
    _drop_settings_of_another(values, (base or {}).get("learner.name"), path)
    once = Once()
    for key, value in (base or {}).items():
        _put(values, _parts(key), value, option_of(TrainOptions, key), once)
    depth = {text: text.partition("=")[0].count(".") for text in overrides}
    for text in sorted(overrides, key=depth.__getitem__):  # base=NAME before base.rounds=N
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise ConfigError(
                f"--set {text}: found no KEY=VALUE, expected for example tau=0.5 or learner.tau=0.5"
            )
        parts = _parts(key.strip())
        if parts[0] not in TrainOptions.settings and (len(parts) == 1 or parts[0] in WITH_SETTINGS):
            parts = ["select" if parts[0] in _OF_SELECT else "learner", *parts]
        _open_section(values, parts)
        _put(values, parts, _parse_value(value, text), f"--set {text}", once)
    learner = values.setdefault("learner", {})
    if isinstance(learner, dict):
        if not isinstance(learner.setdefault("name", DEFAULT_LEARNER), str):
            raise ConfigError(f"{path or 'settings'}: learner.name: found {learner['name']!r}, expected text")
        _move_metric(learner, values)
    _refuse_others(values, path or "settings")
    config = TrainOptions.checked(values, path or "settings")
    config._path = path
    return config


def _parts(key: str) -> list[str]:
    """The sections of a dotted key; a key of the grid may have dots itself."""
    return key.split(".", 1) if key.startswith("grid.") else key.split(".")


def _open_section(values: dict[str, Any], parts: Sequence[str]) -> None:
    """Make ``learner: {base: NAME}`` a section with that name if a setting in it is to be put."""
    learner = values.get("learner")
    if parts[0] == "learner" and len(parts) == 3 and parts[1] in WITH_SETTINGS and isinstance(learner, dict):
        found = learner.get(parts[1])
        if isinstance(found, str):
            learner[parts[1]] = {"name": found}


def settings_of(texts: Sequence[str], options: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return settings by name from options and from texts ``KEY=VALUE``, values as in YAML.

    Parameters
    ----------
    texts : what ``--set`` gives.
    options : values of options by the name of the setting; None = the option is not given.

    Raises
    ------
    ConfigError
        If a text has another form or a key is given twice.
    """
    given = {name: value for name, value in (options or {}).items() if value is not None}
    ways = {name: f"given by --{name}" for name in given}
    for text in texts:
        key, equals, value = text.partition("=")
        if not key.strip() or not equals:
            raise ConfigError(f"--set {text}: found no KEY=VALUE, expected for example ridge=0.1")
        name = key.strip()
        if name in given:
            raise ConfigError(f"--set {text}: the key is given twice, also {ways[name]}")
        given[name], ways[name] = _parse_value(value, text), f"by --set {text}"
    return given


def grid_of(texts: Sequence[str]) -> dict[str, list[Any]]:
    """Return the values of each setting from texts ``KEY=V1,V2``, values as in YAML.

    Raises
    ------
    ConfigError
        If a text has another form or a key is given twice.
    """
    grid: dict[str, list[Any]] = {}
    once = Once()
    for text in texts:
        key, equals, values = text.partition("=")
        if not key.strip() or not equals or not all(part.strip() for part in values.split(",")):
            raise ConfigError(f"--grid {text}: expected KEY=V1,V2,... for example tau=0.1,1")
        once.give(["grid", key.strip()], None, f"--grid {text}")
        grid[key.strip()] = [_parse_value(part, text, "--grid") for part in values.split(",")]
    return grid


def _refuse_others(values: Mapping[str, Any], where: str) -> None:
    """Raise ConfigError at a key that train does not use."""
    for key, advice in _OF_OTHER_VERBS.items():
        found: Any = values
        for part in key.split("."):
            found = found.get(part) if isinstance(found, Mapping) else None
        if found is not None:
            raise ConfigError(f"{where}: {key} is not used by train: {advice}")


def _drop_settings_of_another(values: dict[str, Any], name: Any, path: str | None) -> None:
    """Drop the settings of the file's learner if another one, ``name``, is asked for."""
    own = values.get("learner")
    if name is None or not isinstance(own, dict) or own.get("name", DEFAULT_LEARNER) == name:
        return
    left = sorted(own.keys() - {"name", "metric"})
    values["learner"] = {key: value for key, value in own.items() if key not in left}
    if left:
        text = f"{path}: settings of learner {own.get('name', DEFAULT_LEARNER)} ({', '.join(left)})"
        warnings.warn(f"{text} are ignored for learner {name}", DataNote, stacklevel=4)


def _move_metric(learner: dict[str, Any], values: dict[str, Any]) -> None:
    """Move learner.metric to select.metric, of which it is another spelling."""
    metric = learner.pop("metric", None)
    select = values.setdefault("select", {})
    if metric is not None and isinstance(select, dict) and select.setdefault("metric", metric) != metric:
        raise ConfigError(f"select.metric is {select['metric']!r} but learner.metric is {metric!r}: give one")


def yaml_values(path: str) -> dict[str, Any]:
    """Return the keys and values of a YAML file as they are written.

    Raises
    ------
    FormatError, RerankError
        If the file cannot be read, is not YAML or holds no keys.
    """
    from rerank.core.files.yaml import LONGEST, read_yaml  # here, so that the command line starts without it

    name = shown(path)
    try:
        with inputs_opened_once():  # `rerank run` asks for the values twice, also for those in a pipe
            content = io.BytesIO(first_bytes(path, 4 * LONGEST + 4))
        text = io.TextIOWrapper(content, encoding="utf-8").read(LONGEST + 1)
    except OSError as error:
        raise os_error(name, error) from None
    except UnicodeDecodeError:
        raise FormatError(name, None, "bytes that are not UTF-8", "a YAML file") from None
    values = read_yaml(text, name)
    if values is None:
        values = {}
    if not isinstance(values, dict):
        raise FormatError(name, 1, f"a {type(values).__name__}", "keys such as data: and learner:")
    return values


def read_values(path: str, owner: type[Settings] = DataSection) -> dict[str, Any]:
    """Return the values of a YAML file, with environment variables and with paths relative to the file.

    Parameters
    ----------
    path : the file.
    owner : the settings of its section ``data``.

    Raises
    ------
    ConfigError, FormatError
        If it cannot be read or a variable is not set.
    """
    written = yaml_values(path)
    if "numbers" in written:
        raise ConfigError(f"{path}: describes the numbers of a text: python scripts/reproduce {path}")
    values = {str(key): expanded(value, path) for key, value in written.items()}
    put_beside(values, path, owner)
    return values


def put_beside(values: dict[str, Any], path: str, owner: type[Settings] = DataSection) -> None:
    """Make the relative paths of sections of texts and data relative to the file ``path``, in place."""
    put_texts_beside(values.get("texts"), path)
    data = values["data"] if isinstance(values.get("data"), dict) else {}
    for key in paths_of(owner):
        if isinstance(data.get(key), str) and (key, data[key]) != ("init", BASE):
            data[key] = beside(path, data[key])
        elif isinstance(data.get(key), list):
            data[key] = [beside(path, str(name)) for name in data[key]]
    residues = data.get("residues")
    if isinstance(residues, str) and is_file(beside(path, residues)):
        data["residues"] = beside(path, residues)
    if str(data.get("quantise")).startswith("model="):
        data["quantise"] = "model=" + beside(path, data["quantise"].removeprefix("model="))


def expanded(value: Any, path: str) -> Any:
    """The value with every ``${NAME}`` in its strings replaced; ConfigError if a variable is not set."""
    if isinstance(value, dict):
        return {str(key): expanded(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [expanded(inner, path) for inner in value]
    if not isinstance(value, str):
        return value

    def variable(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise ConfigError(f"{path}: environment variable {name} is not set")
        return os.environ[name]

    return _VARIABLE.sub(variable, value)


def _put(values: dict[str, Any], parts: Sequence[str], value: Any, where: str, once: Once) -> None:
    once.give(parts, value, where)
    drop_spellings(values, parts, value)
    for part in parts[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise ConfigError(f"{where}: {part} is a value, not a section")
    values[parts[-1]] = value


def _parse_value(text: str, whole: str, option: str = "--set") -> Any:
    from rerank.core.files.yaml import read_yaml

    try:
        return read_yaml(text, "")
    except FormatError:
        raise ConfigError(f"{option} {whole}: the value is not YAML (quote it)") from None


class Once:
    """The keys that were given so far, each with the words that gave it."""

    def __init__(self) -> None:
        self._ways: dict[tuple[str, ...], str] = {}

    def give(self, parts: Sequence[str], value: Any, way: str) -> None:
        """Note that ``way`` gives a key; ConfigError if the key, or a section that has it, was given before.

        Parameters
        ----------
        parts : the sections and the name of the key.
        value : its value.
        way : an option, or ``--set KEY=VALUE``.
        """
        key = _key(parts, value)
        for other, earlier in self._ways.items():
            n = min(len(key), len(other))
            if key[:n] == other[:n]:
                name = ".".join(key if len(key) >= len(other) else other)
                raise ConfigError(f"{way}: the key is given twice, also by {earlier} ({name})")
        self._ways[key] = way


def drop_spellings(values: Mapping[str, Any], parts: Sequence[str], value: Any) -> None:
    """Delete the other spellings of a key from ``values``, over which it is put."""
    key = _key(parts, value)
    for spelling in (spelling for pair in _SPELLINGS.items() if key in pair for spelling in pair):
        section: Any = values
        for part in spelling[:-1]:
            section = section.get(part) if isinstance(section, dict) else None
        if isinstance(section, dict):
            section.pop(spelling[-1], None)


def _key(parts: Sequence[str], value: Any) -> tuple[str, ...]:
    """The key in the spelling that is compared."""
    key = tuple(parts)
    if key == ("learner", "init") and value in _OF_GIVEN:
        return key
    if key[0] == "learner" and key[-1] in WITH_SETTINGS and isinstance(value, str):
        return (*key, "name")
    return _SPELLINGS.get(key, key)


def option_of(owner: type[Settings], key: str) -> str:
    """Return the option that gives a dotted key of ``owner``, as it is typed."""
    section, _, name = key.partition(".")
    if section == "grid":
        return f"--grid {name}"
    field = owner.settings.get(section)
    inner = None if field is None else field.kind
    if name and isinstance(inner, type) and issubclass(inner, Settings):
        return option_of(inner, name)
    return f"--{section}" if field is None or name else field.flags[0]
