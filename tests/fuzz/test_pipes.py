"""Every format and every file beside one, through pipes: as from files, for blocks of any size."""

import io
import os
import sys
import threading

import numpy as np
import pytest
from fuzz.corpus import Seed, corpus, targets
from fuzz.exercise import put
from fuzz.piped import check_pipes, pipe_of
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import RerankError
from rerank.core.files.read import inputs_opened_once, read_bytes, read_head
from rerank.data.lists import CandidateLists
from rerank.formats import FORMATS, load

BLOCKS = (1, 2, 7, 64, 4_095, 65_536, 1 << 20)
LETOR = b"1 qid:1 1:2\n0 qid:1 1:1\n"


@pytest.mark.parametrize("target", targets())
def test_every_input_is_read_from_pipes_as_from_files(target, tmp_path):
    for number, seed in enumerate(corpus()[target]):
        for by_content in (False, True) if target.startswith("format:") else (False,):
            folder = tmp_path / f"{number}-{by_content}"
            folder.mkdir()
            put(seed, str(folder))
            check_pipes(target, seed, str(folder), BLOCKS[number % len(BLOCKS)], by_content)


@given(st.sampled_from(sorted(targets())), st.integers(0, 1 << 30), st.integers(1, 1 << 20), st.booleans())
def test_blocks_of_any_size(tmp_path_factory, target, number, block, by_content):
    seed = corpus()[target][number % len(corpus()[target])]
    by_content = by_content and target.startswith("format:")
    folder = str(tmp_path_factory.mktemp("input"))
    put(seed, folder)
    check_pipes(target, seed, folder, block, by_content)


def large_lists() -> CandidateLists:
    """Lists that are longer in a file than what recognises its format."""
    draw, n = np.random.default_rng(1), 4_000
    frame = {"qid": np.arange(n) // 10, "label": draw.integers(0, 3, n), "id": [f"d{i}" for i in range(n)]}
    frame |= {"text": [f"the text of candidate {i}" for i in range(n)]}
    return CandidateLists.from_frame(frame | {name: draw.standard_normal(n).round(6) for name in "xyz"})


@pytest.mark.parametrize("name", ["flat", "jsonl", "moses", "parquet", "svmlight", "table"])
@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
def test_inputs_longer_than_what_recognises_them(name, tmp_path):
    path = tmp_path / "large"
    FORMATS.get(name)().write(large_lists(), str(path))
    content = path.read_bytes()
    assert len(content) > 1 << 16
    seed = Seed({"": content}, {"n_best": 10} if name == "flat" else {})
    for block in (997, 1 << 16, (1 << 16) + 1, 1 << 20):
        folder = tmp_path / str(block)
        folder.mkdir()
        put(seed, str(folder))
        check_pipes(f"format:{name}", seed, str(folder), block, by_content=block > 1_000)


def test_a_call_that_fails_forgets_what_it_had_read_of_a_pipe(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for content in (b"nothing known\n" * 10, LETOR):
        thread = threading.Thread(target=fifo.write_bytes, args=(content,))
        thread.start()
        if content is LETOR:
            assert load(fifo, format="svmlight").n_items == 2
        else:
            with pytest.raises(RerankError, match="unknown format"):
                load(fifo)
        thread.join()


def test_standard_input_is_kept_for_a_call(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LETOR)))
    with inputs_opened_once():
        assert load("-", format="svmlight").n_items == 2
        assert load("-", format="svmlight").n_items == 2


def test_a_pipe_is_read_twice_only_if_it_is_short():
    with pipe_of(bytes(1 << 26), 1 << 20) as path, inputs_opened_once():
        for _ in range(3):
            assert bytes(read_bytes(path)) == bytes(1 << 26)
            assert read_head(path) == bytes(1 << 16)
    with pipe_of(bytes(1 << 26) + b"x", 1 << 20) as path, inputs_opened_once():
        assert bytes(read_bytes(path)) == bytes(1 << 26) + b"x"
        assert read_head(path) == bytes(1 << 16)
        with pytest.raises(RerankError, match=f"^{path}: is a pipe of over 64 MB and needed twice; expected"):
            read_bytes(path)
