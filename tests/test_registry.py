import sys

import pytest

from rerank.errors import ConfigError
from rerank.registry import Registry, did_you_mean


@pytest.fixture
def package(tmp_path, monkeypatch):
    """An importable package with two modules that enter themselves in a registry."""
    folder = tmp_path / "zoo_of_tests"
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from rerank.registry import Registry\nANIMALS = Registry('animal', 'zoo_of_tests')\n"
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


def test_the_registry_imports_nothing_before_its_first_use():
    Registry("thing", "no_such_package_anywhere")
