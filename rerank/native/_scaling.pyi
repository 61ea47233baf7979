from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

Reals = TypeVar("Reals", npt.NDArray[np.float64], npt.NDArray[np.float32], npt.NDArray[Any])
Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def divisor_of(low: float, high: float, tolerance: float) -> float: ...
def dense_fit(
    X: Reals, zscore: bool, tolerance: float, shift: Floats, divisor: Floats, work: Floats
) -> int: ...
def dense_apply(X: Reals, shifts: bool, shift: Floats, divisor: Floats, out: Reals) -> None: ...
def dense_lists(
    X: Reals, offsets: Index, zscore: bool, shifts: bool, tolerance: float, work: Floats, out: Reals
) -> int: ...
def csr_fit(
    indptr: Index, indices: Ints, data: Floats, zscore: bool, tolerance: float, divisor: Floats, work: Floats
) -> int: ...
def csr_apply(indices: Ints, data: Floats, divisor: Floats, out: Floats) -> None: ...
def csr_lists(
    indptr: Index,
    indices: Ints,
    data: Floats,
    offsets: Index,
    zscore: bool,
    tolerance: float,
    divisor: Floats,
    work: Floats,
    out: Floats,
) -> int: ...
def dense_list_ranks(
    X: Reals, offsets: Index, keys: Floats, rows: Ints, order: Ints, spare: Ints, out: Reals
) -> None: ...
