import subprocess
import sys
from pathlib import Path

import pytest

from rerank.core.errors import ConfigError
from rerank.core.registry import Registry, did_you_mean


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An importable package with two modules that enter themselves in a registry."""
    folder = tmp_path / "zoo_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from rerank.core.registry import Registry\nANIMALS = Registry('animal', 'zoo_of_tests')\n"
    )
    for module, decorator in (("cat", "'cat', 'Felis', 'kitty'"), ("dog", "'dog'")):
        (folder / f"{module}.py").write_text(
            f"from zoo_of_tests import ANIMALS\n@ANIMALS.register({decorator})\nclass Animal: ...\n"
        )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield __import__("zoo_of_tests").ANIMALS
    for name in [name for name in sys.modules if name.split(".")[0] == "zoo_of_tests"]:
        del sys.modules[name]


def test_every_module_of_the_package_is_found(package):
    assert package.names() == ["cat", "dog"]
    assert package.get("cat").__module__ == "zoo_of_tests.cat"
    assert package.get("kitty") is package.get("cat")


def test_several_packages_are_searched(package):
    both = Registry("thing", "zoo_of_tests", "rerank.models")
    both._import_all()
    assert {"zoo_of_tests.cat", "rerank.models.trees"} <= sys.modules.keys()


def test_aliases_are_known_before_any_other_query(package):
    assert package.aliases("cat") == ["Felis", "kitty"]
    assert package.aliases("dog") == []


@pytest.mark.parametrize(
    ("name", "near"), [("dgo", "dog"), ("CAT", "cat"), ("felis", "Felis"), ("kity", "kitty")]
)
def test_an_unknown_name_is_refused_with_the_nearest(package, name, near):
    with pytest.raises(ConfigError) as caught:
        package.get(name)
    message = str(caught.value)
    assert message == f"unknown animal {name!r}; did you mean {near!r}? known: Felis, cat, dog, kitty"


def test_without_a_near_name_all_are_listed(package):
    with pytest.raises(ConfigError, match="unknown animal 'xylophone'; known: Felis, cat, dog, kitty"):
        package.get("xylophone")


@pytest.mark.parametrize("names", [("cat",), ("kitty",), ("lion", "cat"), ("lion", "Felis")])
def test_a_name_is_registered_once(package, names):
    package.names()
    with pytest.raises(ValueError, match="two animals are named"):
        package.register(*names)(object)
    assert package.names() == ["cat", "dog"]


def test_an_empty_registry_is_reported():
    assert did_you_mean("a", []) == "known: none"


def test_many_names_are_not_all_printed():
    text = did_you_mean("feature 77", [f"feature {i}" for i in range(1000)])
    assert text.startswith("did you mean 'feature 77'? known: feature 0, ")
    assert text.endswith("... (1000 in all)")
    assert len(text) < 1000


@pytest.fixture
def indexed(package, monkeypatch):
    """A registry whose index has one of the two modules."""
    index = {"beast": {"cat": ("zoo_of_tests.cat", ("kitty",), (4,))}}
    monkeypatch.setattr("rerank.core.registry.INDEX", index)
    registry = Registry("beast", "zoo_of_tests", facts=("legs",))
    monkeypatch.setattr(sys.modules["zoo_of_tests"], "ANIMALS", registry)
    return registry


def loaded():
    return {name for name in sys.modules if name.startswith("zoo_of_tests.")}


def test_names_aliases_and_facts_of_the_index_import_nothing(indexed):
    assert indexed.names() == ["cat"]
    assert indexed.aliases("cat") == ["kitty"]
    assert indexed.fact("cat", "legs") == 4
    assert loaded() == set()


@pytest.mark.parametrize("name", ["cat", "kitty"])
def test_the_one_module_that_is_asked_for_is_imported(indexed, name):
    assert indexed.get(name).__module__ == "zoo_of_tests.cat"
    assert loaded() == {"zoo_of_tests.cat"}


def test_a_name_that_the_index_lacks_is_found(indexed):
    assert indexed.get("dog").__module__ == "zoo_of_tests.dog"
    assert indexed.names() == ["cat", "dog"]
    with pytest.raises(ConfigError, match="unknown beast 'dgo'; did you mean 'dog'"):
        indexed.get("dgo")
    indexed.get("dog").legs = 3
    assert indexed.fact("dog", "legs") == 3


def test_a_name_of_the_index_is_taken(indexed):
    with pytest.raises(ValueError, match="two beasts are named 'kitty'"):
        indexed.register("kitty")(object)
    assert list(indexed.entries()) == ["cat", "dog"]


def test_the_index_is_up_to_date():
    script = Path(__file__).parents[2] / "scripts" / "make_index.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_registry_imports_nothing_before_its_first_use():
    Registry("thing", "no_such_package_anywhere")
