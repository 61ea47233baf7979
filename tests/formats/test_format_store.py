import os

import numpy as np
import pytest
from make import full_lists, same

from rerank.core.errors import ConfigError, FormatError, RerankError
from rerank.data.matrix import Dense, Sparse
from rerank.formats import FORMATS, load


def test_a_folder_is_read_as_a_store(tmp_path):
    path = str(tmp_path / "s")
    FORMATS.get("store")().write(full_lists(), path)
    assert same(load(path), full_lists())


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "indicators"])
def test_another_layout_holds_the_same_numbers(layout, tmp_path):
    lists = full_lists(layout)
    path = str(tmp_path / "s")
    FORMATS.get("store")().write(lists, path)
    dense, sparse = load(path, layout="dense"), load(path, layout="sparse")
    assert isinstance(dense.features, Dense)
    assert isinstance(sparse.features, Sparse)
    for made in (dense, sparse):
        assert np.array_equal(made.features.to_dense(), lists.features.to_dense())
        assert list(made.texts) == list(lists.texts)


def test_standard_streams_hold_no_directory():
    with pytest.raises(ConfigError, match="cannot be written to standard output"):
        FORMATS.get("store")().write(full_lists(), "-")
    with pytest.raises(ConfigError, match="cannot be read from standard input"):
        load("-", format="store")


def test_a_folder_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(FormatError, match=r"found no meta\.json, expected a store"):
        load(str(tmp_path))


def test_a_place_that_cannot_be_written_is_a_one_line_error(tmp_path):
    path = os.path.join(tmp_path, "no", "such", "s")
    with pytest.raises(RerankError, match="no such file or folder") as caught:
        FORMATS.get("store")().write(full_lists(), path)
    assert "\n" not in str(caught.value)
