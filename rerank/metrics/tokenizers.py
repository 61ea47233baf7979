"""Texts prepared for counting: sacrebleu's tokenizers by name, and lower case.

Every tokenizer but ``none`` is sacrebleu's own code (extra ``mt``), imported on first use. Tokens are then
separated by white space as ``str.split()`` defines it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from rerank.core.errors import ConfigError
from rerank.core.settings import setting
from rerank.data.columns.strings import StringColumn

# Those of sacrebleu that need no file from elsewhere (the mecab ones: sacrebleu's extras ja and ko).
Tokenizer = Literal["none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab"]


def tok_setting() -> Any:
    """Return the parameter ``tok`` of metrics of texts."""
    return setting("none", "sacrebleu's tokenizer; none = words between white space")


def lc_setting() -> Any:
    """Return the parameter ``lc`` of metrics of texts."""
    return setting(False, "count in lower case")


def prepared(column: StringColumn, tokenizer: str = "none", lowercase: bool = False) -> StringColumn:
    """Return the strings in lower case if that is asked for, then tokenized, as sacrebleu does it.

    Raises
    ------
    ConfigError
        If the tokenizer needs a package that is not installed.
    """
    if lowercase:
        column = _lowered(column)
    if tokenizer == "none":
        return column
    tokenize = _tokenizer(tokenizer)
    return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)


def sacrebleu_module(name: str, user: str) -> Any:
    """Return ``sacrebleu.NAME``; raises ConfigError that names ``user`` if sacrebleu is not installed."""
    try:
        return importlib.import_module(f"sacrebleu.{name}")
    except ImportError as error:
        if not error.name or error.name.partition(".")[0] != "sacrebleu":
            raise
        raise ConfigError(f"{user} needs the package sacrebleu: pip install 'rerank[mt]'") from None


def _lowered(column: StringColumn) -> StringColumn:
    data = column.data
    if len(data) and data.max() >= 0x80:  # rules beyond ASCII depend on neighbouring letters
        return StringColumn.from_strings(text.lower() for text in column)
    capital = (data >= ord("A")) & (data <= ord("Z"))
    return StringColumn(data + capital.astype(np.uint8) * np.uint8(32), column.offsets)


def _tokenizer(name: str) -> Callable[[str], str]:
    try:
        metrics = importlib.import_module("sacrebleu.metrics")
        tokenize: Callable[[str], str] = metrics.BLEU(tokenize=name, force=True).tokenizer
    except ImportError as error:
        if error.name and error.name.partition(".")[0] == "sacrebleu":
            needed = "the package sacrebleu: pip install 'rerank[mt]'"
        else:
            needed = f"more than is installed ({str(error).strip().splitlines()[0]})"
        raise ConfigError(f"tokenizer {name!r} needs {needed}") from None
    except RuntimeError as error:  # sacrebleu reports a missing extra this way
        reason = " ".join(str(error).split())
        raise ConfigError(f"tokenizer {name!r} needs more than is installed ({reason})") from None
    return tokenize
