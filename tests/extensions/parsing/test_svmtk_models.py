"""Models of SVM-light-TK: what they score, what is refused, and what is written."""

from __future__ import annotations

import contextlib
import warnings
from pathlib import Path

import numpy as np
import pytest
from reference.svmtk_scores import of_items, of_pairs

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.lists import CandidateLists
from rerank.extensions.parsing.svmtk.exchange import import_svmtk
from rerank.models.base import load_model
from rerank.models.exchange.calls import export, import_model
from rerank.models.linear import LinearModel
from rerank.models.preference import PreferenceModel
from rerank.similarity.expression import ItemKernel

HEADER = {
    "t": ("5", "kernel type"),
    **{
        letter: (value, f"kernel parameter -{letter}")
        for letter, value in zip(
            "dgsruLTCFSMNVWU",
            ["3", "1", "1", "1", "empty", "0.4", "0.5", "+", "0", "0", "0.4", "3", "S", "S", "0"],
            strict=True,
        )
    },
    "features": ("2", "highest feature index"),
    "documents": ("9", "number of training documents"),
    "support": ("3", "number of support vectors plus 1"),
    "b": ("0.25", "threshold b, each following line is a SV (starting with alpha*y)"),
}
A = (["(S (A a) (B b))", ""], [1.0, 2.0])
B = (["(S (A a) (B c))", "(T (C c))"], [0.5, 0.0])
C = (["(S (A x) (B b))", "(T (C c))"], [3.0, 1.0])
NOTHING = (["", ""], [0.0, 0.0])
ITEMS = CandidateLists.from_arrays(
    np.array([A[1], B[1], C[1]]),
    structures={"tree1": [A[0][0], B[0][0], C[0][0]], "tree2": [A[0][1], B[0][1], C[0][1]]},
)


def text_of(item: tuple[list[str], list[float]]) -> tuple[str, str]:
    """Trees, leaves in brackets as the program writes them, and the vector."""
    trees = [tree.replace(" a)", " (a))").replace(" c)", " (c))") for tree in item[0]]
    return "".join(f" |BT| {tree}" for tree in trees), " ".join(
        f"{j}:{x}" for j, x in enumerate(item[1], 1) if x
    )


def single(coefficient: float, item: tuple[list[str], list[float]]) -> str:
    trees, vector = text_of(item)
    return f"{coefficient!r} {trees} |ET| {vector}  |EV| "


def pair(coefficient: float, *items: tuple[list[str], list[float]]) -> str:
    (trees, vector), (other_trees, other) = map(text_of, items)
    return f"{coefficient!r} {trees}{other_trees} |ET| {vector}  |BV| {other}  |EV| "


def write(path: Path, *lines: str, drop: str = "", **changes: str) -> str:
    values = {
        letter: [changes.get(letter, value), what]
        for letter, (value, what) in HEADER.items()
        if letter != drop
    }
    values["support"][0] = changes.get("support", str(len(lines) + 1))
    head = [f"{value}{'' if what.endswith('-u') else ' '}# {what} " for value, what in values.values()]
    path.write_text("\n".join(["SVM-light Version V5.01-TK-1.5", *head, *lines]) + "\n")
    return str(path)


SINGLES = single(0.75, A), single(-0.5, C)
PAIRS = pair(0.75, A, B), pair(-0.5, C, NOTHING), pair(0.125, B, A)


def test_a_model_of_examples_scores_by_its_definition(tmp_path: Path) -> None:
    model = import_svmtk(write(tmp_path / "m", *SINGLES))
    settings = {"decay": 0.4, "factor": 0.5}
    wanted = [0.75 * of_items(x, A, **settings) - 0.5 * of_items(x, C, **settings) - 0.25 for x in (A, B, C)]
    assert model.score(ITEMS) == pytest.approx(wanted, rel=1e-12)
    assert model.kernel == ItemKernel.parse("0.5 * (st(tree1) + st(tree2)) + linear(normalise=true)")


