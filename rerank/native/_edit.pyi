import numpy as np
import numpy.typing as npt

def levenshtein(
    ids: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    reference_ids: npt.NDArray[np.int32],
    reference_bounds: npt.NDArray[np.int64],
    n_references: int,
    masks: npt.NDArray[np.uint64],
    carry: npt.NDArray[np.int8],
    out: npt.NDArray[np.float64],
) -> None: ...
def bags(
    ids: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    reference_ids: npt.NDArray[np.int32],
    reference_bounds: npt.NDArray[np.int64],
    n_references: int,
    left: npt.NDArray[np.int32],
    out: npt.NDArray[np.float64],
) -> None: ...
