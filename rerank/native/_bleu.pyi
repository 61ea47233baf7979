import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]

def statistics(
    text: Bytes,
    text_offsets: Index,
    offsets: Index,
    reference: Bytes,
    starts: Index,
    stops: Index,
    tokens: Words,
    grams: Words,
    state: Index,
    lengths: Index,
    out: Floats,
) -> None: ...
