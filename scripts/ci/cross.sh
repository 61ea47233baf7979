#!/usr/bin/env bash
# Check on one system what can be checked of the others there: the types of the branches for Windows (mypy), and the C
# code of the kernels in build/cython against the headers of each system (clang of the package ziglang). Nothing is
# linked or run.
#
# "cross.sh aarch64 FOLDER" does more for arm64 on Debian, as root: it builds a wheel with gcc-aarch64-linux-gnu, and
# runs the main verbs with it under qemu-user-static. FOLDER then has a root of arm64, made by debootstrap, with the
# wheel in it, and the script `inside`, which runs a command there. CROSS_FLAGS are added to those of the compiler.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ "${1-}" = aarch64 ]; then
    mkdir -p "$2"
    folder=$(cd "$2" && pwd) version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    root=$folder/root packages=$folder/root/usr/local/lib/python$version/dist-packages
    case $version in 3.11) suite=bookworm ;; 3.13) suite=trixie ;; *) echo "no Debian has Python $version"; exit 1 ;; esac
    if [ ! -d "$packages/numpy" ]; then
        debootstrap --foreign --arch=arm64 --variant=minbase --include=python3,libpython3-dev "$suite" "$root" >"$work/log"
        for package in "$root"/var/cache/apt/archives/*.deb; do  # unpacked is enough: nothing is set up
            dpkg-deb --fsys-tarfile "$package" | tar -x --keep-directory-symlink -C "$root"
        done
        "$python" -m pip install --quiet --target "$packages" --python-version "$version" --only-binary :all: \
            --platform manylinux_2_28_aarch64 --platform manylinux_2_27_aarch64 --platform manylinux2014_aarch64 \
            numpy scipy pyyaml 'typer<0.30' rich msgspec pytest hypothesis
    fi
    cat >"$folder/compiler" <<END
#!/bin/sh
exec aarch64-linux-gnu-gcc "-I$root/usr/include/python$version" "-I$root/usr/include" "\$@" ${CROSS_FLAGS-}
END
    # What runs emulated programs is set for one name space alone, so that the machine stays as it is.
    cat >"$folder/inside" <<END
#!/bin/sh
exec unshare --user --map-root-user --mount --pid --fork sh -ec '
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
magic="\\\\x7fELF\\\\x02\\\\x01\\\\x01\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x00\\\\x02\\\\x00\\\\xb7\\\\x00"
mask="\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\x00\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xff\\\\xfe\\\\xff\\\\xff\\\\xff"
printf %s ":aarch64:M::\$magic:\$mask:$(command -v qemu-aarch64-static):F" >/proc/sys/fs/binfmt_misc/register
mount --rbind /dev "$root/dev"
mount -t proc proc "$root/proc"
exec chroot "$root" env OPENBLAS_NUM_THREADS=1 PATH=/usr/bin:/bin LC_ALL=C.UTF-8 "\$@"' inside "\$@"
END
    chmod +x "$folder/compiler" "$folder/inside"
    # The sources of this commit, their C code, and the settings of Python for arm64.
    mkdir -p "$work/source/build" "$work/settings"
    git archive HEAD | tar -x -C "$work/source"
    cp -r build/cython "$work/source/build"
    cp "$root/usr/lib/python$version/_sysconfigdata__aarch64-linux-gnu.py" "$work/settings"
    (
        cd "$work/source"
        PYTHONPATH=$work/settings _PYTHON_SYSCONFIGDATA_NAME=_sysconfigdata__aarch64-linux-gnu \
            _PYTHON_HOST_PLATFORM=linux-aarch64 CC=$folder/compiler LDSHARED='aarch64-linux-gnu-gcc -shared' \
            "$python" -m build --no-isolation --skip-dependency-check --wheel --outdir "$folder" .
    ) >"$work/log" 2>&1 || { tail -20 "$work/log"; exit 1; }
    rm -rf "$packages"/rerank*
    (cd "$packages" && "$python" -m zipfile -e "$folder"/rerank-*-linux_aarch64.whl .)
    rm -rf "$root/source"
    cp -r "$work/source" "$root/source"
    mv "$root/source/rerank" "$root/source/not-installed"
    "$folder/inside" python3 /source/scripts/ci/smoke.py --core
    exit
fi

"$python" -m mypy --platform win32 --no-warn-unreachable --cache-dir "$work/mypy" rerank

zig=$("$python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent)')
for copy in unix include; do
    cp -r "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" "$work/$copy"
done
cat >"$work/include/pyconfig.h" <<'END'
/* What Python's headers ask of 64-bit Windows. */
#include <io.h>
#include <stdio.h>
#define MS_WINDOWS
#define MS_WIN32
#define MS_WIN64
#define NT_THREADS
#define WITH_THREAD
#define HAVE_DECLSPEC_DLL
#define Py_ENABLE_SHARED 1
#define MS_COREDLL
#define COMPILER "[check]"
#define PLATFORM "win32"
#define PY_LONG_LONG long long
#define SIZEOF_VOID_P 8
#define SIZEOF_TIME_T 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_DOUBLE 8
#define SIZEOF_FLOAT 4
#define SIZEOF_WCHAR_T 2
#define SIZEOF_PID_T 4
#define SIZEOF_HKEY 8
#define HAVE_SSIZE_T 1
#define HAVE_STDINT_H 1
#define HAVE_INTTYPES_H 1
#define HAVE_STDDEF_H 1
END

check() {  # check TARGET FOLDER ...: the C files, with these folders of the headers of the C library that zig has
    local target=$1 python_headers=$work/unix
    shift
    case $target in *windows*) python_headers=$work/include ;; esac
    local flags=(-target "$target" -fsyntax-only -w -D_UCRT -DNDEBUG -nostdinc -isystem "$zig/lib/include")
    for folder in "$@"; do flags+=(-isystem "$zig/lib/libc/include/$folder"); done
    find build/cython -name '*.c' -print0 |
        xargs -0 -n 8 -P "$(getconf _NPROCESSORS_ONLN)" "$zig/zig" clang "${flags[@]}" -I"$python_headers"
    echo "$n kernels compile for $target"
}
n=$(find build/cython -name '*.c' | wc -l)
[ "$n" -gt 0 ] || { echo 'no C code in build/cython: make build first'; exit 1; }
check x86_64-windows-gnu any-windows-any
check aarch64-macos any-darwin-any
check x86_64-macos any-darwin-any
check aarch64-linux-gnu aarch64-linux-gnu generic-glibc aarch64-linux-any any-linux-any
check x86_64-linux-musl x86_64-linux-musl generic-musl x86-linux-any any-linux-any
check aarch64-linux-musl aarch64-linux-musl generic-musl aarch64-linux-any any-linux-any
