#!/usr/bin/env bash
# Build the sdist and a wheel twice, in two folders, and compare their bytes. Kernels are compiled anew for the second
# wheel only if COMPILE=1: otherwise both take those of build/, and packing alone is compared.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
for place in one/rerank "another place/rerank"; do
    mkdir -p "$work/$place"
    git ls-files -z | while IFS= read -r -d '' name; do [ ! -f "$name" ] || printf '%s\0' "$name"; done |
        tar --null -T - -cf - | tar -C "$work/$place" -xf -
    if [ "${COMPILE-}" != 1 ] && [ -d build ]; then
        cp -a build "$work/$place/build"
        find "$work/$place/build"/lib.* -type f ! -name '*.so' -delete
    fi
    (
        cd "$work/$place"
        "$python" -m build --no-isolation --sdist --wheel --outdir dist . >log 2>&1 || { tail -30 log; exit 1; }
    )
done
cd "$work"
for file in one/rerank/dist/*; do
    cmp "$file" "another place/rerank/dist/$(basename "$file")"
    sha256sum "$file" | sed "s| .*/|  |"
done
