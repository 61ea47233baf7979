"""Build command for the Cython kernels.

Every ``_*.pyx`` becomes an extension module: adding a kernel means adding a file, in a folder below
``rerank/native`` or in the folder ``native`` of an extension. C files go to the build directory, never beside
the sources. setuptools loads this file by itself, before the package can be imported, so it imports nothing
from the package.
"""

from __future__ import annotations

import gzip
import os
import shutil
import sys
import sysconfig
import tarfile
from pathlib import Path
from typing import Any

from setuptools import Extension
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
NO_COMPILER = (
    "rerank needs {} to be built from source: install it (Debian, Ubuntu: build-essential python3-dev; "
    "Fedora: gcc python3-devel; Alpine: build-base python3-dev; macOS: xcode-select --install; "
    "Windows: Build Tools for Visual Studio), or install a wheel"
)


class BuildKernels(build_ext):  # type: ignore[misc]
    """``build_ext`` that cythonizes each kernel it finds.

    Editable installs, ``build_ext --inplace`` and wheels share one build directory, so that a kernel is
    compiled once.
    """

    def finalize_options(self) -> None:
        sources = sorted(Path("rerank").rglob("_*.pyx"))
        self.distribution.ext_modules = [
            Extension(SHARED_UTILITY, []),
            *(Extension(".".join(p.with_suffix("").parts), [p.as_posix()]) for p in sources),
        ]
        super().finalize_options()
        self.parallel = os.cpu_count()
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
        from Cython.Build import cythonize
        from Cython.Compiler import Options

        Options.warning_errors = bool(CHECKED)  # not for users: another Cython may warn of more

        translated = cythonize(  # type: ignore[no-untyped-call]
            self.extensions,
            build_dir=str(Path(self.build_temp) / "cython"),
            compiler_directives=DIRECTIVES | CHECKED,
            shared_utility_qualified_name=SHARED_UTILITY,
            force=bool(self.force),
            nthreads=self.parallel,
            quiet=True,
        )
        c_files = {extension.name: extension.sources for extension in translated}
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
    """``sdist`` that includes everything that kernels, the tests and the README's commands need."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        more = [name for name in ("Makefile", "CHANGELOG.md") if Path(name).is_file()]
        more += [path.as_posix() for path in sorted(Path("rerank").rglob("*.pxd"))]
        for folder in ("configs", "data", "scripts", "tests"):
            for path in sorted(Path(folder).rglob("*")):
                if path.is_file() and "__pycache__" not in path.parts:
                    more.append(path.as_posix())
        super().make_release_tree(base_dir, sorted({*files, *more}))

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
