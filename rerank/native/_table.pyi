from typing import Any

import numpy as np
import numpy.typing as npt

KINDS: dict[str, int]

def parse_rows(
    text: npt.NDArray[np.uint8],
    mark: int,
    kinds: npt.NDArray[np.uint8],
    values: npt.NDArray[np.float64],
    spans: npt.NDArray[np.int64],
) -> bool: ...
def gather(text: npt.NDArray[np.uint8], spans: npt.NDArray[Any], out: npt.NDArray[np.uint8]) -> None: ...
