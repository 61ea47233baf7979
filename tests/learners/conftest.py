"""Real lists that tuners are tried on."""

import pytest

from rerank.formats import load


@pytest.fixture(scope="session")
def system_combination(shared_data):
    """Lists to tune and to test on, with references; the first stage's BLEU is 18.92 and 18.50."""
    folder = shared_data / "syscomb-wmt10"
    if not folder.is_dir():
        pytest.skip(f"no {folder}")
    return tuple(
        load(str(folder / f"{part}.nbest.gz"), "moses", refs=[str(folder / f"{part}.ref.gz")])
        for part in ("dev", "test")
    )
