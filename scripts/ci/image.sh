#!/usr/bin/env bash
# Build scripts/packaging/Dockerfile with buildah, which needs no daemon, and try the image: image.sh [BASE]
#
# BASE is the image of Python to build on; the default is that of the Dockerfile. "debian" makes a stand-in for it from
# Debian's packages (debootstrap, as root), for places that reach no registry of images. The size is that of the files.
set -euo pipefail
cd "$(dirname "$0")/../.."
most=300  # MB
work=$(mktemp -d)
store=(--root "$work/storage" --runroot "$work/run")
trap 'buildah "${store[@]}" rm --all >/dev/null 2>&1 || true; rm -rf "$work"' EXIT
buildah() { command buildah "${store[@]}" "$@"; }
megabytes() { du -sx -B 1000000 "$1" | cut -f 1; }

base=${1-}
if [ "$base" = debian ]; then
    debootstrap --variant=minbase --include=python3-venv,python3-pip,libpython3-dev,ca-certificates trixie "$work/debian" \
        >"$work/log" || { tail "$work/log"; exit 1; }
    ln -s python3 "$work/debian/usr/bin/python"
    rm -rf "$work/debian"/var/{cache/apt,lib/apt/lists}/*
    container=$(buildah from scratch)
    buildah add --quiet "$container" "$work/debian" / >/dev/null
    buildah commit --quiet "$container" localhost/debian >/dev/null
    rm -rf "$work/debian"
    base=localhost/debian
fi
arguments=(${base:+--build-arg "BASE=$base"})
[ "$base" != localhost/debian ] || arguments+=(--pull-never)
# The certificates of this machine: pip may need those of a proxy.
buildah build --isolation chroot --volume /etc/ssl/certs:/etc/ssl/certs:ro "${arguments[@]}" --tag rerank \
    --ignorefile scripts/packaging/Dockerfile.dockerignore --file scripts/packaging/Dockerfile . >"$work/log" 2>&1 ||
    { tail -30 "$work/log"; exit 1; }

container=$(buildah from rerank)
folder=$(buildah mount "$container")
size=$(megabytes "$folder") own=$(megabytes "$folder/opt/rerank")
mkdir -m 777 "$work/data"
cp data/spelling-tiny/*.letor scripts/ci/smoke.py "$work/data"
in_image() { buildah run --isolation chroot --volume "$work/data:/data" "$container" -- "$@"; }
[ "$(buildah inspect --format '{{.OCIv1.Config.Entrypoint}}' "$container")" = '[rerank]' ]
[ "$(in_image id -u)" = 1000 ]
in_image rerank --version
in_image rerank train --data train.letor --learner perceptron --out model --quiet
in_image rerank predict model test.letor --out scores --quiet
in_image rerank eval test.letor scores --metric AP --metric nDCG@10
in_image python smoke.py --core
echo "the image has $size MB, of which /opt/rerank $own MB"
[ "$size" -le "$most" ] || [ "$base" = localhost/debian ] || { echo "expected at most $most MB"; exit 1; }
