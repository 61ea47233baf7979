"""One declaration of the options of reading: keyword arguments, YAML keys, flags and formats agree."""

import re
from pathlib import Path
from typing import get_args, get_origin

import pytest

from rerank.cli.lists import Validate
from rerank.cli.parser import fields_of, parameters_of
from rerank.core.errors import ConfigError
from rerank.data.reading import PER_PART, DataSection, Reading, ReadOptions
from rerank.formats import FORMATS, load
from rerank.training.config import read_config
from rerank.training.options import TrainOptions


def test_every_option_is_a_yaml_key_and_a_flag():
    assert set(Reading.settings) <= set(DataSection.settings)
    assert set(dict(fields_of(Reading))) == set(Reading.settings)
    assert {f"data.{name}" for name in DataSection.settings} <= set(dict(fields_of(TrainOptions)))


def test_options_of_one_part_exist_for_the_development_lists_as_well():
    assert set(PER_PART) == {"refs", "ids", "structures", "native", "vectors", "query_vectors"}
    for name in PER_PART:
        own, dev = DataSection.settings[name], DataSection.settings[f"dev_{name}"]
        assert dev.kind == own.kind
        assert dev.path == own.path


@pytest.mark.parametrize("name", sorted(ReadOptions.settings))
def test_some_format_honours_every_option_and_help_names_it_if_it_is_the_only_one(name):
    honouring = [format for format in FORMATS.names() if name in FORMATS.get(format).honours]
    assert honouring or name == "threads"
    named = re.search(r"\((\w+)\)", ReadOptions.settings[name].help)
    assert named is None or [named[1]] == honouring


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        (
            "missing",
            "nil",
            "missing: found 'nil', expected 'error', 'nan', 'zero', 'mean', 'list-mean', 'list-min' or "
            "'indicator'",
        ),
        ("layout", "csr", "layout: found 'csr', expected 'auto', 'dense' or 'sparse'"),
        ("n_best", -1, "n_best: found -1, expected 0 or more"),
        ("n_best", "many", "n_best: found 'many', expected a whole number"),
        ("strip", "trace", "strip: found 'trace', expected 'traces' or 'functions'"),
        ("refs", True, "refs: found true, expected a list"),
    ],
)
def test_a_wrong_value_has_the_same_message_everywhere(name, value, message, tmp_path):
    (tmp_path / "a.yaml").write_text(f"data: {{{name}: {str(value).lower()}}}\n")
    for read in (
        lambda: ReadOptions(**{name: value}),
        lambda: load("absent.letor", **{name: value}),
        lambda: read_config(str(tmp_path / "a.yaml")),
    ):
        with pytest.raises(ConfigError) as caught:
            read()
        assert str(caught.value).endswith(message)


def test_paths_in_a_configuration_are_relative_to_it(tmp_path):
    paths = [name for name, field in DataSection.settings.items() if field.path]
    assert set(paths) > {"train", "dev", "ids", "dev_ids", "merge"}
    many = {name for name in paths if get_origin(DataSection.settings[name].kind) is tuple}
    lines = [f"  {name}: {f'[{name}, -]' if name in many else name}\n" for name in paths]
    (tmp_path / "a.yaml").write_text("data:\n" + "".join(lines))
    data = read_config(str(tmp_path / "a.yaml")).data
    for name in paths:
        beside = str(tmp_path / name)
        assert getattr(data, name) == ((beside, "-") if name in many else beside)


def test_one_path_may_replace_a_list_of_one(tmp_path):
    (tmp_path / "a.yaml").write_text("data: {refs: a.ref}\n")
    assert read_config(str(tmp_path / "a.yaml")).data.refs == (str(tmp_path / "a.ref"),)
    assert ReadOptions(feature_names=Path("names")).feature_names == "names"


def test_choices_in_help_are_those_of_the_type():
    options = {one.name: one for one in parameters_of(Validate)}
    for name, field in Reading.settings.items():
        choices = get_args(field.kind)
        if choices and isinstance(choices[0], str):
            option = options[name]
            assert option.metavar == "|".join(choices)
