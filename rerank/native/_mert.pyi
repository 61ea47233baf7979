import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]
Penalty = tuple[float, float, float, float, float, float]

def choose(scores: Floats, offsets: Index, stats: Floats, chosen: Ints, sums: Floats) -> None: ...
def advance(order: Ints, slopes: Floats, gamma: float, scores: Floats) -> None: ...

class LineSearch:
    def __init__(self, offsets: Index, stats: Floats, alike: Ints) -> None: ...
    def gather(
        self,
        lists: Ints,
        order: Ints,
        slopes: Floats,
        scores: Floats,
        chosen: Ints,
        sums: Floats,
        unit: float,
    ) -> None: ...
    def best(
        self, better: int, kind: int, a: float, b: float, penalty: Penalty
    ) -> tuple[float, float, float]: ...
    def intervals(self) -> tuple[Floats, Floats]: ...

def best_of(
    ends: Floats, values: Floats, unit: float, better: int, penalty: Penalty
) -> tuple[float, float, float]: ...
def value_of(sums: Floats, kind: int, a: float, b: float) -> float: ...
def point_in(lower: float, upper: float, unit: float) -> float: ...
