"""Ids of BLLIP's features: whole numbers from 0, which are the features' names unless a file has others."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

_WHOLE = re.compile(r"0|[1-9][0-9]{0,7}")


def ids_of(names: Sequence[str] | None, n_features: int) -> tuple[npt.NDArray[np.int64], bool]:
    """The ids of columns (n_features), and whether they say all that the names do.

    Names that are whole numbers and rise are the ids, else an id is the number of its column. So it is
    with "1", "2", ... too, the names of columns that have none.
    """
    columns = np.arange(n_features, dtype=np.int64)
    if names is None or all(name == str(j) for j, name in enumerate(names, start=1)):
        return columns, True
    if all(_WHOLE.fullmatch(name) for name in names):
        ids = np.array([int(name) for name in names], dtype=np.int64)
        if np.all(np.diff(ids) > 0):
            return ids, True
    return columns, False
