"""Figures: the same bytes twice, texts as they are, whatever the numbers."""

import sys
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from rerank.core.errors import ConfigError, DataError
from rerank.core.figures import check_figure, point_map

pytest.importorskip("matplotlib")

STRANGE = ["_hidden", "$x^", "a\nb", "<&>", "日本語", "\udc80", "", "a" * 80]


def chart(path):
    point_map(str(path), np.array([[0.0, 1.0], [2.0, 3.0]]), ["a", "b"], groups=["x", "y"])
    return path.read_bytes()


def texts(data):
    return [node.text for node in ET.fromstring(data).iter("{http://www.w3.org/2000/svg}text")]


def test_a_map_has_the_same_bytes_twice_and_its_texts(tmp_path):
    points = np.random.default_rng(0).standard_normal((40, 2))
    names = [f"list {i}" for i in range(40)]
    groups = ["train"] * 25 + ["test"] * 15
    found = []
    for name in ("a.svg", "b.svg"):
        point_map(str(tmp_path / name), points, names, groups=groups, title="lists", x_label="one")
        found.append((tmp_path / name).read_bytes())
    assert found[0] == found[1]
    assert {"list 0", "train", "test", "lists", "one"} <= set(texts(found[0]))
    assert b"date" not in found[0].lower()
    assert b"Matplotlib v" not in found[0]


def test_strange_names(tmp_path):
    points = np.arange(2.0 * len(STRANGE)).reshape(-1, 2)
    point_map(str(tmp_path / "b.svg"), points, STRANGE, groups=STRANGE)
    labels = texts((tmp_path / "b.svg").read_bytes())
    assert labels.count("$x^") == 2
    assert {"_hidden", "$x^", "a\\nb", "<&>", "日本語", "\\udc80"} <= set(labels)
    assert "a" * 15 + "..." + "a" * 6 in labels


def test_labels_that_would_cover_others_are_left_out(tmp_path):
    point_map(str(tmp_path / "a.svg"), np.zeros((3, 2)), ["one", "two", "three"])
    assert [text for text in texts((tmp_path / "a.svg").read_bytes()) if text in ("one", "two", "three")] == [
        "one"
    ]


@pytest.mark.parametrize("scale", [0.0, 1e-300, 1e-12, 1e150, 1e199])
def test_maps_of_any_size(tmp_path, scale):
    points = scale * np.array([[0.0, 0.0], [1.0, 2.0]])
    point_map(str(tmp_path / "a.svg"), points, ["a", "b"])
    point_map(str(tmp_path / "b.svg"), points[:1], ["a"])
    point_map(str(tmp_path / "c.svg"), points[:0], [])


def test_a_users_settings_change_nothing(tmp_path):
    import matplotlib

    before = chart(tmp_path / "a.svg")
    with matplotlib.rc_context({"lines.linewidth": 9, "axes.grid": True, "svg.hashsalt": None}):
        assert chart(tmp_path / "b.svg") == before
        assert matplotlib.rcParams["lines.linewidth"] == 9


def test_refused(tmp_path):
    with pytest.raises(DataError, match=r"expected \(1, 2\)"):
        point_map(str(tmp_path / "a.svg"), np.ones((2, 2)), ["a"])
    with pytest.raises(DataError, match="not a number"):
        point_map(str(tmp_path / "a.svg"), np.array([[np.nan, 0.0]]), ["a"])
    with pytest.raises(DataError, match="groups of 2 points"):
        point_map(str(tmp_path / "a.svg"), np.ones((1, 2)), ["a"], groups=["a", "b"])
    with pytest.raises(ConfigError, match=r"ends in \.svg"):
        chart(tmp_path / "a.png")
    assert not list(tmp_path.iterdir())


def test_without_matplotlib_one_line_names_the_extra(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for call in (lambda: check_figure("a.svg"), lambda: chart(tmp_path / "a.svg")):
        with pytest.raises(ConfigError, match=r"pip install 'rerank\[report\]'"):
            call()
