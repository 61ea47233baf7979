"""Lists on their way to a file, some at a time: what a format writes; lists in memory are one block."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import IO

from rerank.core.errors import RerankError
from rerank.core.files.write import atomic_write
from rerank.data.lists import CandidateLists

Watch = Callable[[CandidateLists], None]


class LearntError(Exception):
    """The lists must be written once more: what was learnt of the last blocks changes the first ones.

    Parameters
    ----------
    last : int
        The last column, which no line names; see ``ListStream``.
    """

    def __init__(self, last: int) -> None:
        super().__init__(last)
        self.last = last


class Printed:
    """Number and checksum of the bytes that went to standard output.

    If the same output is made once more, its beginning must be these bytes, and only the rest is printed.
    """

    def __init__(self) -> None:
        self.size = self._sum = 0  # zlib's CRC-32: every byte is summed, and this is the fastest
        self._file: IO[bytes] | None = None
        self._left = self._again = 0

    def on(self, file: IO[bytes]) -> Printed:
        """Return this for printing to a file, from the beginning of the output."""
        self._file, self._left, self._again = file, self.size, 0
        return self

    def write(self, content: bytes | memoryview) -> int:
        """Print what was not printed before; raises RerankError if the output began otherwise."""
        assert self._file is not None
        data = memoryview(content).cast("B")
        again, new = data[: self._left], data[self._left :]
        if again:
            self._again = zlib.crc32(again, self._again)
            self._left -= len(again)
            if not self._left and self._again != self._sum:
                raise OtherOutputError
        if new:
            self._file.write(new)
            self._sum = zlib.crc32(new, self._sum)
            self.size += len(new)
        return len(data)

    def flush(self) -> None:
        """Send what was printed."""
        assert self._file is not None
        self._file.flush()

    def check_end(self) -> None:
        """Raise OtherOutputError if the output is shorter than what was printed."""
        if self._left:
            raise OtherOutputError


class OtherOutputError(RerankError):
    """The beginning of an output that was printed differs from that of the same output made again."""

    def __init__(self) -> None:
        super().__init__("standard output: what was printed differs from the output made again")


class ListStream:
    """Lists that are written, block by block.

    Parameters
    ----------
    blocks : iterable of CandidateLists
        All blocks have the same columns.
    whole : bool
        Whether the only block has all lists.
    last : int, optional
        The last column if it is known that all of its values are 0; see ``unnamed_last``.
    printed : Printed, optional
        What was printed, if that is to be kept.
    watch : callable, optional
        Called with each block once it is written.

    Attributes
    ----------
    n_lists, n_items : int
        Lists and items of the blocks before.
    """

    def __init__(
        self,
        blocks: Iterable[CandidateLists],
        *,
        whole: bool = False,
        last: int | None = None,
        printed: Printed | None = None,
        watch: Watch | None = None,
    ) -> None:
        self._blocks, self.whole, self.last = blocks, whole, last
        self._printed, self._watch = printed, watch
        self.n_lists = self.n_items = 0
        self._file: IO[bytes] | None = None  # standard output

    @classmethod
    def of(cls, lists: CandidateLists) -> ListStream:
        """Return lists in memory as one block."""
        return cls([lists], whole=True)

    def watched(self, watch: Watch) -> ListStream:
        """Return the same blocks, with a function that is called with each."""
        return ListStream(self._blocks, whole=self.whole, last=self.last, printed=self._printed, watch=watch)

    def __iter__(self) -> Iterator[CandidateLists]:
        for lists in self._blocks:
            yield lists
            if self._watch is not None:
                self._watch(lists)
            self.n_lists += lists.n_lists
            self.n_items += lists.n_items
            if self._file is not None:
                self._file.flush()

    @contextmanager
    def open(self, path: str) -> Iterator[IO[bytes]]:
        """Yield the file to write, see ``atomic_write``; each block on standard output is sent at once."""
        with atomic_write(path) as file:
            if path != "-":
                yield file
                return
            printed = self._printed
            self._file = file if printed is None else printed.on(file)  # type: ignore[assignment]
            assert self._file is not None
            yield self._file
            if printed is not None:
                printed.check_end()
