"""Formats of candidate lists: a reader beside its writer, one file each."""

from __future__ import annotations

from rerank.formats.base import FORMATS, Format, ReadOptions, detect, format_of, load

__all__ = ["FORMATS", "Format", "ReadOptions", "detect", "format_of", "load"]