def test_a_model_of_pairs_scores_single_candidates(tmp_path: Path) -> None:
    """A candidate beside nothing; the threshold is that of the file."""
    path = write(tmp_path / "m", *PAIRS, V="R", W="R")
    model = import_svmtk(path)
    settings = {"decay": 0.4, "factor": 0.5}
    support = [(0.75, (A, B)), (-0.5, (C, NOTHING)), (0.125, (B, A))]
    wanted = [
        sum(c * of_pairs((x, NOTHING), one, **settings) for c, one in support) - 0.25 for x in (A, B, C)
    ]
    assert model.score(ITEMS) == pytest.approx(wanted, rel=1e-12)
    assert len(model.coefficients) == 4, "equal candidates are merged"


def test_an_empty_candidate_counts_if_the_kernel_is_not_0_for_it(tmp_path: Path) -> None:
    model = import_svmtk(
        write(tmp_path / "m", *PAIRS, V="R", W="R", S="1", N="1", d="2", s="0.5", r="2", C="V")
    )

    def k(x: list[float], y: list[float]) -> float:
        return float((0.5 * np.dot(x, y) + 2) ** 2)

    zero = [0.0, 0.0]
    support = [(0.75, A[1], B[1]), (-0.5, C[1], zero), (0.125, B[1], A[1])]
    wanted = [
        sum(c * (k(x, a) + k(zero, b) - k(x, b) - k(zero, a)) for c, a, b in support) - 0.25
        for x in (A[1], B[1], C[1])
    ]
    assert model.score(ITEMS) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "kernel"),
    [
        ({"C": "T", "F": "1", "N": "0"}, "sst(tree1, normalise=false) + sst(tree2, normalise=false)"),
        (
            {"C": "T", "F": "2", "N": "1", "L": "0.25"},
            "sst-leaves(tree1, decay=.25) + sst-leaves(tree2, decay=.25)",
        ),
        (
            {"C": "T", "F": "3", "N": "3", "M": "0.5", "S": "9", "V": "R"},
            "ptk(tree1, mu=0.5, max_children=5) + ptk(tree2, mu=0.5, max_children=5)",
        ),
        ({"C": "V", "N": "2", "F": "-1", "W": "A"}, "linear(normalise=true)"),
        ({"C": "V", "N": "1", "S": "1", "s": "2", "r": "0"}, "polynomial(degree=3, gamma=2, constant=0)"),
        ({"C": "V", "N": "0", "S": "2", "g": "0.125"}, "gaussian(gamma=0.125)"),
        ({"C": "*", "T": "7", "N": "1"}, "(st(tree1) + st(tree2)) * linear"),
    ],
)
def test_parameters_are_an_expression_and_back(tmp_path: Path, changes: dict[str, str], kernel: str) -> None:
    model = import_model(write(tmp_path / "m", *SINGLES, **changes), str(tmp_path / "model"), "svmtk")
    assert isinstance(model, PreferenceModel)
    assert model.kernel == ItemKernel.parse(kernel)
    with pytest.warns(DataNote, match="back: the trees of each line, in this order: "):
        export(str(tmp_path / "model"), str(tmp_path / "back"), "svmtk")
    again = import_svmtk(str(tmp_path / "back"))
    assert again.kernel == model.kernel
    assert again.score(ITEMS) == pytest.approx(model.score(ITEMS), rel=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"t": "11"}, "found the kernel parameter -t 11, expected 5"),
        ({"U": "1"}, "parameter -U 1, expected 0"),
        ({"C": "X"}, r"parameter -C X, expected \+ or \* or T or V"),
        ({"F": "6"}, "parameter -F 6, expected 0 or 1 or 2 or 3"),
        ({"S": "3"}, "parameter -S 3, expected 0 or 1 or 2"),
        ({"N": "4"}, "parameter -N 4, expected 0 or 1 or 2 or 3"),
        ({"W": "A"}, "parameter -W A, expected S or R"),
        ({"S": "2"}, "-S 2 with -N 2 or 3 divides by undefined norms"),
        ({"L": "2"}, "decay"),
        ({"T": "-1"}, "negative kernels are not positive semi-definite"),
        ({"L": "x"}, "decay"),
    ],
)
def test_a_parameter_that_is_not_implemented_is_named(
    tmp_path: Path, changes: dict[str, str], message: str
) -> None:
    with pytest.raises(ConfigError, match=message) as caught:
        import_svmtk(write(tmp_path / "m", *SINGLES, **changes))
    assert str(caught.value).startswith(f"{tmp_path}/m: ")
    assert "\n" not in str(caught.value)


