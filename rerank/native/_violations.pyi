import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

class Scratch:
    def __init__(self, longest: int) -> None: ...

def list_updates(
    scores: Floats,
    start: Ints,
    stop: Ints,
    h: Floats,
    c: float,
    tau: float,
    even: bool,
    fast: bool,
    scratch: Scratch,
    u: Floats,
) -> int: ...
def choose_engines(
    offsets: npt.NDArray[np.int64], start: Ints, stop: Ints, even: bool, fast: npt.NDArray[np.uint8]
) -> None: ...
