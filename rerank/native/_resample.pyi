import numpy as np
import numpy.typing as npt

def resampled_sums(
    rows: npt.NDArray[np.float64], draws: npt.NDArray[np.int32], out: npt.NDArray[np.float64]
) -> None: ...
