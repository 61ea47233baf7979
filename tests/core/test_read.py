"""Files in and out: compression, standard streams, errors of one line, all or nothing."""

import bz2
import gzip
import io
import lzma
import os
import random
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from rerank.core import memory
from rerank.core.errors import ConfigError, FormatError, RerankError
from rerank.core.files import read as files
from rerank.core.files.read import inflated_bytes, inputs_opened_once, plain_suffix, read_bytes, read_head
from rerank.core.files.write import atomic_write, check_target

CONTENT = b"1 qid:1 1:0.5\n" * 20000
NOBODY = 65534


def zstd(data: bytes) -> bytes:
    return bytes(pytest.importorskip("zstandard").ZstdCompressor().compress(data))


ARCHIVES = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress, "zstd": zstd}


@pytest.mark.parametrize("size", [0, 3, 1000, len(CONTENT)])
def test_plain_files(tmp_path: Path, size: int) -> None:
    path = tmp_path / "plain"
    path.write_bytes(CONTENT[:size])
    assert bytes(read_bytes(str(path))) == CONTENT[:size]
    assert read_head(str(path), 10) == CONTENT[: min(size, 10)]


@pytest.mark.parametrize("name", ARCHIVES)
def test_archives_are_recognised_by_their_bytes(tmp_path: Path, name: str) -> None:
    path = tmp_path / "no-suffix"
    for content in (b"", b"x", CONTENT):
        path.write_bytes(ARCHIVES[name](content))
        assert bytes(read_bytes(str(path))) == content
        assert CONTENT.startswith(read_head(str(path), 20)) or content == b"x"
    path.write_bytes(ARCHIVES[name](CONTENT) + ARCHIVES[name](b"more"))
    assert bytes(read_bytes(str(path))) == CONTENT + b"more"


@pytest.mark.parametrize("name", ["gzip", "xz"])
def test_padding_between_members(tmp_path: Path, name: str) -> None:
    path = tmp_path / "padded"
    path.write_bytes(ARCHIVES[name](b"one") + bytes(200000) + ARCHIVES[name](b"two") + bytes(8))
    assert bytes(read_bytes(str(path))) == b"onetwo"


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_is_cut_off_or_damaged(tmp_path: Path, name: str) -> None:
    path = tmp_path / "cut"
    whole = ARCHIVES[name](random.Random(7).randbytes(2000))
    path.write_bytes(whole[:-6])
    with pytest.raises(FormatError) as caught:
        read_bytes(str(path))
    assert str(caught.value) == f"{path}: found {name} data that is cut off, expected a whole {name} file"
    path.write_bytes(whole + b"trailing garbage")
    with pytest.raises(FormatError, match=f"found damaged {name} data .*, expected a whole {name} file"):
        read_bytes(str(path))


CUT_OFF_LATER = """
import os, sys
from rerank.core.files.read import read_bytes
data = read_bytes(sys.argv[1])
os.truncate(sys.argv[1], 0)
print(bytes(data[-4:]))
"""


