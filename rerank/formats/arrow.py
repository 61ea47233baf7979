"""pyarrow, imported when it is used, and its errors in one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rerank.core.errors import ConfigError, FormatError, RerankError, os_error


def arrow() -> Any:
    """Return pyarrow with its module ``parquet``; raise ConfigError if it is not installed."""
    try:
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError:
        advice = "format parquet needs the extra rerank[parquet]: pip install 'rerank[parquet]'"
        raise ConfigError(advice) from None
    return pyarrow


@contextmanager
def arrow_faults(source: str, pa: Any) -> Iterator[None]:
    """Turn what pyarrow raises into a FormatError that names the file."""
    try:
        yield
    except (RerankError, MemoryError):
        raise
    except (FileNotFoundError, IsADirectoryError, PermissionError) as error:
        raise os_error(source, error) from None
    except (pa.ArrowException, OSError, ValueError, KeyError, OverflowError) as error:
        detail = str(error).strip().split("\n")[0][:200] or type(error).__name__
        raise FormatError(source, None, f"damaged data ({detail})", "a Parquet file") from None
