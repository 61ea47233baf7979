from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Long: TypeAlias = npt.NDArray[np.int64]
_Int: TypeAlias = npt.NDArray[np.int32]
_Byte: TypeAlias = npt.NDArray[np.uint8]
_Double: TypeAlias = npt.NDArray[np.float64]

def average_precision(
    rel_offsets: _Long, order: _Long, above: _Int, tied: _Int, good: _Byte, cutoff: int, out: _Double
) -> None: ...
def reciprocal_rank(
    rel_offsets: _Long, order: _Long, above: _Int, tied: _Int, good: _Byte, cutoff: int, out: _Double
) -> None: ...
def hits(
    rel_offsets: _Long, order: _Long, above: _Int, tied: _Int, good: _Byte, cutoff: int, out: _Double
) -> None: ...
def success(
    rel_offsets: _Long, order: _Long, above: _Int, tied: _Int, good: _Byte, cutoff: int, out: _Double
) -> None: ...
def dcg(
    rel_offsets: _Long,
    order: _Long,
    above: _Int,
    tied: _Int,
    gains: _Double,
    divisors: _Double,
    discounts: _Double,
    cutoff: int,
    out: _Double,
) -> None: ...
def ideal_dcg(rel_offsets: _Long, gains: _Double, divisors: _Double, cutoff: int, out: _Double) -> None: ...
