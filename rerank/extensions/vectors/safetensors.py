"""Files of tensors in the safetensors format: a header in JSON, then the numbers."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import numpy as np

from rerank.core.errors import FormatError
from rerank.core.files.read import read_bytes, shown
from rerank.core.types import AnyArray

_TYPES = {
    "F64": "<f8",
    "F32": "<f4",
    "F16": "<f2",
    "BF16": "<u2",
    "I64": "<i8",
    "I32": "<i4",
    "I16": "<i2",
    "I8": "|i1",
    "U8": "|u1",
    "BOOL": "|u1",
}


def read_tensors(path: str) -> dict[str, AnyArray]:
    """Return the tensors of a file by name; raise FormatError if it is damaged."""
    content = memoryview(read_bytes(path))
    size = int.from_bytes(content[:8], "little")
    try:
        if size > len(content) - 8:
            raise ValueError("the header is longer than the file")
        header = msgspec.json.decode(bytes(content[8 : 8 + size]))
        data = content[8 + size :]
        return {name: _tensor(entry, data) for name, entry in header.items() if name != "__metadata__"}
    except (
        msgspec.DecodeError,
        UnicodeDecodeError,
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
    ) as error:
        detail = str(error)[:100] or type(error).__name__
        raise FormatError(shown(path), None, f"damaged data ({detail})", "tensors (safetensors)") from None


def _tensor(entry: Any, data: memoryview) -> AnyArray:
    """One tensor; an error of any kind that ``read_tensors`` expects if it is not within the data."""
    kind, shape = _TYPES[entry["dtype"]], entry["shape"]
    start, stop = entry["data_offsets"]
    if not all(type(n) is int and n >= 0 for n in (*shape, start, stop)) or not start <= stop <= len(data):
        raise ValueError("a tensor beyond the file")
    if stop - start != math.prod(shape) * np.dtype(kind).itemsize:
        raise ValueError("a tensor of another size than its shape")
    values = np.frombuffer(data[start:stop], dtype=kind).reshape(shape)
    if entry["dtype"] == "BF16":
        values = (values.astype(np.uint32) << 16).view(np.float32)
    return values
