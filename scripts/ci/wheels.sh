#!/usr/bin/env bash
# Build the wheels of this system with cibuildwheel, which tests each with scripts/ci/smoke.py, or with --sdist the
# sdist, from which a wheel is built. They are in dist/. Settings are in pyproject.toml, [tool.cibuildwheel].
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python}
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH

# Manual pages and completions, made by an installation whose kernels no wheel may have.
"$python" -m pip install --quiet .
find build -mindepth 1 -maxdepth 1 ! -name cython -exec rm -rf {} +  # each Python takes the same C files
"$python" scripts/packaging/man_pages.py build/share

if [ "${1-}" = --sdist ]; then
    "$python" -m pip install --quiet 'build>=1.2'
    "$python" -m build --sdist --outdir dist .
    PYTHON=$python scripts/ci/offline_sdist.sh dist/*.tar.gz
else
    "$python" -m pip install --quiet 'cibuildwheel>=3'
    "$python" -m cibuildwheel --output-dir dist
fi
