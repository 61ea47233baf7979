"""Learners that sum over shards and do something while they are fitted; workers of a cluster import them."""

import os
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

from rerank.core.types import Floats
from rerank.learners.loglinear import ListNet, LogLoss


class Watching(ListNet):
    """ListNet whose losses call a function of the number of their calls so far, which files count."""

    act: Any = None

    def part(self, lists, inputs, surveys):
        return WatchedLoss(super().part(lists, inputs, surveys), type(self).act)


class WatchedLoss:
    def __init__(self, loss: LogLoss, act: Any) -> None:
        self.loss, self.facts, self.act = loss, loss.facts, act

    def __call__(self, w: Floats) -> tuple[float, Floats]:
        if self.act is not None:
            self.act()
        return self.loss(w)


class Killing(Watching):
    """Kills its worker in two of its calls."""

    @staticmethod
    def act() -> None:
        for n in (3, 15):
            with suppress(FileExistsError, FileNotFoundError):
                os.mkdir(f"call{n}" if len(os.listdir("calls")) >= n else "no/folder")
                os.kill(os.getpid(), signal.SIGKILL)
        Path("calls", str(len(os.listdir("calls")))).touch()
