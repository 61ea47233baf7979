"""Memory of readers: the same arrays whether they are small or mapped."""

from __future__ import annotations

import numpy as np
import pytest

from rerank.data.pages import fresh_array


@pytest.mark.parametrize("shape", [(0,), (3,), (0, 5), (7, 2), (1 << 20,), (1 << 12, 1 << 8)])
@pytest.mark.parametrize("dtype", [np.int32, np.float64, "float32"])
def test_shape_type_and_writability(shape: tuple[int, ...], dtype: object) -> None:
    array = fresh_array(shape, dtype)
    assert array.shape == shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    array[...] = 7
    assert np.all(array == 7)


def test_what_no_memory_holds() -> None:
    with pytest.raises((MemoryError, ValueError, OverflowError, OSError)):
        fresh_array((1 << 40, 1 << 20), np.float64)
