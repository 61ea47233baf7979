"""Makes the modules of scripts/ importable, as when a script is run; small sets in the shared form."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "scripts"))

WORDS = ("we", "see", "that", "the", "house", "and", "a", "bird", "are", "here", "there", "today")
SETS = ("syscomb-wmt10", "moses-europarl", "asr-pocketsphinx")
LONGEST = 10


def write_part(folder: Path, part: str, seed: int, n_lists: int) -> None:
    """Lists of 6 to 10 spoilt copies of their references; of three features one knows."""
    rng = np.random.default_rng(seed)
    lines, references = [], []
    for i in range(n_lists):
        reference = [WORDS[k] for k in rng.integers(0, len(WORDS), rng.integers(6, 12))]
        references.append(" ".join(reference))
        for _ in range(LONGEST if i == 0 else rng.integers(6, LONGEST + 1)):
            spoilt = rng.random(len(reference)) < rng.choice([0.0, 0.2, 0.5])
            text = " ".join("oh" if bad else word for word, bad in zip(reference, spoilt, strict=True))
            knows = -float(spoilt.sum()) + rng.normal()
            lines.append(f"{i} ||| {text} ||| lm= {knows:.3f} tm= {rng.normal():.3f} w= -1 ||| {knows:.3f}")
    for name, rows in (("nbest", lines), ("ref", references)):
        with gzip.open(folder / f"{part}.{name}.gz", "wt", encoding="utf-8") as file:
            file.write("".join(f"{row}\n" for row in rows))


@pytest.fixture(scope="session")
def text_sets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with small sets of the names and the form of the shared ones, not to be written to."""
    data = tmp_path_factory.mktemp("sets")
    for number, name in enumerate(SETS):
        (data / name).mkdir()
        write_part(data / name, "dev", 10 * number, 25)
        write_part(data / name, "test", 10 * number + 1, 20)
    return data
