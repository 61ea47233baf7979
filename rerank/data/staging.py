"""Several stores and files that come to be together or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from rerank.data.store import move_store
from rerank.errors import ConfigError
from rerank.files import os_error


@contextmanager
def placed_together(folder: str) -> Iterator[str]:
    """A folder whose stores and files move to ``folder`` when the block ends, none of them if it raises.

    ``folder`` is made where it is not there. RerankError where it cannot be, or a file not written.
    """
    if not folder:
        raise ConfigError("out: found no name, expected that of a folder")
    there = os.path.isdir(folder)
    stage = os.path.join(folder, f".{secrets.token_hex(6)}.part")
    try:
        os.makedirs(stage)
    except OSError as error:
        raise os_error(folder, error) from None
    try:
        yield stage
        # Files first: only they can be refused here, stores were looked at before.
        for name in sorted(os.listdir(stage), key=lambda name: (name.endswith(".store"), name)):
            source, target = os.path.join(stage, name), os.path.join(folder, name)
            if os.path.isdir(source):
                move_store(source, target)
            else:
                os.replace(source, target)
    except OSError as error:  # a full disk, a folder in a file's place
        raise os_error(folder, error) from None
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if not there:
            with suppress(OSError):  # what was placed in it stays
                os.rmdir(folder)
