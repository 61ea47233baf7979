from typing import Any

import numpy as np
import numpy.typing as npt

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
    dimension: float,
    a: Floats,
    w: Floats,
    drift: Floats,
    t: float,
    z: Floats,
    seen: Index,
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
    dimension: float,
    a: Floats,
    w: Floats,
    drift: Floats,
    t: float,
    z: Floats,
    seen: Index,
) -> tuple[int, int]: ...
