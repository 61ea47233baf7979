"""Values of options that are taken as they are, beside those that typer makes with its models."""

import pytest
import typer
from cli.test_flags import commands

from rerank.cli.app import app
from rerank.cli.typed import quick

VALUES = (None, "", "x", "5", "-5", "1_000", "none", "\udcff", True, False, 0, 5, -1, 1.5)
SEVERAL = (None, (), [], ("a",), ["a", "b"], ("5", "\udcff"), ("a", 1), "ab", (None,))


def outcome(made, value, param, ctx):
    try:
        found = made.coerce(value, param=param, ctx=ctx)
    except (typer.BadParameter, TypeError, AttributeError) as error:
        return str(error)
    return type(found), found


def test_every_option_has_the_values_that_typer_makes():
    seen = set()
    root = typer.main.get_command(app)
    for name, command in [("", root), *commands()]:
        ctx = typer.Context(command)
        for param in command.get_params(ctx):
            own = vars(param).pop("get_runtime_param", None)
            if own is None:
                pytest.skip("this release of typer has no models of parameters")
            theirs = param.get_runtime_param()
            several = param.multiple or param.nargs == -1
            for value in SEVERAL if several else VALUES:
                place = (name, param.name, value)
                assert outcome(own(), value, param, ctx) == outcome(theirs, value, param, ctx), place
            seen.add(str(param.type_descriptor.annotation))
            assert quick([param]) == [param]
            assert "get_runtime_param" in vars(param)
    assert {"<class 'str'>", "<class 'bool'>", "<class 'int'>", "list[str]"} <= seen
