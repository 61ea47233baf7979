"""Build backend and commands for the Cython kernels.

Every ``_*.pyx`` becomes an extension module: adding a kernel means adding a file, in a folder below
``rerank/native`` or in the folder ``native`` of an extension. C files go to ``build/cython``, never beside
the sources. An sdist carries them, so that a build from it needs no Cython. setuptools loads this file by
itself, before the package can be imported, so it imports nothing from the package.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import sys
import sysconfig
import tarfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

from setuptools import Extension, build_meta
from setuptools.command.build_ext import build_ext
from setuptools.command.sdist import sdist

DIRECTIVES: dict[str, Any] = {
    "language_level": 3,
    "binding": True,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "nonecheck": False,
    "emit_code_comments": False,  # the C files of the sdist are a fifth smaller
}

# No -march=native and no -ffast-math: the same bytes on every machine of one architecture.
# -ffp-contract=off keeps a fused multiply-add from giving another last bit on arm64.
# -g0 undoes Python's own -g, which takes a fifth of the time.
UNIX_FLAGS = ["-O3", "-g0", "-fno-math-errno", "-ffp-contract=off"]

# RERANK_BUILD=sanitize and RERANK_BUILD=checked are the two builds of `make sanitize`, made in a copy of the
# package. Python's own flags contain -fwrapv, which would hide signed overflow from the sanitizer.
BUILD = os.environ.get("RERANK_BUILD", "")
SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow"]
SANITIZE_FLAGS = ["-O1", "-g", *SANITIZERS, "-fno-sanitize-recover=all", "-fno-wrapv", "-ffp-contract=off"]
CHECKED = {"boundscheck": True, "initializedcheck": True} if BUILD == "checked" else {}
FLAGS = {"": UNIX_FLAGS, "sanitize": SANITIZE_FLAGS, "checked": ["-Og", "-g0", "-ffp-contract=off"]}
SHARED_UTILITY = "rerank.native._cyutility"
CYTHON = "cython>=3.3"
C_FILES = Path("build", "cython")
DIGEST = C_FILES / "sources.sha256"  # only an sdist has it
SETTINGS = C_FILES / "settings"
KNOWN = (3, 14)  # the newest Python that today's Cython knows: C files may not fit later ones
NO_COMPILER = (
    "rerank needs {} to be built from source: install it (Debian, Ubuntu: build-essential python3-dev; "
    "Fedora: gcc python3-devel; Alpine: build-base python3-dev; macOS: xcode-select --install; "
    "Windows: Build Tools for Visual Studio), or install a wheel"
)


# The hooks of PEP 517 are those of setuptools; Cython is asked for where C files are missing.
build_sdist = build_meta.build_sdist
prepare_metadata_for_build_wheel = build_meta.prepare_metadata_for_build_wheel
prepare_metadata_for_build_editable = build_meta.prepare_metadata_for_build_editable


def build_wheel(*arguments: Any, **named: Any) -> str:
    """Build a wheel; without a compiler end before setuptools has printed what it copies."""
    check_compiler()
    return str(build_meta.build_wheel(*arguments, **named))


def build_editable(*arguments: Any, **named: Any) -> str:
    """Build what an editable install needs."""
    check_compiler()
    return str(build_meta.build_editable(*arguments, **named))


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what a build needs beside setuptools."""
    return [] if has_c_files() else [CYTHON]


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings: Any = None) -> list[str]:
    """Return what an sdist needs beside setuptools: Cython, for the C files that it carries."""
    return [CYTHON]


def kernels() -> list[Extension]:
    """Return all kernels, the largest sources first, so that no core waits long for the last one."""
    sources = sorted(Path("rerank").rglob("_*.pyx"), key=lambda path: (-path.stat().st_size, path.as_posix()))
    return [
        Extension(SHARED_UTILITY, []),
        *(Extension(".".join(path.with_suffix("").parts), [path.as_posix()]) for path in sources),
    ]


def translate(parallel: int, force: bool = False) -> dict[str, list[str]]:
    """Write the C files that are older than their sources; return those of each kernel."""
    from Cython.Build import cythonize
    from Cython.Compiler import Options

    settings = f"{version('cython')} {DIRECTIVES | CHECKED}"  # cythonize itself looks at dates alone
    fresh = not force and SETTINGS.is_file() and SETTINGS.read_text() == settings
    Options.warning_errors = bool(CHECKED)  # not for users: another Cython may warn of more
    translated = cythonize(  # type: ignore[no-untyped-call]
        kernels(),
        build_dir=str(C_FILES),
        compiler_directives=DIRECTIVES | CHECKED,
        shared_utility_qualified_name=SHARED_UTILITY,
        force=not fresh,
        nthreads=parallel,
        quiet=True,
    )
    SETTINGS.write_text(settings)
    return {extension.name: extension.sources for extension in translated}


def digest_of_sources() -> str:
    """Return the digest of all that the C files are made from, Cython aside."""
    digest = hashlib.sha256(repr(sorted((DIRECTIVES | CHECKED).items())).encode())
    for path in sorted(path.as_posix() for path in Path("rerank").rglob("_*.p[yx][xd]")):
        digest.update(f"\n{path}\n".encode() + Path(path).read_bytes())
    return digest.hexdigest()


