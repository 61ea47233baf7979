"""Cython kernels. They check nothing, allocate little and import nothing from rerank."""

try:
    from rerank.native import _cyutility as _cyutility  # type: ignore[attr-defined]  # all need it
except ImportError:
    import sys
    from pathlib import Path

    raise ImportError(
        f"the kernels of rerank are not built for Python {sys.version_info[0]}.{sys.version_info[1]}: run "
        f"'make build', or {Path(sys.executable).name} -m pip install -e {Path(__file__).parents[2]}",
        name=__name__,
    ) from None
