"""A hypothesis strategy for files with small mistakes in them."""

import random
from collections.abc import Callable, Sequence

from hypothesis import strategies as st

EDITS = ("insert", "replace", "delete", "byte", "repeat a line")


@st.composite
def mutated_files(
    draw: st.DrawFn,
    random_file: Callable[[random.Random], bytes],
    pieces: Sequence[bytes],
    least: int = 1,
    most: int = 3,
) -> bytes:
    """Draw the content of a file made by ``random_file`` with ``least`` to ``most`` edits.

    The strategy draws bytes, not a seed, so that a failing example shrinks and can be pasted into
    ``@example(...)``.
    """
    content = random_file(random.Random(draw(st.integers(0, 2**32))))
    for _ in range(draw(st.integers(least, most))):
        edit = draw(st.sampled_from(EDITS))
        if edit == "repeat a line":
            lines = content.split(b"\n")
            lines.insert(draw(st.integers(0, len(lines))), draw(st.sampled_from(lines)))
            content = b"\n".join(lines)
            continue
        at = draw(st.integers(0, len(content)))
        cut, new = 0, b""
        if edit == "byte":
            cut, new = 1, draw(st.binary(min_size=1, max_size=1))
        elif edit != "delete":
            new = draw(st.sampled_from(pieces))
        if edit in ("replace", "delete"):
            cut = draw(st.integers(1, 8))
        content = content[:at] + new + content[at + cut :]
    return content
