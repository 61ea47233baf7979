#!/usr/bin/env bash
# Check on another system what can be checked of Windows there: the types of its branches (mypy), and the C code of the
# kernels in build/ against the headers of Windows (clang of the package ziglang).
set -euo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m mypy --platform win32 --no-warn-unreachable --cache-dir "$work/mypy" rerank

zig=$("$python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent)')
cp -r "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')" "$work/include"
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
n=0
while IFS= read -r -d '' file; do
    "$zig/zig" clang -target x86_64-windows-gnu -fsyntax-only -w -D_UCRT -DNDEBUG -nostdinc -isystem "$zig/lib/include" \
        -isystem "$zig/lib/libc/include/any-windows-any" -I"$work/include" "$file"
    n=$((n + 1))
done < <(find build/cython -name '*.c' -print0)
[ "$n" -gt 0 ] || { echo 'no C code in build/: make build first'; exit 1; }
echo "$n kernels compile for Windows"
