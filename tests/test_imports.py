"""Who may import whom: rooms import downwards only, and no modules import each other in a circle.

A room is a folder or a module directly under rerank. The source is read, not run, so imports inside
functions and under TYPE_CHECKING count as well.
"""

import ast
import graphlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rerank

PACKAGE = Path(rerank.__file__).parent

GROUND = {"core", "_version"}
BELOW = {"data", "native", *GROUND}
MIDDLE = {"formats", "evaluation", "metrics", *BELOW}
ROOT = ""  # rerank itself: what `import rerank` offers

# Room -> the other rooms it may import. A room of the table need not exist yet; one that is not in the table
# is a fault.
MAY_IMPORT = {
    **dict.fromkeys(GROUND, GROUND),
    "native": set(),
    "data": {"native", *GROUND},
    "docs": GROUND,
    "formats": BELOW,
    "metrics": {"formats", *BELOW},
    "evaluation": {"metrics", "formats", *BELOW},
    "similarity": MIDDLE,
    "models": {"similarity", *MIDDLE},
    "learners": {"models", "similarity", *BELOW},
    "report": {"learners", "models", "similarity", *MIDDLE},
    "training": {"report", "learners", "models", "similarity", *MIDDLE},
}
# Extensions use everything below the command line; see the tests below for who may import one.
MAY_IMPORT["extensions"] = {"training", *MAY_IMPORT["training"]}
MAY_IMPORT["experiments"] = {"training", *MAY_IMPORT["training"]}
MAY_IMPORT[ROOT] = {"extensions", "experiments", *MAY_IMPORT["experiments"]}  # names that users find there
MAY_IMPORT["sklearn"] = MAY_IMPORT[ROOT] - {"extensions"}
MAY_IMPORT["extending"] = MAY_IMPORT["training"]
MAY_IMPORT["cli"] = {ROOT, "docs", *MAY_IMPORT[ROOT]}  # verbs of extensions too
MAY_IMPORT["__main__"] = {"cli", *MAY_IMPORT["cli"]}

_CIMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+(?P<base>[.\w]+)[ \t]+c?import[ \t]+(?:\((?P<lines>[^)]*)\)|(?P<names>[^#\n]*))"
    r"|c?import[ \t]+(?P<modules>[.\w]+(?:[ \t]*,[ \t]*[.\w]+)*))",
    re.MULTILINE,
)


def module_of(path, package):
    """Return the parts of a file's module below the package; a folder's __init__ is the folder."""
    parts = path.relative_to(package).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def room_of(module):
    return module[0] if module else ROOT


def resolve(base, level, names, path, package):
    """Return the modules of the package that ``from base import names`` or ``import base`` imports."""
    if level == 0:
        parts = tuple(base.split("."))
        if parts[0] != "rerank":
            return set()
        parts = parts[1:]
    else:
        folder = path.relative_to(package).parts[:-1]
        parts = folder[: len(folder) - (level - 1)] + tuple(base.split(".") if base else ())
    found = {(*parts, name) if _is_module((*parts, name), package) else parts for name in names}
    return found or {parts}


def _is_module(parts, package):
    place = package.joinpath(*parts)
    files = (place.with_suffix(suffix) for suffix in READERS)
    known_room = len(parts) == 1 and parts[0] in MAY_IMPORT
    return known_room or place.is_dir() or any(file.is_file() for file in files)


def python_imports(path, package):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield from resolve(name.name, 0, [], path, package)
        elif isinstance(node, ast.ImportFrom):
            names = [name.name for name in node.names]
            yield from resolve(node.module or "", node.level, names, path, package)


def cython_imports(path, package):
    for match in _CIMPORT.finditer(path.read_text(encoding="utf-8")):
        if match["modules"]:
            for name in re.split(r"[ \t]*,[ \t]*", match["modules"]):
                yield from resolve(name, 0, [], path, package)
            continue
        base = match["base"].lstrip(".")
        names = [name.split()[0] for name in (match["lines"] or match["names"]).split(",") if name.strip()]
        yield from resolve(base, len(match["base"]) - len(base), names, path, package)


READERS = {".py": python_imports, ".pyi": python_imports}
READERS.update(dict.fromkeys((".pyx", ".pxd", ".pxi"), cython_imports))


def imports_of(package):
    """Yield the name, the module and the imported modules of each source file."""
    for path in sorted(package.rglob("*")):
        if path.suffix in READERS:
            found = set(READERS[path.suffix](path, package))
            module = module_of(path, package)
            yield path.relative_to(package).as_posix(), module, found - {module}


def faults(imports):
    """Return a line for each import that goes upwards."""
    out = []
    for name, module, imported in imports:
        room = room_of(module)
        if room not in MAY_IMPORT:
            out.append(f"{name}: the room {room!r} is not in the table of tests/test_imports.py")
            continue
        rooms = {room_of(other) for other in imported}
        out += [f"{name} imports {r or 'rerank itself'}" for r in sorted(rooms - {room} - MAY_IMPORT[room])]
    return out


def circle(imports):
    """Return the modules of one circle of imports, or None."""
    graph = {}
    for _, module, imported in imports:
        graph.setdefault(module, set()).update(imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return [".".join(("rerank", *module)) for module in error.args[1]]
    return None


@pytest.fixture(scope="module")
def imports():
    return list(imports_of(PACKAGE))


def test_packages_import_downwards_only(imports):
    assert (PACKAGE / "core" / "errors.py").is_file()
    assert faults(imports) == []


def test_no_modules_import_each_other_in_a_circle(imports):
    assert circle(imports) is None


def test_the_table_has_no_circle():
    below = {room: may - {room} - (GROUND if room in GROUND else set()) for room, may in MAY_IMPORT.items()}
    graphlib.TopologicalSorter(below).prepare()


def test_learners_see_no_metric_and_no_format():
    assert not {"metrics", "formats"} & MAY_IMPORT["learners"]


def test_nothing_but_the_command_line_and_the_names_of_the_package_imports_an_extension(imports):
    rooms = {room for room, may in MAY_IMPORT.items() if "extensions" in may}
    assert rooms == {ROOT, "cli", "__main__"}
    files = {
        name for name, module, others in imports if ("extensions",) in {o[:1] for o in others - {module}}
    }
    assert {name for name in files if not name.startswith("extensions/")} == {
        *(
            "__init__.pyi",
            "cli/comparisons.py",
            "cli/ensemble.py",
            "cli/evaluate.py",
            "cli/feature_selection.py",
            "cli/features.py",
            "cli/fuse.py",
            "cli/lists.py",
            "cli/models.py",
            "cli/predict.py",
            "cli/selective.py",
        ),
        *("cli/similarity.py", "cli/text_features.py"),
    }


def test_an_extension_imports_no_other_but_what_it_builds_on(imports):
    """A subject can be left out, or moved to a package of its own."""
    subjects = {module[1] for _, module, _ in imports if module[:1] == ("extensions",) and len(module) > 1}
    found = {
        (module[1], other[1])
        for _, module, imported in imports
        for other in imported
        if module[:1] == other[:1] == ("extensions",) and module[1:2] != other[1:2] and other[1:]
    }
    assert subjects == {
        *(
            "conjunctions",
            *("decision", "diversity"),
            "feature_selection",
            "fusion",
            "parsing",
            "preferences",
            "proteins",
            "questions",
            "selection",
        ),
        *("speech", "texts", "transductive", "vectors"),
    }
    # Questions are parsed; similarities and the options of a choice are those of decisions; words
    # are stemmed, and function words known, as for questions.
    assert found <= {("questions", "parsing"), ("diversity", "decision"), ("texts", "questions")}


@pytest.mark.parametrize(
    ("file", "text", "expected"),
    [
        ("learners/a.py", "from rerank.metrics.base import Metric", ["learners/a.py imports metrics"]),
        (
            "learners/a.py",
            "def f():\n    import rerank.formats.svmlight as s",
            ["learners/a.py imports formats"],
        ),
        ("learners/a.py", "from ..cli import app", ["learners/a.py imports cli"]),
        ("learners/a.py", "from .. import metrics, data", ["learners/a.py imports metrics"]),
        ("learners/a.py", "from rerank import load", ["learners/a.py imports rerank itself"]),
        ("learners/a.py", "import rerank", ["learners/a.py imports rerank itself"]),
        ("learners/a.py", "from . import b\nfrom .b import c\nfrom rerank.models import x", []),
        ("data/a.py", "if TYPE_CHECKING:\n    from rerank.models import M", ["data/a.py imports models"]),
        ("data/a.py", "import numpy, rerank.native._m\nfrom rerank.core.errors import E", []),
        ("core/errors.py", "from rerank.data import lists", ["core/errors.py imports data"]),
        ("formats/a.py", "from rerank.metrics import m", ["formats/a.py imports metrics"]),
        ("metrics/a.py", "from rerank.learners import l", ["metrics/a.py imports learners"]),
        ("models/a.py", "from rerank.learners import l", ["models/a.py imports learners"]),
        ("__init__.py", "from rerank.cli import app", ["__init__.py imports cli"]),
        ("__init__.py", "from rerank.experiments import run\nfrom rerank._version import v", []),
        ("cli/a.py", "from rerank import __version__\nfrom rerank.experiments import e", []),
        ("native/_a.pyx", "from rerank.data.lists import L", ["native/_a.pyx imports data"]),
        ("native/_a.pyx", "    cimport numpy, rerank.core.errors", ["native/_a.pyx imports core"]),
        ("native/_a.pxd", "from ..core.errors import E", ["native/_a.pxd imports core"]),
        ("native/_a.pyx", "# from rerank.data\nfrom ._b cimport c\nfrom libc.math cimport sqrt", []),
        ("native/_a.pyx", "from rerank.native._b cimport c", []),
        ("native/_a.pyi", "from rerank.core.errors import E", ["native/_a.pyi imports core"]),
        ("attic/a.py", "", ["attic/a.py: the room 'attic' is not in the table of tests/test_imports.py"]),
        ("attic.py", "", ["attic.py: the room 'attic' is not in the table of tests/test_imports.py"]),
    ],
)
def test_imports_that_go_upwards_are_found(file, text, expected, tmp_path):
    path = tmp_path / "rerank" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert faults(imports_of(tmp_path / "rerank")) == expected


@pytest.mark.parametrize(
    ("a", "b", "found"),
    [
        ("from rerank.data.b import B", "def f():\n    from rerank.data import a", True),
        ("from .b import B", "if TYPE_CHECKING:\n    from rerank.data.a import A", True),
        ("from . import b", "import rerank.data.a", True),
        ("from rerank.data import B", "import rerank.data.a", False),
        ("from rerank.data.b import B", "", False),
    ],
)
def test_circles_of_modules_are_found(a, b, found, tmp_path):
    data = tmp_path / "rerank" / "data"
    data.mkdir(parents=True)
    (data / "a.py").write_text(a)
    (data / "b.py").write_text(b)
    assert (circle(imports_of(tmp_path / "rerank")) is not None) == found


def test_circles_of_kernels_are_found(tmp_path):
    native = tmp_path / "rerank" / "native"
    (native / "x").mkdir(parents=True)
    (native / "x" / "_a.pyx").write_text("from rerank.native.y._b cimport (\n    f,\n    g,\n)")
    (native / "x" / "_a.pxd").write_text("cdef int h()")
    (native / "y").mkdir()
    (native / "y" / "_b.pxd").write_text("from rerank.native.x cimport _a")
    assert circle(imports_of(tmp_path / "rerank")) is not None
    (native / "y" / "_b.pxd").write_text("from rerank.native.x._c cimport i")
    assert circle(imports_of(tmp_path / "rerank")) is None


def test_slow_modules_are_loaded_when_they_are_used():
    """scipy's linalg and optimize take longer to load than most learners to fit."""
    code = "import sys; from rerank.learners.base import LEARNERS; LEARNERS.entries(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "rerank.learners.tuning.mert" in loaded.split()
    assert not {"scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.sparse"} & set(loaded.split())