def test_a_file_that_is_cut_off_later_stays_as_it_was_read(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(CONTENT)
    command = [sys.executable, "-c", CUT_OFF_LATER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "b'0.5\\n'\n"), done.stderr


def test_a_file_that_is_cut_off_while_it_is_read_ends_there(tmp_path: Path) -> None:
    path = tmp_path / "plain"
    path.write_bytes(CONTENT)
    with path.open("rb") as file:
        assert bytes(files._read_large(file, len(CONTENT) + 99, str(path))) == CONTENT
    with path.open("rb") as file:  # grown since its size was asked for
        assert bytes(files._read_large(file, 70_000, str(path))) == CONTENT[:70_000]


@pytest.mark.parametrize("name", ["plain", *ARCHIVES])
def test_content_that_would_not_fit_into_memory_is_refused(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_GROWTH", 1 << 20)
    monkeypatch.setattr(memory, "SMALL", 1 << 20)
    monkeypatch.setenv("RERANK_MEMORY", "1k")
    path = tmp_path / "large"
    path.write_bytes(ARCHIVES.get(name, bytes)(bytes(1 << 24)))
    with pytest.raises(RerankError, match=rf"^needs .* for the content of {path}; 0 bytes are available"):
        read_bytes(str(path))


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_inflates_to_very_much_is_refused_unless_the_variable_allows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    path, size = tmp_path / "bomb", 17 << 22
    path.write_bytes(ARCHIVES[name](b"\n" * (1 << 22)) * 17)
    how = r"at most 67 MB or 500 times its size \(RERANK_INFLATED=10G reads up to 10 GB of content\)"
    with pytest.raises(
        FormatError, match=rf"^{path}: found \d+ MB or more in .* {name} data, expected {how}$"
    ):
        read_bytes(str(path))
    monkeypatch.setenv("RERANK_INFLATED", "72M")
    assert len(read_bytes(str(path))) == size
    monkeypatch.setenv("RERANK_INFLATED", "much")
    with pytest.raises(ConfigError, match="RERANK_INFLATED: found 'much', expected a size such as 500M"):
        read_bytes(str(path))


@pytest.mark.parametrize("name", ARCHIVES)
def test_content_that_is_compressed_two_hundred_times_is_read(tmp_path: Path, name: str) -> None:
    content = random.Random(1).randbytes(21_000) + bytes((1 << 22) - 21_000)
    path = tmp_path / "logs"
    path.write_bytes(ARCHIVES[name](content) * 17)
    assert 150 < (17 << 22) / path.stat().st_size < 250
    assert read_bytes(str(path)) == content * 17


def test_an_archive_in_an_archive_may_inflate_to_less() -> None:
    with pytest.raises(FormatError, match=r"^T1: found 8\.4 MB or more in .*, expected at most 8\.4 MB"):
        inflated_bytes(gzip.compress(bytes(9 << 20)), "T1")


@pytest.mark.parametrize("name", ARCHIVES)
def test_the_head_of_an_archive_is_inflated_no_further_than_needed(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb"
    path.write_bytes(ARCHIVES[name](bytes(1 << 25)))
    tracemalloc.start()
    assert read_head(str(path), 1000) == bytes(1000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 24


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    for data in (CONTENT, gzip.compress(CONTENT)):
        for stream in (io.BytesIO(data), io.BufferedReader(io.BytesIO(data))):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(stream))
            with inputs_opened_once():
                assert CONTENT.startswith(read_head("-"))
                assert bytes(read_bytes("-")) == CONTENT
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(gzip.compress(CONTENT)[:-3])))
    with pytest.raises(FormatError, match=r"^<stdin>: found gzip data that is cut off"):
        read_bytes("-")


def test_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "fifo"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"1 1:1\n",))
    writer.start()
    assert bytes(read_bytes(str(path))) == b"1 1:1\n"
    writer.join()


def test_what_cannot_be_opened_is_a_one_line_error(tmp_path: Path) -> None:
    with pytest.raises(RerankError, match=f"^{tmp_path}/none: no such file or folder$"):
        read_bytes(str(tmp_path / "none"))
    with pytest.raises(RerankError, match=f"^{tmp_path}: is a folder, expected a file$"):
        read_bytes(str(tmp_path))
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(RerankError, match=r"/x: not a directory$"):
        read_bytes(str(tmp_path / "file" / "x"))


@pytest.fixture
def own_folder() -> Iterator[Path]:
    """A folder of an ordinary user, as whom the test runs even if root started the suite."""
    if not hasattr(os, "setresuid"):
        pytest.skip("needs setresuid")
    root = os.geteuid() == 0
    if root:
        os.setresuid(NOBODY, NOBODY, 0)
    try:
        if not os.access(tempfile.gettempdir(), os.W_OK, effective_ids=True):
            pytest.skip("needs a temporary folder that an ordinary user may write")
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)
            os.chmod(folder, 0o700)
    finally:
        if root:
            os.setresuid(0, 0, 0)


