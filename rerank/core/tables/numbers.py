"""Numbers of evaluations as tables have them: "-" if there is none."""

from __future__ import annotations


def value_text(value: float | None, digits: int) -> str:
    """Return a value in so many decimals."""
    return "-" if value is None or value != value else f"{value:z.{digits}f}"


def interval_text(ci: tuple[float, float] | None, digits: int) -> str:
    """Return an interval in one decimal less."""
    if ci is None:
        return "-"
    low, high = (f"{end:z.{max(1, digits - 1)}f}" for end in ci)
    if low.startswith("-"):
        return f"{low} to {high}"
    if digits < 3:  # a scale of 0 to 100
        return f"{low}-{high}"
    return f"{low.removeprefix('0')}-{high.removeprefix('0')}"


def p_text(p: float | None) -> str:
    """Return a p-value in three decimals."""
    if p is None:
        return "-"
    return "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def signed_text(value: float | None, digits: int) -> str:
    """Return a difference with its sign."""
    return "-" if value is None or value != value else f"{value:+.{digits}f}"


def signed_interval(ci: tuple[float, float] | None, digits: int) -> str:
    """Return the interval of a difference."""
    return "-" if ci is None else f"{ci[0]:+.{digits}f} to {ci[1]:+.{digits}f}"


def lists_text(counts: tuple[int, int, int] | None) -> str:
    """Return the lists won, tied and lost."""
    return "-" if counts is None else "/".join(map(str, counts))


def gap_text(gap: float | None) -> str:
    """Return a share in percent."""
    return "-" if gap is None else f"{100 * gap:z.0f}%"
