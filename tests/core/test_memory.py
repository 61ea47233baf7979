"""Memory left: the least of the bounds counts, and what exceeds it is refused in one line."""

import os
import resource
import subprocess
import sys

import pytest

from rerank.core import memory
from rerank.core.errors import ConfigError, RerankError

HUGE = 2**63 - 1


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine of files: 8 GB free, no control group, no limit of the address space."""
    proc, groups = tmp_path / "proc", tmp_path / "cgroup"
    (proc / "self").mkdir(parents=True)
    groups.mkdir()
    (proc / "meminfo").write_text("MemTotal: 16000000 kB\nMemAvailable: 8000000 kB\nSwapFree: 99999999 kB\n")
    (proc / "self" / "statm").write_text("50000 30000 10000 1 0 9 0\n")
    monkeypatch.setattr(memory, "_PROC", proc)
    monkeypatch.setattr(memory, "_GROUPS", groups)
    monkeypatch.setattr(memory, "_address_space", lambda: HUGE)
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    return tmp_path


def group(folder, names, limit, usage, droppable):
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in zip(names, (limit, usage, droppable), strict=True):
        (folder / name).write_text(f"{text}\n")


V2 = ("memory.max", "memory.current", "memory.stat")
V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")


def test_free_memory_of_the_machine_without_swap(system):
    assert memory.available() == 8_000_000 * 1024


def test_the_limit_of_a_parent_group_counts(system):
    (system / "proc/self/cgroup").write_text("0::/user/job/step\n")
    group(system / "cgroup", V2, "max", 10**10, "anon 5\ninactive_file 0")
    group(system / "cgroup/user/job", V2, 10**9, 4 * 10**8, "anon 5\ninactive_file 100000000")
    group(system / "cgroup/user/job/step", V2, "max", 10**8, "inactive_file 0")
    assert memory.available() == 10**9 - 3 * 10**8


def test_first_version_of_control_groups_as_seen_in_a_container(system):
    (system / "proc/self/cgroup").write_text("9:name=systemd:/\n4:cpu,memory:/docker/abc\n0::/\n")
    group(system / "cgroup/memory", V1, 5 * 10**8, 2 * 10**8, "inactive_file 7\ntotal_inactive_file 50000000")
    assert memory.available() == 35 * 10**7


def test_a_group_over_its_limit_leaves_nothing(system):
    (system / "proc/self/cgroup").write_text("0::/\n")
    group(system / "cgroup", V2, 10**6, 10**8, "inactive_file 0")
    assert memory.available() == 0


@pytest.mark.parametrize(
    ("text", "limit"),
    [
        ("1G", 10**9),
        ("1.5g", 15 * 10**8),
        ("700 MB", 7 * 10**8),
        ("300MiB", 3 * 10**8),
        ("200000000", 2 * 10**8),
    ],
)
def test_the_environment_variable_bounds_the_whole_process(system, monkeypatch, text, limit):
    monkeypatch.setenv(memory.VARIABLE, text)
    assert memory.available() == limit - 20000 * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("text", ["lots", "-1G", "1e9", "5X", "nan"])
def test_a_wrong_size_is_an_error(system, monkeypatch, text):
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(ConfigError, match=r"RERANK_MEMORY: found .*, expected a size such as 500M or 2G"):
        memory.available()


def test_a_need_that_fits_passes(system):
    memory.require(8_000_000 * 1024, "a matrix")


def test_a_small_need_passes_without_a_question(monkeypatch):
    monkeypatch.setattr(memory, "available", lambda: 1 / 0)
    memory.require(memory.SMALL, "a matrix")


def test_a_need_beyond_the_limit_is_one_line_with_the_help(memory_left):
    memory_left(3_140_000_000)
    with pytest.raises(RerankError) as caught:
        memory.require(16 * 10**9, "a dense matrix of 1,000,000 x 2,000", "--layout sparse needs less")
    assert str(caught.value) == (
        "needs 16 GB for a dense matrix of 1,000,000 x 2,000; "
        "3.1 GB are available; --layout sparse needs less"
    )


@pytest.mark.parametrize(
    ("n_bytes", "expected"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1 kB"),
        (1_540_000, "1.5 MB"),
        (64_900_000, "65 MB"),
        (9_960_000, "10 MB"),
        (745 * 10**9, "745 GB"),
        (10**30, "1,000,000,000,000 EB"),
        (10**400, None),
    ],
)
def test_sizes_in_human_units(n_bytes, expected):
    text = memory.size(n_bytes)
    assert text.endswith(" EB") if expected is None else text == expected


def test_another_system_knows_its_physical_memory(system, monkeypatch):
    (system / "proc/meminfo").unlink()
    assert memory.available() == os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    monkeypatch.delattr(os, "sysconf")
    assert memory.available() == HUGE


def test_the_limit_of_the_address_space_counts():
    code = "from rerank.core import memory; print(memory.available())"
    limit = 10**9
    done = subprocess.run(
        [sys.executable, "-c", code],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert 0 < int(done.stdout) < limit
