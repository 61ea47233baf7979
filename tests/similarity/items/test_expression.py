"""Expressions of kernels: what is read, its canonical text, and what is refused with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import ConfigError
from rerank.similarity.base import ITEM_KERNELS
from rerank.similarity.expression import ItemKernel
from rerank.similarity.grammar import Leaf, Product, Sum


@pytest.mark.parametrize(
    ("written", "text"),
    [
        ("ptk", "ptk"),
        (" ptk ( ) ", "ptk"),
        ("ptk(question)*.5+ptk(passage,mu=.3,decay=0.4)", "0.5 * ptk(question) + ptk(passage, mu=0.3)"),
        ("((((bow))))*2*3", "6 * bow"),
        ("(sst + (st + 2 * bow)) + linear", "sst + st + 2 * bow + linear"),
        ("2*(sst+st)*.25", "0.5 * (sst + st)"),
        ("(1 + linear) * (ptk * (st * sst))", "(1 + linear) * ptk * st * sst"),
        ("(2) + ptk + 1", "2 + ptk + 1"),
        ("ptk(max_children=5)*ptk(max_children=none)", "ptk(max_children=5) * ptk"),
        ("sst(decay=1, q_1, normalise=no)", "sst(q_1, normalise=false, decay=1)"),
        ("linear(bm25*, 'tag=NN', \"it's (x)\", 1-3)", "linear(bm25*, 'tag=NN', 'it''s (x)', 1-3)"),
        ("linear(été*, -x)", "linear(été*, -x)"),
        ("polynomial(degree=3,gamma=1e-3,constant=0)", "polynomial(degree=3, gamma=0.001, constant=0)"),
        ("1e-300 * gaussian(gamma=2.)", "1e-300 * gaussian(gamma=2)"),
    ],
)
def test_canonical_text(written, text):
    kernel = ItemKernel.parse(written)
    assert kernel.text == str(kernel) == text
    assert ItemKernel.parse(text) == kernel


NAMES = st.sampled_from(["tree", "question", "a-b_1"])
TEXTS = st.text(st.characters(exclude_characters=",", exclude_categories=("Cs",)), min_size=1)
WEIGHTS = st.floats(1e-5, 1e5).map(abs)
LEAVES = st.one_of(
    st.builds(
        lambda name, of, **settings: Leaf(ITEM_KERNELS.get(name)(**settings), of),
        st.sampled_from(["sst", "ptk", "st"]),
        st.one_of(st.just(()), st.tuples(NAMES)),
        decay=st.floats(1e-9, 1),
        normalise=st.booleans(),
    ),
    st.builds(
        lambda of, gamma: Leaf(ITEM_KERNELS.get("gaussian")(gamma=gamma), tuple(of)),
        st.lists(TEXTS.filter(lambda text: text.strip().strip("-") and not text.strip()[0].isdigit())),
        st.floats(1e-9, 1e9),
    ),
)
SUMS = st.recursive(
    LEAVES,
    lambda inner: st.builds(
        lambda terms: Sum(tuple(Product(weight, tuple(factors)) for weight, factors in terms)),
        st.lists(st.tuples(WEIGHTS, st.lists(inner, min_size=1, max_size=2)), min_size=2, max_size=3),
    ),
    max_leaves=6,
).map(lambda found: found if isinstance(found, Sum) else Sum((Product(1.0, (found,)),)))


@given(SUMS)
def test_a_text_parses_back(expression):
    again = ItemKernel.parse(str(expression))
    assert ItemKernel.parse(again.text) == again
    assert list(again.expression.leaves()) == list(expression.leaves())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "character 1: found the end, expected a kernel, a number above 0 or ("),
        ("ptk +", "character 6: found the end, expected a kernel"),
        ("ptk st", "character 5: found 'st', expected +, * or the end"),
        ("(ptk st)", "character 6: found 'st)', expected +, * or )"),
        ("(ptk", "character 5: found the end, expected +, * or )"),
        ("ptk)", "character 4: found ')', expected +, * or the end"),
        ("()", "character 2: found ')', expected a kernel"),
        ("-1 * ptk", "character 1: found '-1 * ptk', expected a kernel, a number above 0 or (; negative"),
        ("ptk - st", "character 5: found '- st', expected +, * or the end"),
        ("0 * ptk", "character 1: found '0', expected a finite number above 0"),
        ("1e999*ptk", "found '1e999', expected a finite number"),
        ("1_0*ptk", "found '1_0', expected a finite number"),
        ("inf*ptk", "unknown kernel of items 'inf'"),
        ("\u0663*ptk", "character 1: found '\u0663*ptk'"),
        ("1e300*(1e300*ptk)", "a product of numbers that is too large or too small"),
        ("1e-300*1e-300*ptk", "a product of numbers that is too large or too small"),
        ("2 * 3", "found no kernel, expected one of bow, gaussian"),
        ("(" * 60 + "ptk" + ")" * 60, "character 51: found more than 50 parentheses"),
        ("st + ptkk", "character 6: unknown kernel of items 'ptkk'; did you mean 'ptk'?"),
        ("PTK", "unknown kernel of items 'PTK'; did you mean 'ptk'?"),
        ("ptk(", "character 5: found the end, expected arguments"),
        ("ptk(a", "character 5: found 'a', expected arguments"),
        ("ptk(a,)", "character 7: found ')', expected an argument"),
        ("ptk('a)", 'character 5: found "\'a)", expected arguments'),
        ("ptk(a, b)", "ptk: found the arguments a, b, expected the name of one kind of trees"),
        ("ptk(a b)", "ptk: found 'a b', expected the name of trees"),
        (
            "ptk(decays=1)",
            "ptk: unknown setting 'decays'; did you mean 'decay'? known: decay, max_children, mu",
        ),
        ("ptk(decay=1,decay=1)", "character 13: found decay twice"),
        ("st + ptk(mu=2)", "character 6: ptk: mu: found '2', expected 1 or less"),
        ("ptk(decay=0)", "decay: found '0', expected 1e-09 or more"),
        ("ptk(decay=nan)", "expected a finite number"),
        ("ptk(decay=1_0)", "decay: found '1_0', expected a number"),
        ("ptk(max_children=0)", "max_children: found '0', expected 1 or more"),
        ("ptk(normalise=2)", "normalise: found '2', expected true or false"),
        ("bow(decay=.4)", "bow: unknown setting 'decay'; known: normalise"),
        ("gaussian(normalise=true)", "gaussian: unknown setting 'normalise'"),
        ("gaussian(gamma=0)", "gamma: found '0', expected more than 0"),
        ("polynomial(constant=-1)", "constant: found '-1', expected 0 or more"),
        ("linear(9-3)", "linear: found the range '9-3', expected the smaller number first"),
        ("linear('')", "linear: found '', expected names, ranges and globs"),
        ("ptk; import os", "character 4: found '; import os'"),
    ],
)
def test_refused(text, message):
    with pytest.raises(ConfigError) as error:
        ItemKernel.parse(text)
    assert message in str(error.value)
    assert len(str(error.value)) <= 300


def test_one_kernel_by_its_settings():
    assert ItemKernel.of("ptk", {"decay": 0.3}) == ItemKernel.parse("ptk(decay=.3)")
    assert ItemKernel.of("linear").text == "linear"
    with pytest.raises(ConfigError, match="kernel bow: unknown setting 'components'; known: normalise"):
        ItemKernel.of("bow", {"components": 3})
