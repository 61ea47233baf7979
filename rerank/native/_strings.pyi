from typing import overload

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]

@overload
def take(data: Bytes, offsets: Index, index: Index, out_offsets: Index, out: Bytes) -> None: ...
@overload
def take(
    data: npt.NDArray[np.int32],
    offsets: Index,
    index: Index,
    out_offsets: Index,
    out: npt.NDArray[np.int32],
) -> None: ...
def mark_repeated(
    data: Bytes,
    offsets: Index,
    lists: Index,
    slots: npt.NDArray[np.int32],
    hashes: npt.NDArray[np.uint64],
    repeated: npt.NDArray[np.uint8],
) -> None: ...
