"""Names of the array types that the whole package uses in annotations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

# Importing numpy.typing takes a tenth of the command line's start, and only annotations need it.
if TYPE_CHECKING:
    from numpy.typing import ArrayLike as ArrayLike
    from numpy.typing import DTypeLike as DTypeLike
else:
    ArrayLike = DTypeLike = Any

_Scalar = TypeVar("_Scalar", bound=np.generic, covariant=True)
NDArray: TypeAlias = np.ndarray[tuple[Any, ...], np.dtype[_Scalar]]
Floats = NDArray[np.float64]
Index = NDArray[np.int64]
Ints = NDArray[np.int32]
# Whole numbers that fit are kept in 32 bits, with the same values.
Counts = Floats | Ints
Mask = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
AnyArray = NDArray[Any]
