"""Outputs that appear whole or not at all: exchanges, groups, locks, what a kill leaves behind."""

import fcntl
import os
import signal

import numpy as np
import pytest

from rerank.core.errors import DataNote, FormatError, RerankError
from rerank.core.files import write as outputs
from rerank.core.files.write import atomic_write, make_folder, remove_leftovers, transaction
from rerank.data.lists import CandidateLists
from rerank.data.store import read_store, write_store
from rerank.formats import load
from rerank.formats.base import save

HEX = "0123456789ab"


@pytest.fixture(params=["exchange", "two renames"])
def system(request, monkeypatch):
    """Systems with and without an exchange of two names."""
    if request.param == "two renames":
        monkeypatch.setattr(outputs, "exchanged", lambda a, b: False)


def lists(value):
    return CandidateLists.from_arrays(np.full((4, 2), float(value)), [1, 0, 0, 1], group=[2, 2])


def value(path):
    return read_store(path).features.to_dense()[0, 0]


def write(path, text):
    with atomic_write(str(path)) as file:
        file.write(text.encode())


def content(folder):
    """Everything in a folder, hidden names included."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class StopError(Exception):
    """What breaks a write off."""


def failing(monkeypatch, name, when):
    """Let the n-th call of a function of os or outputs raise; return the calls."""
    owner = outputs if name.startswith("_") else os
    real, calls = getattr(owner, name), []

    def call(*arguments, **options):
        calls.append(arguments)
        if len(calls) == when:
            raise OSError(5, "Input/output error")
        return real(*arguments, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_a_store_is_replaced_and_nothing_else_is_left(tmp_path, system):
    for n in range(3):
        write_store(lists(n), tmp_path / "s")
        assert value(tmp_path / "s") == n
        assert os.listdir(tmp_path) == ["s"]


def test_an_exchange_leaves_no_moment_without_the_target(tmp_path, monkeypatch):
    write_store(lists(0), tmp_path / "s")
    monkeypatch.setattr(os, "rename", lambda *_: pytest.fail("renamed"))
    write_store(lists(1), tmp_path / "s")
    assert value(tmp_path / "s") == 1


@pytest.mark.parametrize("name", ["rename", "mkdir", "fsync"])
@pytest.mark.parametrize("when", [1, 2, 3])
def test_a_failed_write_leaves_the_old_store_and_nothing_else(tmp_path, monkeypatch, system, name, when):
    write_store(lists(0), tmp_path / "s")
    before = content(tmp_path)
    with monkeypatch.context() as patched:
        failing(patched, name, when)
        try:
            write_store(lists(1), tmp_path / "s")
        except OSError as error:
            assert error.errno == 5  # noqa: PT017
            assert content(tmp_path) == before
    write_store(lists(2), tmp_path / "s")
    assert value(tmp_path / "s") == 2
    assert os.listdir(tmp_path) == ["s"]


def test_several_outputs_appear_together(tmp_path, system):
    write(tmp_path / "a", "old a")
    write_store(lists(0), tmp_path / "s")
    with transaction():
        write(tmp_path / "a", "new a")
        write(tmp_path / "b", "new b")
        write_store(lists(1), tmp_path / "s")
        assert (tmp_path / "a").read_text() == "old a"
        assert value(tmp_path / "s") == 0
        assert not (tmp_path / "b").exists()
    assert (tmp_path / "a").read_text() == "new a"
    assert value(tmp_path / "s") == 1
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "s"]


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt])
def test_none_of_several_outputs_appears_if_the_block_raises(tmp_path, system, error):
    write(tmp_path / "a", "old a")
    before = content(tmp_path)
    with pytest.raises(error), transaction():  # noqa: PT012
        make_folder(str(tmp_path / "deep" / "er"))
        write(tmp_path / "a", "new a")
        write_store(lists(1), tmp_path / "deep" / "er" / "s")
        raise error
    assert content(tmp_path) == before
    assert os.listdir(tmp_path) == ["a"]


def test_outputs_are_taken_back_if_a_later_one_cannot_be_placed(tmp_path, monkeypatch, system):
    write(tmp_path / "a", "old a")
    write_store(lists(0), tmp_path / "s")
    before = content(tmp_path)
    for when in range(1, 9):
        with monkeypatch.context() as patched:
            calls = failing(patched, "rename", when)
            try:
                with transaction():
                    write(tmp_path / "a", "new a")
                    write(tmp_path / "b", "new b")
                    write_store(lists(1), tmp_path / "s")
                    write(tmp_path / "c", "new c")
            except OSError as error:
                assert os.path.dirname(error.filename) == str(tmp_path)  # noqa: PT017
                assert not os.path.basename(error.filename).startswith(".")  # noqa: PT017
                assert content(tmp_path) == before
            else:
                assert len(calls) < when
                break
    assert value(tmp_path / "s") == 1
    assert sorted(os.listdir(tmp_path)) == ["a", "b", "c", "s"]


def test_more_outputs_than_a_process_may_keep_open(tmp_path):
    with transaction():
        for n in range(outputs._MOST_LOCKS + 50):
            write(tmp_path / str(n), "x")
        assert len(os.listdir("/proc/self/fd")) < outputs._MOST_LOCKS + 100
    assert len(content(tmp_path)) == outputs._MOST_LOCKS + 50


def test_control_c_while_outputs_are_placed_waits_until_all_are(tmp_path, monkeypatch):
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.default_int_handler)
    real = os.rename

    def interrupted(*names):
        real(*names)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(os, "rename", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt), transaction():  # noqa: PT012
            write(tmp_path / "a", "new a")
            write(tmp_path / "b", "new b")
    finally:
        signal.signal(signal.SIGINT, before)
    assert sorted(content(tmp_path)) == ["a", "b"]


@pytest.mark.parametrize("name", ["out", "a b [x]", "x" * 255, "漢" * 85])
def test_leftovers_are_removed_by_the_next_write_unless_their_owner_lives(tmp_path, name):
    stem = outputs._stem(name)
    dead, alive = (tmp_path / f"{stem}.{digit * 12}.part" for digit in "ab")
    other = tmp_path / f".other.{HEX}.part"
    mine = tmp_path / f"{stem}.{HEX}.parts"
    for path in (dead, alive, other, mine):
        path.write_text("half")
    folder = tmp_path / f"{stem}.{'c' * 12}.part"
    folder.mkdir()
    (folder / "labels.npy").write_text("half")
    with alive.open() as owner:
        fcntl.flock(owner, fcntl.LOCK_EX)
        write(tmp_path / name, "new")
        assert sorted(tmp_path.iterdir()) == sorted([alive, other, mine, tmp_path / name])
    write(tmp_path / name, "newer")
    assert sorted(tmp_path.iterdir()) == sorted([other, mine, tmp_path / name])


def test_what_is_being_prepared_is_no_leftover(tmp_path):
    with atomic_write(str(tmp_path / "a")) as first:
        write(tmp_path / "a", "second")
        first.write(b"first")
    assert content(tmp_path) == {"a": b"first"}


@pytest.mark.parametrize("how", ["read", "write"])
def test_a_store_that_a_kill_left_under_a_hidden_name_is_put_back(tmp_path, how):
    path = tmp_path / "s.store"
    write_store(lists(7), path)
    path.rename(tmp_path / f".s.store.{HEX}.old")
    if how == "read":
        with pytest.warns(DataNote, match=r"s.store: restored from .s.store.0123456789ab.old, which"):
            assert load(path).features.to_dense()[0, 0] == 7
    else:
        with pytest.warns(DataNote, match="restored from"):
            write_store(lists(8), path)
        assert value(path) == 8
    assert os.listdir(tmp_path) == ["s.store"]


def test_half_a_store_is_not_put_back(tmp_path):
    path = tmp_path / "s.store"
    write_store(lists(7), path)
    (path / "labels.npy").unlink()
    path.rename(tmp_path / f".s.store.{HEX}.old")
    with pytest.raises(RerankError, match="no such file"):
        load(path)
    write_store(lists(8), path)
    remove_leftovers(str(path))
    assert os.listdir(tmp_path) == ["s.store"]


def test_a_store_that_cannot_be_put_back_is_named(tmp_path, monkeypatch):
    def refused(source, _):
        raise OSError(13, "Permission denied", source)

    path = tmp_path / "s.store"
    write_store(lists(7), path)
    old = path.rename(tmp_path / f".s.store.{HEX}.old")
    monkeypatch.setattr(os, "rename", refused)
    with pytest.raises(
        RerankError, match=r"s.store: an interrupted replacement left the store as .*old: rename"
    ):
        load(path)
    assert old.is_dir()


def test_a_reader_waits_for_a_writer_between_its_two_renames(tmp_path, monkeypatch):
    """Without an exchange, a reader may not put back what a living writer has just renamed."""
    path = tmp_path / "s.store"
    write_store(lists(0), path)
    monkeypatch.setattr(outputs, "exchanged", lambda a, b: False)
    real, seen = os.rename, []

    def rename(source, target):
        real(source, target)
        if target.endswith(".old"):
            old = outputs.leftovers(str(path), "old")
            seen.extend(outputs.lock(one) for one in old)

    monkeypatch.setattr(os, "rename", rename)
    write_store(lists(1), path)
    assert seen == [None]


def test_a_full_disk_is_reported_by_a_store(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("rerank.data.store.sync", full)
    with pytest.raises(RerankError, match=r"s.store: no space left on device$"):
        save(lists(0), str(tmp_path / "s.store"))
    assert os.listdir(tmp_path) == []


def test_a_file_in_the_place_of_a_store_stays(tmp_path):
    (tmp_path / "s").write_text("mine")
    with pytest.raises(FormatError, match="a file that is not a store"):
        write_store(lists(0), tmp_path / "s")
    assert content(tmp_path) == {"s": b"mine"}
