"""Docstrings of what ``import rerank`` offers: numpydoc sections that name every parameter."""

import inspect
import re

import pytest

import rerank

FUNCTIONS = [
    name
    for name in rerank.__all__
    if inspect.isfunction(getattr(rerank, name)) and name not in {"train_files"}
]
CLASSES = [name for name in rerank.__all__ if inspect.isclass(getattr(rerank, name))]


def section(doc: str, title: str) -> str | None:
    """The text of a section, None if there is none."""
    match = re.search(rf"^{title}\n-+\n(.*?)(?=^\w[\w ]*\n-+$|\Z)", doc, re.MULTILINE | re.DOTALL)
    return match and match[1]


def named(text: str) -> set[str]:
    """The names that entries of a section begin with: ``a, b : type`` or ``a, b``."""
    heads = re.findall(r"^\*{0,2}(\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", text, re.MULTILINE)
    return {name.strip("* ") for head in heads for name in head.split(",")}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_of_a_function_is_described(name: str) -> None:
    function = getattr(rerank, name)
    doc = inspect.getdoc(function) or ""
    signature = inspect.signature(function)
    assert signature.parameters.keys() <= named(section(doc, "Parameters") or "")
    assert signature.return_annotation == "None" or section(doc, "Returns")
    assert section(doc, "Raises")


@pytest.mark.parametrize("name", CLASSES)
def test_public_methods_have_docstrings_that_name_their_parameters(name: str) -> None:
    for method, function in inspect.getmembers(getattr(rerank, name), inspect.isroutine):
        if method.startswith("_") or not getattr(function, "__module__", "").startswith("rerank."):
            continue
        doc = inspect.getdoc(function)
        assert doc, f"{name}.{method} has no docstring"
        listed = section(doc, "Parameters")
        parameters = inspect.signature(function).parameters.keys() - {"self"}
        assert listed is None or parameters <= named(listed), f"{name}.{method}"
