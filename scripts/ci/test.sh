#!/usr/bin/env bash
# Run the tests in an environment of its own: test.sh lowest|newest|pre [--coverage] [ARGUMENTS OF pytest]
#
# lowest: the lowest release of each run-time dependency that pyproject.toml allows; newest: the newest ones;
# pre: pre-releases too. PYTHON names the interpreter (python3). Kernels are compiled in place. --coverage writes
# coverage.xml and prints the files with the least of their lines covered.
set -euo pipefail
cd "$(dirname "$0")/../.."
which=${1:?lowest, newest or pre}
shift
coverage=
if [ "${1-}" = --coverage ]; then coverage=yes; shift; fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"${PYTHON:-python3}" -m venv "$work/venv"
bin=$work/venv/bin
[ -d "$bin" ] || bin=$work/venv/Scripts # Windows
pip() { "$bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install --upgrade pip setuptools cython packaging
wanted=()
case $which in
    lowest)
        "$bin/python" scripts/ci/lowest_bounds.py --print >"$work/lowest.txt"
        cat "$work/lowest.txt"
        wanted=(--constraint "$work/lowest.txt")
        ;;
    newest) ;;
    pre) wanted=(--pre) ;;
    *) echo "test.sh: found $which, expected lowest, newest or pre" >&2; exit 2 ;;
esac
pip install --no-build-isolation "${wanted[@]}" -e '.[test]'
pip list
"$bin/python" scripts/ci/smoke.py
if [ "$coverage" ]; then
    pip install coverage
    export COVERAGE_FILE=$work/coverage
    # Also in the processes of pytest-xdist, and in those that tests start.
    printf '[run]\nsource = rerank\nparallel = true\npatch = subprocess\n' >"$work/coveragerc"
    "$bin/python" -m coverage run --rcfile="$work/coveragerc" -m pytest -q -n auto --dist worksteal "$@"
    "$bin/python" -m coverage combine --rcfile="$work/coveragerc" --quiet
    "$bin/python" -m coverage xml --rcfile="$work/coveragerc" -o coverage.xml
    "$bin/python" -m coverage report --rcfile="$work/coveragerc" --sort=cover --skip-covered | head -40
else
    "$bin/python" -m pytest -q -n auto --dist worksteal "$@"
fi
