"""Weights of BLLIP's reranker, in and out."""

import gzip
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import DataError, DataNote, FormatError
from rerank.formats import load
from rerank.formats import weights as formats
from rerank.formats.weights import WeightOptions
from rerank.models.linear import LinearModel

Weights = tuple[list[str], npt.NDArray[np.float64]]

NAMES = "0\tNLogP 0\n1\tRightBranch 0\n4\tRule:0 (NP DT)\n"


def read_weights(path: str, feature_names: str | None = None) -> Weights:
    return formats.read_weights(path, "bllip", WeightOptions(feature_names))


def write_weights(
    path: str, names: list[str], weights: npt.NDArray[np.float64], feature_names: str | None = None
) -> None:
    formats.write_weights(path, names, weights, "bllip", WeightOptions(feature_names))


def file(tmp_path: Path, name: str, text: str) -> str:
    path = tmp_path / name
    path.write_text(text)
    return str(path)


def test_read(tmp_path: Path) -> None:
    path = file(tmp_path, "weights", "0=-0.5\n\n2\n3=1e-3 \r\n")
    names, weights = read_weights(path)
    assert names == ["0", "1", "2", "3"]
    assert weights.tolist() == [-0.5, 0.0, 1.0, 0.001]


def test_read_in_any_order_and_packed(tmp_path: Path) -> None:
    path = tmp_path / "weights.gz"
    path.write_bytes(gzip.compress(b"4=2\n0=1"))
    assert read_weights(str(path))[1].tolist() == [1.0, 0.0, 0.0, 0.0, 2.0]


def test_names_come_from_the_extractors_list(tmp_path: Path) -> None:
    names_path = file(tmp_path, "features.txt", NAMES)
    names, weights = read_weights(file(tmp_path, "weights", "1=2\n"), names_path)
    assert names == ["NLogP 0", "RightBranch 0", "2", "3", "Rule:0 (NP DT)"]
    assert weights.tolist() == [0, 2, 0, 0, 0]
    with pytest.raises(DataError, match="found 5 feature names, expected 8"):
        read_weights(file(tmp_path, "weights", "7=2\n"), names_path)


@pytest.mark.parametrize(
    ("text", "line", "found", "expected"),
    [
        ("", None, "no weights", "lines 'id=weight'"),
        ("\n \n", None, "no weights", "lines 'id=weight'"),
        ("0=1\nx=2\n", 2, "'x=2'", "id=weight, ids from 0"),
        ("-1=2\n", 1, "'-1=2'", "id=weight, ids from 0"),
        ("1 = 2\n", 1, "'1 = 2'", "id=weight, ids from 0"),
        ("1=\n", 1, "weight of feature 1: ''", "a number"),
        ("1=2=3\n", 1, "weight of feature 1: '2=3'", "a number"),
        ("1=inf\n", 1, "weight of feature 1: 'inf'", "a finite number"),
        ("1=1e999\n", 1, "weight of feature 1: '1e999', too large for float64", "a finite number"),
        ("1=1_0\n", 1, "weight of feature 1: '1_0'", "a number"),
        ("1=2\n\n01=2\n", 3, "feature 1 again", "each feature once"),
        ("100000000=2\n", 1, "feature '100000000'", "an id below 100000000"),
    ],
)
def test_a_fault_names_its_line(
    tmp_path: Path, text: str, line: int | None, found: str, expected: str
) -> None:
    with pytest.raises(FormatError) as caught:
        read_weights(file(tmp_path, "weights", text))
    assert (caught.value.line, caught.value.found, caught.value.expected) == (line, found, expected)


def test_written_weights_are_short_and_a_1_is_spelt_out(tmp_path: Path) -> None:
    path = tmp_path / "weights"
    write_weights(str(path), ["0", "1", "2", "7"], np.array([-0.1, 0.0, 1.0, 1e22]))
    assert path.read_text() == "0=-0.1\n2=1\n7=1e+22\n"


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=8))
def test_round_trip(tmp_path_factory: pytest.TempPathFactory, values: list[float]) -> None:
    path = str(tmp_path_factory.getbasetemp() / "weights")
    weights = np.array([*values, 1.5])
    write_weights(path, [str(j) for j in range(len(weights))], weights)
    names, again = read_weights(path)
    assert names == [str(j) for j in range(len(weights))]
    assert np.array_equal(again, weights)


def test_names_are_turned_to_ids(tmp_path: Path) -> None:
    names_path = file(tmp_path, "features.txt", NAMES)
    path = tmp_path / "weights"
    names = ["Rule:0 (NP DT)", "3", "NLogP 0", "other"]
    write_weights(str(path), names, np.array([0.5, 2.0, -1.0, 0.0]), names_path)
    assert path.read_text() == "0=-1\n3=2\n4=0.5\n"
    with pytest.raises(DataError, match="does not name feature 'other'"):
        write_weights(str(path), names, np.ones(4), names_path)
    with pytest.raises(DataError, match=r"feature 'Rule:0 .NP DT.' has no id"):
        write_weights(str(path), names, np.ones(4))
    with pytest.raises(DataError, match="the weight of feature '0' is not finite"):
        write_weights(str(path), ["0"], np.array([np.nan]))
    with pytest.raises(DataError, match="1 weight for 2 features"):
        write_weights(str(path), ["0", "1"], np.ones(1))
    assert path.read_text() == "0=-1\n3=2\n4=0.5\n"


def test_a_model_of_weights_scores_lists(tmp_path: Path) -> None:
    """Ids of weights and of features are the same columns, even if neither has a feature 0."""
    lists = load(file(tmp_path, "set.bllip", "S=1\nG=2 N=2 P=2 W=2 1=5 2, P=2 W=1 3=7,\n"))
    model = LinearModel(*read_weights(file(tmp_path, "weights", "1=10\n2=1\n")))
    with pytest.warns(DataNote, match=r"1 feature that the model does not know \(3\), ignored"):
        assert model.score(lists).tolist() == [51.0, 0.0]
