"""Headings of ``--help``: what is needed first, then choices, tests and outputs, and reading last."""

from __future__ import annotations

FIRST = ""  # under "Options"; an option that declares no group is here
LISTS = "Training lists"
CHOICE = "Choice and tuning"
TESTS = "Tests"
OUTPUTS = "Further outputs"
RUNNING = "Running"
READING = "Reading"
ORDER = (FIRST, LISTS, CHOICE, TESTS, OUTPUTS, RUNNING, READING)

# The order of options that are needed first; the others follow as they are declared.
NEEDED = ("--data", "--dev", "--out", "--learner", "--metric")


def group_of(parameter: object) -> str:
    """Return the heading of an option, the first one if none is declared or the declared one is unknown."""
    declared = getattr(parameter, "rich_help_panel", None) or FIRST
    if declared == FIRST and getattr(parameter, "name", "") == "help":
        return RUNNING
    return declared if declared in ORDER else FIRST


def place_of(flags: list[str]) -> int:
    """Return the place of an option among those that are needed first."""
    return next((NEEDED.index(flag) for flag in flags if flag in NEEDED), len(NEEDED))
