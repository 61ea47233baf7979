import numpy as np
import numpy.typing as npt

KINDS: dict[str, int]

def scan(
    text: npt.NDArray[np.uint8],
    kinds: npt.NDArray[np.int8],
    values: npt.NDArray[np.float64],
    spans: npt.NDArray[np.int64],
) -> int: ...
