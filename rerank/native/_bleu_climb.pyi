import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]

def climb(rows: Floats, offsets: Index, chosen: Index, sums: Floats, method: int, value: float) -> None: ...
