"""Cache of what a model made of texts, in memory and in a folder, so that no text is encoded twice.

The folder has one sub-folder for each model and its settings, named by a hash of both. A file holds a batch:
hashes of texts, then what was made of them, as two arrays in the .npy format. It appears whole or not at
all; after an interruption the finished batches are found again.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Sequence

import numpy as np

from rerank.core import progress
from rerank.core.errors import FormatError
from rerank.core.files.write import atomic_write, make_folder
from rerank.core.types import AnyArray
from rerank.data.npy import read_header
from rerank.extensions.vectors.encoders import Encoder, Text

_KEY = 16  # bytes of the hash of a text
_MOST = 1 << 28  # bytes of vectors in memory, after which all of them are forgotten
# Key of an encoder and folder of the cache -> hash of a text -> what was made of it.
_MEMORY: dict[tuple[str, str | None], dict[bytes, AnyArray]] = {}


def encoded(encoder: Encoder, texts: Sequence[Text], what: str, folder: str | None = None) -> AnyArray:
    """Return what a model makes of texts, float32 (n, n_dims).

    Parameters
    ----------
    encoder : the model.
    texts : texts, or pairs of texts, of which some may be equal.
    what : what they are, for the display of progress.
    folder : the folder of a cache, which is made if it is absent; None = only memory keeps vectors.

    Raises
    ------
    FormatError
        If a file of the cache is damaged, or the model fails.
    RerankError
        If the folder cannot be written.
    """
    keys = [_key(one) for one in texts]
    known = _memory(encoder, folder)
    todo = {key: one for key, one in zip(keys, texts, strict=True) if key not in known}
    place = None if folder is None else os.path.join(folder, encoder.key)
    if todo and place is not None and os.path.isdir(place):
        _read(place, encoder.n_dims, known, todo.__contains__)
        todo = {key: one for key, one in todo.items() if key not in known}
    if todo:
        if place is not None:
            make_folder(place)
        _encode(encoder, todo, known, what, place)
    return np.array([known[key] for key in keys], dtype=np.float32).reshape(len(keys), encoder.n_dims)


def _memory(encoder: Encoder, folder: str | None) -> dict[bytes, AnyArray]:
    """Return what is known of a model; memory is emptied if it has grown too large."""
    if sum(len(one) * (next(iter(one.values())).nbytes + 200) for one in _MEMORY.values() if one) > _MOST:
        _MEMORY.clear()
    return _MEMORY.setdefault((encoder.key, folder), {})


def _encode(
    encoder: Encoder, todo: dict[bytes, Text], known: dict[bytes, AnyArray], what: str, place: str | None
) -> None:
    """Encode texts batch by batch; each is written when it is done."""
    keys = list(todo)
    with progress.step(f"encoding {what}", len(keys), "text") as advance:
        for start in range(0, len(keys), encoder.step):
            batch = keys[start : start + encoder.step]
            values = encoder.encode([todo[key] for key in batch])
            known.update(zip(batch, values, strict=True))
            if place is not None:
                _write(place, batch, values)
            advance(len(batch))


def _key(text: Text) -> bytes:
    digest = hashlib.blake2b(digest_size=_KEY)
    for part in (text,) if isinstance(text, str) else text:
        content = part.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.digest()


def _write(place: str, keys: list[bytes], values: AnyArray) -> None:
    """Write a batch under a name that its texts give."""
    joined = b"".join(keys)
    name = hashlib.blake2b(joined, digest_size=12).hexdigest()
    with atomic_write(os.path.join(place, f"{name}.batch")) as file:
        for array in (np.frombuffer(joined, np.uint8).reshape(len(keys), _KEY), values):
            np.lib.format.write_array(file, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)


def _read(place: str, n_dims: int, known: dict[bytes, AnyArray], wanted: Callable[[bytes], bool]) -> None:
    """Add what the files of a folder hold of the texts that are wanted."""
    for name in sorted(os.listdir(place)):
        if not name.endswith(".batch"):
            continue
        path = os.path.join(place, name)
        try:
            with open(path, "rb") as file:
                arrays = []
                for kind in ("|u1", "<f4"):
                    header = read_header(file)
                    content = file.read(header.n_bytes)
                    if header.dtype.str != kind or len(header.shape) != 2 or len(content) != header.n_bytes:
                        raise ValueError(f"an array {header}")
                    arrays.append(np.frombuffer(content, dtype=header.dtype).reshape(header.shape))
                codes, values = arrays
                if codes.shape[1] != _KEY or values.shape != (len(codes), n_dims) or file.read(1):
                    raise ValueError(f"arrays of shapes {codes.shape} and {values.shape}")
                if not np.isfinite(values).all():
                    raise ValueError("numbers that are not finite")
        except ValueError as error:
            expected = "a batch of a cache; delete the file"
            raise FormatError(path, None, f"damaged data ({error})", expected) from None
        content = codes.tobytes()
        for k in range(len(codes)):
            key = content[k * _KEY : (k + 1) * _KEY]
            if wanted(key):
                known[key] = values[k]
