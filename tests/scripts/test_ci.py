"""The scripts of continuous integration."""

from __future__ import annotations

import importlib.util
import socket
from pathlib import Path
from types import ModuleType

import pytest

CI = Path(__file__).resolve().parents[2] / "scripts" / "ci"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, CI / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_smoke_test_of_the_core_finds_no_other_package_and_no_network() -> None:
    smoke = script("smoke")
    assert smoke.CoreOnly.find_spec("numpy") is not None
    assert smoke.CoreOnly.find_spec("pytest") is None
    for event, arguments in (
        ("socket.getaddrinfo", ("localhost", 80)),
        ("socket.__new__", (None, socket.AF_INET6, socket.SOCK_STREAM, 0)),
    ):
        with pytest.raises(AssertionError, match="network"):
            smoke.no_network(event, arguments)
    smoke.no_network("socket.__new__", (None, socket.AF_UNIX, socket.SOCK_STREAM, 0))
