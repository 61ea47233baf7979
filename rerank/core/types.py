"""Names of the array types that the whole package uses in annotations."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
# Whole numbers that fit are kept in 32 bits, with the same values.
Counts = Floats | Ints
Mask = npt.NDArray[np.bool_]
Bytes = npt.NDArray[np.uint8]
AnyArray = npt.NDArray[Any]
