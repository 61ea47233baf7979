from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Long: TypeAlias = npt.NDArray[np.int64]
_Int: TypeAlias = npt.NDArray[np.int32]
_Double: TypeAlias = npt.NDArray[np.float64]

def nearest_means(
    values: _Double,
    weights: _Double,
    offsets: _Long,
    sums: _Double,
    costs: _Double,
    starts: _Int,
    levels: _Int,
) -> None: ...
