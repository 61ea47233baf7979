import numpy as np
import numpy.typing as npt

from rerank.native._names import Names

FAULTS: tuple[str, ...]

Bytes = npt.NDArray[np.uint8]
Index = npt.NDArray[np.int64]

def scan(
    text: Bytes,
    kinds: npt.NDArray[np.int8],
    ids: Names,
    names: Names,
    followers: npt.NDArray[np.int32],
    stats: Index,
    state: Index,
    spans: Index,
    totals: npt.NDArray[np.float64],
    codes: npt.NDArray[np.int32],
    counts: Index,
) -> tuple[int, int]: ...
def count_lines(text: Bytes) -> int: ...
def gather(text: Bytes, spans: Index, places: Index, offsets: Index, out: Bytes) -> None: ...
