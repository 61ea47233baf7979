"""Packages whose names are imported when first used offer what they declare, and modules hide no function."""

import ast
import importlib
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest


def declared(package):
    """The names that a package's stub imports for the type checker, with their modules."""
    tree = ast.parse(Path(f"{package.__file__}i").read_text(encoding="utf-8"))
    return {alias.asname: (node.module, alias.name) for node in tree.body for alias in node.names}


@pytest.mark.parametrize("name", ["rerank", "rerank.similarity"])
def test_names_are_those_that_the_type_checker_sees(name):
    package = importlib.import_module(name)
    assert set(declared(package)) == set(package.__all__) <= set(dir(package))
    for one, (home, original) in declared(package).items():
        found = getattr(package, one)
        assert inspect.unwrap(found) is inspect.unwrap(getattr(sys.modules[home], original))
    assert package.__all__ == sorted(package.__all__)


@pytest.mark.parametrize("first", ["ablation", "train"])
def test_a_module_does_not_hide_the_function_of_its_name(first, tmp_path):
    (tmp_path / "wide").mkdir()
    (tmp_path / "wide" / "__init__.py").write_text(
        "from rerank.core.lazy_imports import attach_stub\nattach_stub(__name__)\n"
    )
    (tmp_path / "wide" / "__init__.pyi").write_text(
        "from wide.ablation import ablation as ablation\nfrom wide.train import train as train\n"
    )
    for one in ("ablation", "train"):
        (tmp_path / "wide" / f"{one}.py").write_text(f"def {one}(): pass\n")
    code = (
        f"import wide; wide.{first}\n"
        "import wide.ablation, wide.train\n"
        "from wide import ablation, train\n"
        "print(ablation.__qualname__, train.__qualname__, wide.ablation.__module__)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environment
    )
    assert done.stdout.split() == ["ablation", "train", "wide.ablation"], done.stderr


def test_functions_get_paths_as_strings(tmp_path):
    """Alone, in a list, and as values of a dictionary."""
    import rerank

    train, data, model, out = (tmp_path / name for name in ("train.letor", "a.letor", "m", "scores"))
    for path, of in ((train, 1), (data, -1)):
        path.write_text("".join(f"{i % 3 == 0:d} qid:{i // 3} 1:{of * (1 + i * i % 7)}\n" for i in range(90)))
    rerank.train(train, "ridge").save(model)
    rerank.predict(model, data, out=out)
    judged = rerank.evaluate_files(data, [out], metrics=["AP"])
    assert list(judged.systems) == [str(out)]
    more = rerank.append(data, {"again": out}, out=tmp_path / "more.store")
    assert more.feature_names == ["1", "again"]
    assert more.features.column(1).tolist() == [float(score) for score in out.read_text().split()]


def test_an_unknown_name_is_an_error_with_the_nearest():
    import rerank

    with pytest.raises(AttributeError, match="'rerank' has no attribute 'evalute'") as caught:
        rerank.evalute  # noqa: B018
    assert caught.value.name == "evalute"
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        from rerank import nothing  # noqa: F401
