from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def dense_prank(
    X: npt.NDArray[Any],
    visits: Index,
    grades: Ints,
    w: Floats,
    drift: Floats,
    b: Floats,
    b_drift: Floats,
    t: float,
) -> tuple[int, int]: ...
def csr_prank(
    indptr: Index,
    indices: Ints,
    data: Floats | None,
    visits: Index,
    grades: Ints,
    w: Floats,
    drift: Floats,
    b: Floats,
    b_drift: Floats,
    t: float,
) -> tuple[int, int]: ...
def dense_uneven(
    X: npt.NDArray[Any],
    visits: Index,
    grades: Ints,
    tau_minus: float,
    tau_plus: float,
    bias_step: float,
    w: Floats,
    drift: Floats,
    bias: Floats,
    bias_drift: Floats,
    t: float,
) -> tuple[int, int]: ...
def csr_uneven(
    indptr: Index,
    indices: Ints,
    data: Floats | None,
    visits: Index,
    grades: Ints,
    tau_minus: float,
    tau_plus: float,
    bias_step: float,
    w: Floats,
    drift: Floats,
    bias: Floats,
    bias_drift: Floats,
    t: float,
) -> tuple[int, int]: ...
def dense_extent(X: npt.NDArray[Any], rows: Index) -> tuple[float, float]: ...
def csr_extent(indptr: Index, data: Floats | None, rows: Index) -> tuple[float, float]: ...
