from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

def pair_loss(scores: Floats, better: Index, worse: Index, weight: Floats, slope: Floats) -> float: ...
def dense_squares(X: npt.NDArray[Any], better: Index, worse: Index, weight: Floats, out: Floats) -> None: ...
def csr_squares(
    indptr: Index,
    indices: npt.NDArray[np.int32],
    data: Floats | None,
    better: Index,
    worse: Index,
    weight: Floats,
    out: Floats,
    place: npt.NDArray[np.int32],
    step: Floats,
) -> None: ...
