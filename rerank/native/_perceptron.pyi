from typing import Any

import numpy as np
import numpy.typing as npt

from rerank.native._violations import Scratch

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def dense_round(
    X: npt.NDArray[Any],
    visits: Index,
    offsets: Index,
    items: Index,
    start: Ints,
    stop: Ints,
    h: Floats,
    c: float,
    tau: float,
    even: bool,
    fast: npt.NDArray[np.uint8],
    dimension: float,
    a: Floats,
    w: Floats,
    drift: Floats,
    delta: Floats,
    t: float,
    scratch: Scratch,
) -> tuple[int, int]: ...
def csr_round(
    indptr: Index,
    indices: Ints,
    data: Floats | None,
    visits: Index,
    offsets: Index,
    items: Index,
    start: Ints,
    stop: Ints,
    h: Floats,
    c: float,
    tau: float,
    even: bool,
    fast: npt.NDArray[np.uint8],
    dimension: float,
    a: Floats,
    w: Floats,
    drift: Floats,
    delta: Floats,
    touched: Ints,
    t: float,
    scratch: Scratch,
) -> tuple[int, int]: ...
