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
    stats: Floats,
    kind: int,
    a: float,
    b: float,
    factor: float,
    c: float,
    decay: float,
    background: Floats,
    w: Floats,
    drift: Floats,
    t: float,
    score: Floats,
    worth: Floats,
    sums: Floats,
    step: Floats,
) -> tuple[int, float]: ...
def csr_round(
    indptr: Index,
    indices: Ints,
    data: Floats | None,
    visits: Index,
    offsets: Index,
    stats: Floats,
    kind: int,
    a: float,
    b: float,
    factor: float,
    c: float,
    decay: float,
    background: Floats,
    w: Floats,
    drift: Floats,
    t: float,
    score: Floats,
    worth: Floats,
    sums: Floats,
    step: Floats,
    place: Ints,
) -> tuple[int, float]: ...
