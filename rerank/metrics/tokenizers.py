"""Texts made ready for counting: sacrebleu's tokenizers by name, and lower case.

Every one but ``none`` is sacrebleu's own code (extra ``mt``), imported when it is first asked for.
Tokens are then separated by white space: what ``str.split()`` says it is.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable

import numpy as np

from rerank.data.columns.strings import StringColumn
from rerank.errors import ConfigError
from rerank.registry import did_you_mean

# Those of sacrebleu that need no file from elsewhere (the mecab ones: sacrebleu's extras ja and ko).
TOKENIZERS = ("none", "13a", "intl", "char", "zh", "ja-mecab", "ko-mecab")


def check_tokenizer(name: str) -> str:
    """``name`` if it is a tokenizer's; raises ConfigError that names the nearest otherwise."""
    if name not in TOKENIZERS:
        raise ConfigError(f"unknown tokenizer {name!r}; {did_you_mean(name, TOKENIZERS)}")
    return name


def prepared(column: StringColumn, tokenizer: str = "none", lowercase: bool = False) -> StringColumn:
    """The strings in lower case if asked for, then tokenized, as sacrebleu does it.

    Raises ConfigError where the tokenizer needs a package that is not installed.
    """
    if lowercase:
        column = _lowered(column)
    if tokenizer == "none":
        return column
    tokenize = _tokenizer(tokenizer)
    return StringColumn.from_strings(tokenize(text.rstrip()) for text in column)


def _lowered(column: StringColumn) -> StringColumn:
    data = column.data
    if len(data) and data.max() >= 0x80:  # the rules beyond ASCII depend on the letters around
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
    except RuntimeError as error:  # sacrebleu's own way to say so
        reason = " ".join(str(error).split())
        raise ConfigError(f"tokenizer {name!r} needs more than is installed ({reason})") from None
    return tokenize
