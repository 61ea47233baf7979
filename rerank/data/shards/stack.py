"""Features of several sets, one below the other, without a second copy of all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
from msgspec import Struct, structs

from rerank.core.types import AnyArray
from rerank.data.columns.offsets import offsets_of
from rerank.data.matrix import Dense, Features, Mixed, Sparse
from rerank.data.npy import large_array, release, row_blocks


class Form(Struct, frozen=True):
    """Layout and sizes of the features of a set, known before they are read.

    Attributes
    ----------
    layout : "dense", "sparse" or "mixed".
    dtype : of dense values, as in numpy's ``str``.
    items, width : numbers of rows and columns.
    values : values of compressed rows.
    ones : whether compressed rows are indicators.
    places : the dense columns of mixed features.
    missing : whether a value is NaN.
    """

    layout: str
    dtype: str
    items: int
    width: int
    values: int = 0
    ones: bool = False
    places: tuple[int, ...] = ()
    missing: bool = False

    @classmethod
    def of(cls, features: Features) -> Form:
        """Return the form of some features."""
        rows = features.rows if isinstance(features, Mixed) else features
        assert isinstance(rows, Sparse | Dense)
        return cls(
            features.layout,
            features.dtype.str,
            features.n_items,
            features.n_features,
            rows.n_values if isinstance(rows, Sparse) else 0,
            isinstance(rows, Sparse) and rows.data is None,
            tuple(features.places.tolist()) if isinstance(features, Mixed) else (),
            features.check(nan_allowed=True),
        )


def stack(parts: Iterable[Features], forms: Sequence[Form], width: int, absent: float = 0.0) -> Features:
    """Return all rows in one layout: that of the parts if they agree, else CSR, or dense if one is NaN.

    Parameters
    ----------
    parts : features of as many sets as there are forms, each read once and not kept.
    forms : what they are.
    width : columns of the result; a part has its first columns.
    absent : value of the other columns in dense rows; compressed rows have 0.

    Raises
    ------
    RerankError
        If neither memory nor the folder for temporary files has room for them.
    """
    layouts = {form.layout for form in forms}
    if layouts == {"dense"} or any(form.missing for form in forms if form.layout != "sparse"):
        return _dense(parts, forms, width, absent)
    n_items = sum(form.items for form in forms)
    places = np.array(forms[0].places, dtype=np.int32)
    if layouts == {"mixed"} and len({form.places for form in forms}) == 1:
        what = f"{len(places):,} dense columns of {n_items:,} items"
        values = large_array((n_items, len(places)), np.dtype(np.float64), what)
        start = 0

        def rows_of() -> Iterable[Sparse]:
            nonlocal start
            for part in parts:
                assert isinstance(part, Mixed)
                values[start : start + part.n_items] = part.values
                start += part.n_items
                yield part.rows

        bare = [structs.replace(form, layout="sparse", places=()) for form in forms]
        return Mixed(values, places, _sparse(rows_of(), bare, width))
    return _sparse((part.compressed() for part in parts), forms, width)


def _dense(parts: Iterable[Features], forms: Sequence[Form], width: int, absent: float) -> Dense:
    dtype = max((np.dtype(form.dtype) for form in forms), key=lambda one: one.itemsize)
    n_items = sum(form.items for form in forms)
    out = large_array((n_items, width), dtype, f"a dense matrix of {n_items:,} x {width:,}")
    start = 0
    for part in parts:
        values, n = part.to_dense(), part.n_features
        for rows in row_blocks(values):
            here = out[start + rows.start : start + rows.stop]
            here[:, :n] = values[rows]
            here[:, n:] = absent
            release(here)
        start += len(values)
    missing = any(form.missing or (form.width < width and np.isnan(absent)) for form in forms)
    return Dense(out, missing)


def _sparse(parts: Iterable[Sparse], forms: Sequence[Form], width: int) -> Sparse:
    """Compressed rows; they stay indicators if all of them are."""
    dense = [form.items * (len(form.places) + form.width * (form.layout == "dense")) for form in forms]
    most = sum(form.values for form in forms) + sum(dense)  # zeros of dense columns are left out
    indices = large_array((most,), np.dtype(np.int32), f"the indices of {most:,} values")
    ones = all(form.ones for form in forms) and not sum(dense)
    data: AnyArray | None = None
    if not ones:
        data = large_array((most,), np.dtype(np.float64), f"{most:,} values of sparse features")
    lengths, stop = [], 0
    for part in parts:
        start, stop = stop, stop + part.n_values
        indices[start:stop] = part.indices
        if data is not None:
            data[start:stop] = 1.0 if part.data is None else part.data
            release(data[start:stop])
        release(indices[start:stop])
        lengths.append(np.diff(part.indptr))
    return Sparse(
        offsets_of(np.concatenate(lengths)), indices[:stop], None if data is None else data[:stop], width
    )


def widened(features: Features, width: int, absent: float) -> Features:
    """Return features with columns after the last, ``absent`` in dense rows: ``width`` in all."""
    n = features.n_features
    if n == width:
        return features
    if isinstance(features, Dense) and absent != 0:
        return features.with_columns(np.full((features.n_items, width - n), absent))
    if isinstance(features, Sparse):
        return replace(features, n_features=width)
    return features.widened(width)
