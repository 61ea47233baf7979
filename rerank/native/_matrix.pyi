import numpy as np
import numpy.typing as npt

def dense_scores(
    X: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    w: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def csr_scores(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64] | None,
    w: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def dense_transposed(
    X: npt.NDArray[np.float64] | npt.NDArray[np.float32],
    c: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def csr_transposed(
    indptr: npt.NDArray[np.int64],
    indices: npt.NDArray[np.int32],
    data: npt.NDArray[np.float64] | None,
    c: npt.NDArray[np.float64],
    out: npt.NDArray[np.float64],
) -> None: ...
def csr_fault(indptr: npt.NDArray[np.int64], indices: npt.NDArray[np.int32], n_features: int) -> int: ...
def value_fault(
    values: npt.NDArray[np.float64] | npt.NDArray[np.float32], nan_allowed: bool
) -> tuple[int, bool]: ...
