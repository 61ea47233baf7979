import numpy as np
import numpy.typing as npt

def ids_fault(
    data: npt.NDArray[np.uint8],
    bounds: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint64],
) -> int: ...
def break_ties(
    scores: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    offsets: npt.NDArray[np.int64],
    rel_items: npt.NDArray[np.int64],
    rel_offsets: npt.NDArray[np.int64],
    data: npt.NDArray[np.uint8] | None,
    bounds: npt.NDArray[np.int64] | None,
    work: npt.NDArray[np.int64],
    order: npt.NDArray[np.int64],
    above: npt.NDArray[np.int32],
    tied: npt.NDArray[np.int32],
) -> None: ...
