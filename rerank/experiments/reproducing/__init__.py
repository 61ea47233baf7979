"""The numbers of a text, regenerated: commands are run, and their numbers stand beside the printed ones."""

from __future__ import annotations

from rerank.experiments.reproducing.config import Reproduction, is_reproduction, read_reproduction
from rerank.experiments.reproducing.running import reproduce

__all__ = ["Reproduction", "is_reproduction", "read_reproduction", "reproduce"]