def test_what_pairs_cannot_have(tmp_path: Path) -> None:
    for changes, message in (
        ({"W": "R", "V": "R", "C": "*"}, "the product of two preference kernels"),
        ({"W": "R", "V": "S"}, "found -W R with -V S, expected the same letter"),
        ({"W": "R", "V": "R", "S": "2", "N": "1"}, "takes the norm of another vector"),
    ):
        with pytest.raises(ConfigError, match=message):
            import_svmtk(write(tmp_path / "m", *PAIRS, **changes))


@pytest.mark.parametrize(
    ("lines", "changes", "message"),
    [
        (SINGLES, {"drop": "F"}, "m: found no line '# kernel parameter -F', expected all lines of a header"),
        (SINGLES, {"support": "9"}, "m: found 2 support vectors, expected 8, as its header says"),
        (SINGLES, {"support": "x"}, "m:20: found number of support vectors plus 1 'x', expected a number"),
        (SINGLES, {"b": "nan"}, "m:21: found threshold b 'nan', expected a finite number"),
        ((SINGLES[0], "x |BT| (S a) |ET|"), {}, "m:23: found label 'x', expected a number"),
        (
            (SINGLES[0], "1 |BT| (S a |ET|"),
            {},
            r"m:23: found brackets that are not closed: '\(S a' in tree 1",
        ),
        ((), {"support": "1"}, "found no support vector, expected one at least"),
        (SINGLES[:1], {"W": "R", "V": "R"}, "m:22: found 1 vector, expected an even number of vectors"),
    ],
)
def test_a_damaged_model_is_one_line(
    tmp_path: Path, lines: tuple[str, ...], changes: dict[str, str], message: str
) -> None:
    with pytest.raises(FormatError, match=message):
        import_svmtk(write(tmp_path / "m", *lines, **changes))


def test_a_file_that_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "m").write_text("SVM-light Version V6.02\n")
    with pytest.raises(
        FormatError, match=r"m:1: found 'SVM-light Version V6\.02', expected a model of SVM-light-TK"
    ):
        import_model(str(tmp_path / "m"), str(tmp_path / "out"), "svmtk")
    with pytest.raises(ConfigError, match="--tree-names: not used by the format tsv"):
        import_model(str(tmp_path / "m"), str(tmp_path / "out"), "tsv", tree_names=["a"])
    with pytest.raises(ConfigError, match="--feature-names: not used by the format svmtk"):
        import_model(str(tmp_path / "m"), str(tmp_path / "out"), "svmtk", feature_names="x")


def test_trees_get_the_names_that_are_given(tmp_path: Path) -> None:
    path = write(tmp_path / "m", *SINGLES)
    model = import_svmtk(path, ["question", "passage"])
    assert model.kernel.text.startswith("0.5 * (st(question) + st(passage))")
    with pytest.raises(DataError, match="m: 2 trees per item, expected as many different names: a"):
        import_svmtk(path, ["a"])


