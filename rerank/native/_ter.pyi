import numpy as np
import numpy.typing as npt

def work_sizes(n: int, m: int, largest: int) -> tuple[int, int, int]: ...
def edits(
    ids: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    reference_ids: npt.NDArray[np.int32],
    reference_bounds: npt.NDArray[np.int64],
    n_references: int,
    longest_item: int,
    longest_reference: int,
    largest: int,
    ints: npt.NDArray[np.int32],
    words: npt.NDArray[np.uint64],
    at: npt.NDArray[np.int64],
    out: npt.NDArray[np.float64],
) -> None: ...
