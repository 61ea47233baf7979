"""Arrays that are filled within their file."""

import errno

import numpy as np
import pytest

from rerank.data.npy import array_in_file


@pytest.mark.parametrize("reserves", [True, False])
def test_the_file_is_what_numpy_saves(tmp_path, monkeypatch, reserves):
    def unsupported(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    if not reserves:
        monkeypatch.setattr("os.posix_fallocate", unsupported, raising=False)
    values = np.arange(12.0).reshape(3, 4)
    np.save(tmp_path / "expected.npy", values)
    with array_in_file(str(tmp_path / "made.npy"), (3, 4)) as out:
        assert not out.any()
        out[:] = values
        assert not (tmp_path / "made.npy").exists()
    assert (tmp_path / "made.npy").read_bytes() == (tmp_path / "expected.npy").read_bytes()
    assert np.array_equal(out, values)
    assert not out.flags.writeable


def test_nothing_is_left_after_an_error(tmp_path):
    def broken():
        with array_in_file(str(tmp_path / "made.npy"), (2, 2)) as out:
            out[5] = 1

    with pytest.raises(IndexError):
        broken()
    assert list(tmp_path.iterdir()) == []
