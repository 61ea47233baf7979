#!/usr/bin/env bash
# Check the workflows: pinned actions, permissions, scripts that exist, and what zizmor finds without the network.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work"
"$work/bin/python" -m pip install --quiet zizmor pyyaml
"$work/bin/python" scripts/ci/check_workflows.py
"$work/bin/zizmor" --offline --quiet --min-severity medium .github/workflows
