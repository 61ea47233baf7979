from typing import Any

import numpy as np
import numpy.typing as npt

FAULTS: tuple[str, ...]

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]

def scan(text: Bytes, first: int, count_values: bool) -> tuple[int, int, int]: ...
def parse_dense(
    text: Bytes,
    origin: int,
    has_qid: bool,
    first: int,
    fill: float,
    steps: npt.NDArray[np.uint64],
    X: npt.NDArray[Any],
    labels: Floats,
    spans: Index,
) -> tuple[int, int, int, int, int]: ...
def gather(text: Bytes, spans: Index, offsets: Index, out: Bytes) -> None: ...
