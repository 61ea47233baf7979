#!/usr/bin/env bash
# Build a wheel from an sdist with its declared build requirements and no index, and import it: offline_sdist.sh SDIST
# The requirements are downloaded first. PYTHON (default: python3) has pip, and what rerank needs at run time.
set -euo pipefail
sdist=$(realpath "${1:?an sdist}")
python=$(command -v "${PYTHON:-python3}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"  # away from the sources
tar --wildcards --strip-components 1 -xzf "$sdist" '*/pyproject.toml'
"$python" -c 'import tomllib; print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")' \
    >requires.txt
export PIP_DISABLE_PIP_VERSION_CHECK=1
"$python" -m pip download --quiet --dest requirements --requirement requires.txt
ls requirements
"$python" -m pip wheel --quiet --no-cache-dir --no-index --find-links requirements --no-deps --wheel-dir wheel "$sdist"
"$python" -m pip install --quiet --no-index --no-deps --target installed wheel/rerank-*.whl
PYTHONPATH=installed "$python" -c '
import os, rerank, rerank.native
assert os.path.samefile(rerank.__path__[0], "installed/rerank"), rerank.__file__
print("rerank", rerank.__version__, "built without an index:", os.listdir("wheel")[0])'