def has_c_files() -> bool:
    """Return whether the C files of an sdist are those of its sources."""
    return sys.version_info[:2] <= KNOWN and DIGEST.is_file() and DIGEST.read_text() == digest_of_sources()


def c_file(name: str) -> str:
    """Return the path of the C file of a kernel."""
    return C_FILES.joinpath(*name.split(".")).with_suffix(".c").as_posix()


def cores() -> int:
    """Return the number of processors that this process may use."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable else os.cpu_count() or 1


class BuildKernels(build_ext):  # type: ignore[misc]
    """``build_ext`` that compiles each kernel it finds, on all cores unless ``-j`` says how many.

    Editable installs, ``build_ext --inplace`` and wheels share one build directory, so that a kernel is
    compiled once.
    """

    def finalize_options(self) -> None:
        self.distribution.ext_modules = kernels()
        super().finalize_options()
        self.parallel: int = self.parallel or cores()
        if self.editable_mode:  # else a temporary directory, and `make build` compiles all again
            platform = f"{sysconfig.get_platform()}-{sys.implementation.cache_tag}"
            self.build_lib, self.build_temp = f"build/lib.{platform}", f"build/temp.{platform}"

    def build_extensions(self) -> None:
        if self.compiler.compiler_type == "unix":
            for extension in self.extensions:
                extension.extra_compile_args = [*extension.extra_compile_args, *FLAGS[BUILD]]
                if BUILD == "sanitize":
                    extension.extra_link_args = [*extension.extra_link_args, *SANITIZERS]
        super().build_extensions()

    def run(self) -> None:
        check_compiler()
        if has_c_files() and not self.force:
            c_files = {extension.name: [c_file(extension.name)] for extension in self.extensions}
        else:
            c_files = translate(self.parallel, bool(self.force))
        for extension in self.extensions:  # keep the objects: setuptools has marked them
            extension.sources = c_files[extension.name]
        self._remove_stale()
        super().run()

    def _remove_stale(self) -> None:
        """Remove kernels whose source is gone: a wheel would ship them."""
        current = {Path(self.build_lib, self.get_ext_filename(e.name)) for e in self.extensions}
        for built in Path(self.build_lib, "rerank").rglob("_*.*"):
            if built.suffix in (".so", ".pyd") and built not in current:
                built.unlink()


def check_compiler() -> None:
    """Exit with one line if there is no C compiler, or no header of Python, before minutes are spent."""
    from distutils.ccompiler import new_compiler
    from distutils.errors import DistutilsPlatformError
    from distutils.sysconfig import customize_compiler

    compiler: Any = new_compiler()
    try:
        customize_compiler(compiler)
        if compiler.compiler_type != "unix":
            compiler.initialize()
        elif shutil.which(compiler.compiler_so[0]) is None:
            sys.exit(NO_COMPILER.format(f"a C compiler ({compiler.compiler_so[0]})"))
    except DistutilsPlatformError as error:
        sys.exit(NO_COMPILER.format(f"a C compiler ({error})"))
    header = Path(sysconfig.get_path("include"), "Python.h")
    if not header.is_file():
        sys.exit(NO_COMPILER.format(f"the header files of Python ({header})"))


class SourceDistribution(sdist):  # type: ignore[misc]
    """``sdist`` with all that kernels, the tests and the README's commands need, and the kernels in C."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        more = [name for name in ("Makefile", "CHANGELOG.md") if Path(name).is_file()]
        more += [path.as_posix() for path in sorted(Path("rerank").rglob("*.pxd"))]
        for folder in ("configs", "data", "scripts", "tests"):
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    more.append(path.as_posix())
        more += [path for c_files in translate(cores()).values() for path in c_files]
        super().make_release_tree(base_dir, sorted({*files, *more}))
        Path(base_dir, DIGEST).write_text(digest_of_sources())

    def make_archive(self, base_name: str, format: str, *others: Any, **named: Any) -> str:
        """Pack the sources; with SOURCE_DATE_EPOCH the same files give the same bytes, whoever owns them."""
        date, folder = os.environ.get("SOURCE_DATE_EPOCH"), named.get("base_dir")
        if format != "gztar" or date is None or folder is None:
            return str(super().make_archive(base_name, format, *others, **named))
        path = f"{base_name}.tar.gz"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with (
            open(path, "wb") as raw,
            gzip.GzipFile("", "wb", fileobj=raw, mtime=int(date)) as packed,
            tarfile.open(fileobj=packed, mode="w") as archive,
        ):
            archive.add(folder, filter=lambda info: _without_origin(info, int(date)))
        return path


def _without_origin(info: tarfile.TarInfo, date: int) -> tarfile.TarInfo:
    """An entry of an archive that tells nothing of the machine it was made on."""
    info.mtime, info.uid, info.gid, info.uname, info.gname = date, 0, 0, "", ""
    info.mode = 0o755 if info.mode & 0o100 else 0o644
    return info