@pytest.mark.parametrize("pairs", [False, True])
def test_what_is_written_is_read_back(tmp_path: Path, pairs: bool) -> None:
    model = import_model(write(tmp_path / "m", *PAIRS, V="R", W="R", S="1"), str(tmp_path / "model"), "svmtk")
    format = "svmtk-pairs" if pairs else "svmtk"
    with pytest.warns(DataNote, match="in this order: tree1, tree2"):
        export(str(tmp_path / "model"), str(tmp_path / "back"), format)
    head = (tmp_path / "back").read_text().splitlines()
    assert head[6] == "empty# kernel parameter -u"
    assert head[14] == f"{'R' if pairs else 'S'} # kernel parameter -V"
    assert head[21].endswith(" |BV|  |EV|" if pairs else " |EV|")
    again = import_svmtk(str(tmp_path / "back"))
    assert again.score(ITEMS) == pytest.approx(model.score(ITEMS), rel=1e-12)
    same = load_model(str(tmp_path / "model"))
    assert np.array_equal(same.score(ITEMS), model.score(ITEMS)), "the bias is saved"


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        ("bow(tree1)", "it has st, sst, sst-leaves, ptk"),
        ("ptk(tree1)", "partial trees with max_children=5 only"),
        ("st(tree1) + sst(tree2)", "one kernel, with one weight, for all trees"),
        ("st(tree1) + 2 * st(tree2)", "one kernel, with one weight"),
        ("st(tree1) + st(tree1)", "each tree once"),
        ("st(tree1) * st(tree2)", "expected a product of a sum of trees' and a sum of vectors' kernels"),
        ("st(tree1) * linear + st(tree2)", "their product"),
        ("st(tree1) + 1", "expected a sum of trees' and a sum of vectors' kernels"),
        ("linear(1)", "it takes whole vectors: linear"),
    ],
)
def test_a_kernel_that_the_program_lacks_is_refused(tmp_path: Path, kernel: str, message: str) -> None:
    rows, coefficients = np.arange(3), np.array([1.0, -2.0, 1.0])
    model = PreferenceModel.of_items(ItemKernel.parse(kernel), ITEMS, rows, coefficients)
    model.save(str(tmp_path / "model"))
    with pytest.raises(ConfigError, match=message):
        export(str(tmp_path / "model"), str(tmp_path / "out"), "svmtk")
    assert not (tmp_path / "out").exists()


def test_weights_and_models_that_it_cannot_have(tmp_path: Path) -> None:
    LinearModel(["a"], np.ones(1)).save(str(tmp_path / "linear"))
    with pytest.raises(ConfigError, match="a model of kind linear, expected preference"):
        export(str(tmp_path / "linear"), str(tmp_path / "out"), "svmtk")
    kernel = ItemKernel.parse("2 * st(tree1) + 4 * polynomial(degree=2, constant=1)")
    model = PreferenceModel.of_items(kernel, ITEMS, np.arange(3), np.array([1.0, -2.0, 2.0]))
    model.save(str(tmp_path / "model"))
    with pytest.raises(ConfigError, match="found coefficients that sum to 4, expected 0, as those of pairs"):
        export(str(tmp_path / "model"), str(tmp_path / "out"), "svmtk-pairs")
    with pytest.raises(ConfigError, match="--ini: not used by the format svmtk"):
        export(str(tmp_path / "model"), str(tmp_path / "out"), "svmtk", ini="x")
    with pytest.warns(DataNote, match="in this order: tree1$"):
        export(str(tmp_path / "model"), str(tmp_path / "out"), "svmtk")
    again = import_svmtk(str(tmp_path / "out"))
    assert again.kernel.text == "0.5 * st(tree) + polynomial"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        one = CandidateLists.from_arrays(
            ITEMS.features.to_dense(), trees=list(ITEMS.forest("tree1").to_strings())
        )
        assert again.score(one) == pytest.approx(model.score(ITEMS), rel=1e-12)


def test_any_cut_of_a_model_is_an_error_or_a_model(tmp_path: Path) -> None:
    whole = Path(write(tmp_path / "m", *SINGLES)).read_bytes()
    for stop in range(0, len(whole), 7):
        (tmp_path / "cut").write_bytes(whole[:stop])
        with contextlib.suppress(RerankError):
            import_svmtk(str(tmp_path / "cut"))
