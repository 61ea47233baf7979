import numpy as np
import numpy.typing as npt

def number_words(
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
def number_characters(
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
