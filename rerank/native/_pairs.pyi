import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]

def competition_ranks(labels: Floats, offsets: Index, rank: Ints) -> None: ...
def first_beyond_rank(rank: Ints, offsets: Index, limit: Index, first: Ints) -> None: ...
def first_below_label(labels: Floats, offsets: Index, gap: float, first: Ints) -> None: ...