def test_no_permission(own_folder: Path) -> None:
    path = own_folder / "secret"
    path.write_bytes(b"x")
    path.chmod(0)
    with pytest.raises(RerankError, match=r"secret: permission denied$"):
        read_bytes(str(path))


@pytest.mark.parametrize(
    ("path", "suffix"),
    [
        ("a/b.TXT", ".txt"),
        ("b.svm.gz", ".svm"),
        ("b.gz", ""),
        ("b", ""),
        ("a.d/b", ""),
        ("x.letor.zst", ".letor"),
    ],
)
def test_plain_suffix(path: str, suffix: str) -> None:
    assert plain_suffix(path) == suffix


@pytest.mark.parametrize("suffix", ["", ".gz", ".bz2", ".xz", ".zst"])
def test_written_files_read_back(tmp_path: Path, suffix: str) -> None:
    if suffix == ".zst":
        pytest.importorskip("zstandard")
    path = tmp_path / f"out.txt{suffix}"
    for _ in range(2):
        with atomic_write(str(path)) as file:
            file.write(CONTENT[:1000])
            file.write(CONTENT[1000:])
        assert bytes(read_bytes(str(path))) == CONTENT
    assert (path.stat().st_size < len(CONTENT)) == (suffix != "")
    assert list(tmp_path.iterdir()) == [path]


def test_nothing_is_left_of_a_write_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "out.txt.gz"
    path.write_bytes(b"before")
    for error in (ValueError, KeyboardInterrupt):
        with pytest.raises(error), atomic_write(str(path)) as file:  # noqa: PT012
            file.write(b"half")
            assert path.read_bytes() == b"before"
            raise error
    assert path.read_bytes() == b"before"
    assert list(tmp_path.iterdir()) == [path]


def test_modes_of_written_files(tmp_path: Path) -> None:
    path = tmp_path / "out"
    umask = os.umask(0o027)
    try:
        with atomic_write(str(path)) as file:
            file.write(b"x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        with atomic_write(str(path)) as file:
            file.write(b"y")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    finally:
        os.umask(umask)


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with atomic_write(str(tmp_path / "link")) as file:
        file.write(b"x")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"x"


def test_devices_and_standard_output(capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    with atomic_write(os.devnull) as file:
        file.write(b"x")
    with atomic_write("-") as file:
        file.write(b"to stdout")
    assert capfdbinary.readouterr().out == b"to stdout"
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_what_cannot_be_written_is_a_one_line_error(tmp_path: Path) -> None:
    for path, message in (
        (tmp_path / "none" / "out", f"no folder {tmp_path}/none to write to"),
        (tmp_path, "is a folder, expected a file"),
    ):
        with pytest.raises(RerankError) as caught, atomic_write(str(path)):
            pytest.fail("the block must not run")
        assert str(caught.value) == f"{path}: {message}"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no device that is full")
def test_a_full_disk_is_reported() -> None:
    with (
        pytest.raises(RerankError, match=r"^/dev/full: no space left on device$"),
        atomic_write("/dev/full") as out,
    ):
        out.write(CONTENT)


def test_targets_are_checked_without_writing(tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.write_bytes(b"x")
    for path in (str(old), str(tmp_path / "new"), "new", "-", "/dev/null"):
        check_target(path)
    for path, message in {
        str(tmp_path): r"is a folder, expected a file$",
        str(tmp_path / "none" / "new"): r"none/new: no folder .*none to write to$",
    }.items():
        with pytest.raises(RerankError, match=message):
            check_target(path)
    assert (list(tmp_path.iterdir()), old.read_bytes()) == ([old], b"x")


def test_a_target_without_permission_is_reported_before_it_is_written(own_folder: Path) -> None:
    own_folder.chmod(0o500)
    with pytest.raises(RerankError, match=r"new: permission denied$"):
        check_target(str(own_folder / "new"))
