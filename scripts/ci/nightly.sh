#!/usr/bin/env bash
# One check of the night: nightly.sh fuzz|kills|sanitize|random|pre|bounds. MINUTES=30 is for fuzz and kills.
# Findings are in .fuzz; the day is the seed of the order of tests.
set -euo pipefail
cd "$(dirname "$0")/../.."
case ${1-} in
    fuzz | kills) make "$1" MINUTES="${MINUTES:-30}" ;;
    sanitize) make sanitize ;;
    random)
        make build
        .venv/bin/python -m pip install --quiet pytest-randomly
        .venv/bin/python -m pytest -q -n auto --dist worksteal -p randomly -p "no:cacheprovider" \
            --randomly-seed="${SEED:-$(date +%Y%m%d)}"
        ;;
    pre) scripts/ci/test.sh pre ;;
    bounds)
        make build
        .venv/bin/python -m pip install --quiet uv packaging
        .venv/bin/python scripts/ci/lowest_bounds.py
        ;;
    *) echo "nightly.sh: found '${1-}', expected fuzz, kills, sanitize, random, pre or bounds" >&2; exit 2 ;;
esac
