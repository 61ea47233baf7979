import numpy as np
import numpy.typing as npt

def words(
    text: npt.NDArray[np.uint8],
    text_offsets: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    reference: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    table: npt.NDArray[np.uint64],
    ids: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    reference_ids: npt.NDArray[np.int32],
    reference_bounds: npt.NDArray[np.int64],
) -> None: ...
def characters(
    text: npt.NDArray[np.uint8],
    text_offsets: npt.NDArray[np.int64],
    offsets: npt.NDArray[np.int64],
    reference: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    first: int,
    table: npt.NDArray[np.int64],
    ids: npt.NDArray[np.int32],
    bounds: npt.NDArray[np.int64],
    reference_ids: npt.NDArray[np.int32],
    reference_bounds: npt.NDArray[np.int64],
) -> None: ...
