#!/usr/bin/env bash
# Run the tests with Python 3.11 and the lowest release of every run-time dependency that pyproject.toml allows.
# Kernels are compiled in place. Arguments are those of pytest.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3.11 -m venv "$work/venv"
"$work/venv/bin/python" - >"$work/lowest.txt" <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    for line in tomllib.load(file)["project"]["dependencies"]:
        print(line.partition(",")[0].replace(">=", "==", 1) + (";" + line.partition(";")[2]) * (";" in line))
END
pip() { "$work/venv/bin/python" -m pip --disable-pip-version-check --quiet "$@"; }
pip install --upgrade pip setuptools cython
pip install --no-build-isolation --constraint "$work/lowest.txt" -e '.[test]'
"$work/venv/bin/python" -m pytest -q -n auto --dist worksteal "$@"
