"""Packages whose names are imported when first used offer what they declare, and modules hide no function."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest


def declared(package):
    """The names that a package imports for the type checker, with their modules."""
    tree = ast.parse(Path(package.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    return {name.name: node.module for node in block.body for name in node.names}


@pytest.mark.parametrize("name", ["rerank.experiment", "rerank.similarity"])
def test_names_are_those_that_the_type_checker_sees(name):
    package = importlib.import_module(name)
    assert set(declared(package)) == set(package.__all__) <= set(dir(package))
    for one, home in declared(package).items():
        assert f"{name}.{package._homes[one]}" == home
        assert getattr(package, one) is getattr(sys.modules[home], one)
    assert package.__all__ == sorted(package.__all__)


@pytest.mark.parametrize("first", ["ablation", "ablation_files", "train"])
def test_a_module_does_not_hide_the_function_of_its_name(first):
    code = (
        f"import rerank; rerank.experiment.{first}\n"
        "import rerank.training.ablation, rerank.experiments.similarity\n"
        "from rerank.training.ablation import ablation_files\n"
        "from rerank.experiment import ablation, similarity\n"
        "assert ablation is rerank.training.ablation\n"
        "print(ablation.__module__, similarity.__qualname__, rerank.experiment.importance.groups_of.__name__)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["rerank.training.ablation", "similarity", "groups_of"], done.stderr


def test_an_unknown_name_is_an_error_with_the_nearest():
    import rerank.experiment

    with pytest.raises(AttributeError, match=r"'rerank\.experiment' has no attribute 'evalute'") as caught:
        rerank.experiment.evalute  # noqa: B018
    assert caught.value.name == "evalute"
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from rerank.experiment import nothing  # noqa: F401
    assert not inspect.ismodule(rerank.training.ablation)
