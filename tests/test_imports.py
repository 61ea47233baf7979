"""Who may import whom: downwards only, as the rooms of the package lie.

A room is a folder or a module right under rerank. The source is read, not run, so that imports inside
functions and for types only count as well.
"""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rerank

PACKAGE = Path(rerank.__file__).parent

GROUND = {"records", "errors", "registry", "config", "parallel", "files", "settings", "text", "_version"}
MIDDLE = {"formats", "features", "metrics", "evaluation"}
BELOW = {"native", "data", *GROUND}
ROOT = ""  # rerank itself: what `import rerank` offers

# Room -> the other rooms it may import. Rooms need not exist yet; one that is not here is a fault.
MAY_IMPORT = {
    **dict.fromkeys(GROUND, GROUND),
    "native": set(),
    "data": {"native", *GROUND},
    **dict.fromkeys(MIDDLE, BELOW),
    "evaluation": {"metrics"} | BELOW,
    "features": {"metrics"} | BELOW,
    "similarity": MIDDLE | BELOW,
    "models": {"similarity"} | MIDDLE | BELOW,
    "learners": {"models", "similarity", "features"} | BELOW,
    "transductive": {"learners", "models", "similarity", "features"} | BELOW,
    "report": {"transductive", "learners", "models", "similarity"} | MIDDLE | BELOW,
    "experiment": {"report", "transductive", "learners", "models", "similarity"} | MIDDLE | BELOW,
}
MAY_IMPORT[ROOT] = {"experiment", *MAY_IMPORT["experiment"]}
MAY_IMPORT["cli"] = {ROOT, *MAY_IMPORT[ROOT]}
MAY_IMPORT["__main__"] = {"cli", *MAY_IMPORT["cli"]}

_CIMPORT = re.compile(r"^[ \t]*(?:from|c?import)[ \t]+([.\w]+(?:[ \t]*,[ \t]*[.\w]+)*)", re.MULTILINE)


def room_of(parts):
    """The room of a dotted name below rerank, given as its parts."""
    return parts[0] if parts else ROOT


def room_of_file(path, package):
    relative = path.relative_to(package).with_suffix("")
    return ROOT if relative.parts == ("__init__",) else relative.parts[0]


def absolute(module, level, path, package):
    """The parts of an imported module below the package, None where it is another package's."""
    if level == 0:
        parts = module.split(".")
        return parts[1:] if parts[0] == "rerank" else None
    folder = list(path.relative_to(package).parts[:-1])
    folder = folder[: len(folder) - (level - 1)]
    return folder + (module.split(".") if module else [])


def rooms_of_python(path, package):
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [absolute(name.name, 0, path, package) for name in node.names]
        elif isinstance(node, ast.ImportFrom):
            parts = absolute(node.module or "", node.level, path, package)
            # `from rerank import data` names a room, `from rerank import load` does not.
            found = [parts]
            if parts == []:
                found = [[n.name] if _is_room(n.name, package) else [] for n in node.names]
        else:
            continue
        rooms.update(room_of(parts) for parts in found if parts is not None)
    return rooms


def _is_room(name, package):
    return name in MAY_IMPORT or (package / name).is_dir() or (package / f"{name}.py").is_file()


def rooms_of_cython(path, package):
    rooms = set()
    for match in _CIMPORT.finditer(path.read_text(encoding="utf-8")):
        for name in re.split(r"[ \t]*,[ \t]*", match[1]):
            dots = len(name) - len(name.lstrip("."))
            parts = absolute(name[dots:], dots, path, package)
            if parts is not None:
                rooms.add(room_of(parts))
    return rooms


def faults(package):
    """Lines that say which file imports what it may not."""
    out = []
    for path in sorted(package.rglob("*")):
        readers = {".py": rooms_of_python, ".pyi": rooms_of_python}
        readers.update(dict.fromkeys((".pyx", ".pxd", ".pxi"), rooms_of_cython))
        if path.suffix not in readers:
            continue
        room = room_of_file(path, package)
        name = path.relative_to(package).as_posix()
        if room not in MAY_IMPORT:
            out.append(f"{name}: {room!r} is no room that tests/test_imports.py knows")
            continue
        for other in sorted(readers[path.suffix](path, package) - {room} - MAY_IMPORT[room]):
            out.append(f"{name} imports {other or 'rerank itself'}")
    return out


def test_rooms_import_downwards_only():
    assert (PACKAGE / "errors.py").is_file()
    assert faults(PACKAGE) == []


def test_the_table_has_no_circle():
    left = {
        room: set(below) - {room} - (GROUND if room in GROUND else set())
        for room, below in MAY_IMPORT.items()
    }
    while left:
        free = {room for room, below in left.items() if not below & left.keys()}
        assert free, f"a circle among {sorted(left)}"
        left = {room: below for room, below in left.items() if room not in free}


@pytest.mark.parametrize("room", ["learners", "transductive"])
def test_learners_see_no_metric_and_no_format(room):
    assert not {"metrics", "formats"} & MAY_IMPORT[room]


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
        ("data/a.py", "import numpy, rerank.native._m\nfrom rerank.errors import E", []),
        ("errors.py", "from rerank.data import lists", ["errors.py imports data"]),
        ("formats/a.py", "from rerank.metrics import m", ["formats/a.py imports metrics"]),
        ("metrics/a.py", "from rerank.learners import l", ["metrics/a.py imports learners"]),
        ("models/a.py", "from rerank.learners import l", ["models/a.py imports learners"]),
        ("__init__.py", "from rerank.cli import app", ["__init__.py imports cli"]),
        ("__init__.py", "from rerank.experiment import load\nfrom rerank._version import v", []),
        ("cli/a.py", "from rerank import __version__\nfrom rerank.experiment import e", []),
        ("native/_a.pyx", "from rerank.data.lists import L", ["native/_a.pyx imports data"]),
        ("native/_a.pyx", "    cimport numpy, rerank.errors", ["native/_a.pyx imports errors"]),
        ("native/_a.pxd", "from ..errors import E", ["native/_a.pxd imports errors"]),
        ("native/_a.pyx", "# from rerank.data\nfrom ._b cimport c\nfrom libc.math cimport sqrt", []),
        ("native/_a.pyx", "from rerank.native._b cimport c", []),
        ("native/_a.pyi", "from rerank.errors import E", ["native/_a.pyi imports errors"]),
        ("attic/a.py", "", ["attic/a.py: 'attic' is no room that tests/test_imports.py knows"]),
        ("attic.py", "", ["attic.py: 'attic' is no room that tests/test_imports.py knows"]),
    ],
)
def test_the_walk_finds_what_it_should(file, text, expected, tmp_path):
    path = tmp_path / "rerank" / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    assert faults(tmp_path / "rerank") == expected


def test_what_is_slow_to_load_waits_until_it_is_used():
    """scipy's linalg and optimize take longer to load than most learners to fit."""
    code = (
        "import sys, rerank; from rerank.learners.base import LEARNERS; LEARNERS.names(); print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "rerank.learners.tuning.mert" in loaded.split()
    assert not {"scipy.linalg", "scipy.optimize", "scipy.stats", "scipy.sparse"} & set(loaded.split())
