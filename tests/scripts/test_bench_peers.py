"""Benchmarks name a peer that is not installed in one line."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

BENCHES = sorted((ROOT / "scripts" / "bench").glob("*.py"))
HERE = {path.stem for path in BENCHES} | {"rerank", "ranked_lists", "numpy", "scipy", "msgspec", "__future__"}
CHECKS = {"need", "installed", "absent"}


@pytest.fixture
def common(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "scripts" / "bench"))
    import common

    return common


def peers_of(tree):
    """(module, whether it is imported with the benchmark) for each import of a package that may be absent."""
    for node in ast.walk(tree):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [node.module or ""]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "importlib.import_module":
            names = [node.args[0].value] if isinstance(node.args[0], ast.Constant) else []
        for name in names:
            root = name.partition(".")[0]
            if root not in HERE and root not in sys.stdlib_module_names:
                yield root, node in tree.body


@pytest.mark.parametrize("path", BENCHES, ids=[path.stem for path in BENCHES])
def test_a_benchmark_asks_for_its_peers_before_it_uses_them(path):
    tree = ast.parse(path.read_text())
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    checks = [call for call in calls if ast.unparse(call.func) in CHECKS]
    named = {arg.value for call in checks for arg in call.args if isinstance(arg, ast.Constant)}
    if any(not isinstance(arg, ast.Constant) for call in checks for arg in call.args):  # those of a table
        named |= {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    for module, at_once in peers_of(tree):
        assert not at_once, f"{path.name}: import {module} where it is used"
        assert module in named, f"{path.name}: {module} may be absent"


def test_an_absent_peer_is_one_line(common, capsys):
    assert common.absent("numpy") is None
    assert common.installed("numpy")
    common.need("numpy")
    assert capsys.readouterr().out == ""
    assert not common.installed("no_such_module")
    line = "no_such_module is not installed: pip install no_such_module"
    assert capsys.readouterr().out == f"left out: {line}\n"
    with pytest.raises(SystemExit) as ended:
        common.need("numpy", "no_such_module")
    assert ended.value.code == line


def test_a_package_may_have_another_name_than_its_module(common, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    assert common.absent("sklearn") == "sklearn is not installed: pip install scikit-learn"
