#!/usr/bin/env bash
# Check on one system what can be checked of the others there: the types of the branches for Windows (mypy), and the C
# code of the kernels in build/cython against the headers of each system (clang of the package ziglang). Nothing is
# linked or run.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
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
