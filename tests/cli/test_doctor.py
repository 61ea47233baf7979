"""``rerank doctor``: what a bug report needs."""

import json
import shutil
import subprocess
from importlib import metadata

import pytest

from rerank._version import __version__
from rerank.cli.doctor import version_line


def found(result) -> dict[str, str]:
    return {row["what"]: row["found"] for row in json.loads(result.out)}


def test_it_names_versions_extras_and_limits(rerank, monkeypatch):
    monkeypatch.setenv("RERANK_MEMORY", "3G")
    result = rerank("doctor", "--as", "json")
    facts = found(result)
    assert facts["rerank"].startswith(f"{__version__} in ")
    assert facts["numpy"] == metadata.version("numpy")
    assert facts["kernels"] == "built"
    assert "RERANK_MEMORY=3G" in facts["environment"]
    assert facts["memory"].endswith("GB available")
    assert facts["mt"].startswith("sacrebleu ")
    text = rerank("doctor").out
    assert "".join(text.split()).startswith("".join(f"rerank {facts['rerank']}".split()))  # long paths wrap
    assert "Paste this" in text.splitlines()[-1]


def test_a_limit_that_is_no_size_is_a_fault(rerank, monkeypatch):
    monkeypatch.setenv("RERANK_MEMORY", "much")
    result = rerank("doctor", code=1)
    assert "FAULT: RERANK_MEMORY: found 'much'" in result.out
    assert rerank("doctor", "--as", "csv", code=1).out.count(",no\n") == 1


def test_a_cluster_that_is_not_there_is_a_fault(rerank):
    pytest.importorskip("distributed")
    result = rerank("doctor", "--cluster", "tcp://127.0.0.1:1", code=1)
    assert "FAULT: tcp://127.0.0.1:1: the scheduler does not answer" in " ".join(result.out.split())


def test_an_extra_that_is_absent_says_how_it_is_installed(rerank, monkeypatch):
    version = metadata.version

    def without(name):
        if name == "sacrebleu":
            raise metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(metadata, "version", without)
    assert found(rerank("doctor", "--as", "json"))["mt"] == 'sacrebleu absent (pip install "rerank[mt]")'


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_the_version_names_the_commit_of_a_checkout(tmp_path):
    git = [
        "git",
        "-c",
        "user.name=a",
        "-c",
        "user.email=b",
        "-c",
        "commit.gpgsign=false",
        "-C",
        str(tmp_path),
    ]
    (tmp_path / "a").write_text("1")
    assert version_line(tmp_path) == f"rerank {__version__}"
    (tmp_path / ".git").mkdir()  # which is no repository
    assert version_line(tmp_path) == f"rerank {__version__}"
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "one"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    assert version_line(tmp_path) == f"rerank {__version__} (commit {head})"
    (tmp_path / "a").write_text("2")
    assert version_line(tmp_path) == f"rerank {__version__} (commit {head} with changes)"
