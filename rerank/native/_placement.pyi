from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Scores: TypeAlias = npt.NDArray[np.float64] | npt.NDArray[np.float32]
_Long: TypeAlias = npt.NDArray[np.int64]
_Int: TypeAlias = npt.NDArray[np.int32]
_Double: TypeAlias = npt.NDArray[np.float64]

def place(
    scores: _Scores,
    low: npt.NDArray[np.float32],
    offsets: _Long,
    rel_items: _Long,
    rel_offsets: _Long,
    key_work: _Scores,
    low_work: npt.NDArray[np.float32],
    index_work: _Long,
    radix_work: npt.NDArray[np.uint32],
    item_work: _Int,
    count_work: _Int,
    slots: _Int,
    order: _Long,
    above: _Int,
    tied: _Int,
) -> int: ...
def sort_down(rel_offsets: _Long, key_work: _Double, index_work: _Long, values: _Double) -> None: ...
def label_ranks(
    labels: _Double,
    offsets: _Long,
    key_work: _Double,
    index_work: _Long,
    ranks: _Int,
    n_ranks: _Int,
    n_pairs: _Long,
) -> None: ...
def concordance(
    scores: _Double,
    offsets: _Long,
    ranks: _Int,
    n_ranks: _Int,
    key_work: _Double,
    index_work: _Long,
    tree: _Long,
    right: _Long,
    wrong: _Long,
) -> None: ...
