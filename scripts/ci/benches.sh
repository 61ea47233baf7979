#!/usr/bin/env bash
# Time some operations and compare with the history in bench.jsonl, to which the run is added. A row that is 10 %
# worse is described in note.md; that is an error, but on a push to main, whose history must go on.
set -euo pipefail
cd "$(dirname "$0")/../.."
make build
rm -f note.md
worse=0
.venv/bin/python scripts/ci/bench_history.py --history bench.jsonl --note note.md || worse=$?
if [ "$worse" = 1 ] && [ -f note.md ] && [ "${GITHUB_EVENT_NAME-}" = push ]; then
    echo "::warning::benchmarks are slower, see the step's output"
    exit 0
fi
exit "$worse"
