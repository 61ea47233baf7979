import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import full_lists

from rerank.core.errors import ConfigError, DataError
from rerank.data.folds import folds, split


@given(st.integers(2, 60), st.data(), st.integers(0, 2**64))
def test_each_list_is_in_one_test_part_and_sizes_are_balanced(n, data, seed):
    k = data.draw(st.integers(2, n))
    made = folds(n, k, seed)
    assert sorted(np.concatenate([fold.test for fold in made])) == list(range(n))
    sizes = [len(fold.test) for fold in made]
    assert len(sizes) == k
    assert max(sizes) - min(sizes) <= 1
    for fold in made:
        assert sorted([*fold.train, *fold.test]) == list(range(n))
        assert np.all(np.diff(fold.test) > 0)
        assert np.all(np.diff(fold.train) > 0)


@given(st.lists(st.sampled_from("abcdef"), min_size=6, max_size=60), st.integers(0, 9))
def test_lists_with_one_key_stay_together(key, seed):
    key = [*"ab", *key]
    made = folds(len(key), 2, seed, key=key)
    for fold in made:
        assert len(fold.test) > 0
        assert not {key[i] for i in fold.train} & {key[i] for i in fold.test}
    # Largest first, each to the smaller fold: never further apart than the largest group.
    assert abs(len(made[0].test) - len(made[1].test)) <= max(key.count(value) for value in key)
    a, b = split(len(key), [0.5, 0.5], seed, key=key)
    assert sorted([*a, *b]) == list(range(len(key)))
    assert not {key[i] for i in a} & {key[i] for i in b}


@pytest.mark.parametrize("seed", range(5))
def test_groups_are_dealt_largest_first_so_that_folds_are_of_one_size(seed):
    key = [str(i) for i in range(1, 21) for _ in range(i)]
    sizes = [len(fold.test) for fold in folds(len(key), 5, seed, key=key)]
    assert max(sizes) <= 1.05 * min(sizes)


def test_distinct_keys_give_the_same_folds_as_no_key():
    for plain, keyed in zip(folds(9, 4, 3), folds(9, 4, 3, key=list("abcdefghi")), strict=True):
        assert plain.test.tolist() == keyed.test.tolist()


@given(st.integers(5, 300), st.integers(0, 99))
def test_a_split_is_near_its_fractions_and_the_rest_is_left_out(n, seed):
    fractions = [0.5, 0.25]
    parts = split(n, fractions, seed)
    taken = np.concatenate(parts)
    assert len(set(taken)) == len(taken)
    for part, fraction in zip(parts, fractions, strict=True):
        assert abs(len(part) - fraction * n) < 1
        assert np.all(np.diff(part) > 0)


@given(st.integers(3, 200), st.integers(0, 99))
def test_fractions_that_sum_to_one_leave_nothing_out(n, seed):
    parts = split(n, [1 / 3, 1 / 3, 1 / 3], seed)
    assert sorted(np.concatenate(parts)) == list(range(n))
    assert sorted(np.concatenate(split(10 * n, [0.7, 0.2, 0.1], seed))) == list(range(10 * n))


def test_the_seed_decides_and_its_stream_is_fixed():
    assert [fold.test.tolist() for fold in folds(7, 2, 0)] == [fold.test.tolist() for fold in folds(7, 2, 0)]
    assert any(folds(40, 2, 0)[0].test.tolist() != folds(40, 2, s)[0].test.tolist() for s in (1, 2))
    raw = np.random.PCG64(11).random_raw(7)
    assert split(7, [3 / 7], 11)[0].tolist() == sorted(np.argsort(raw)[:3].tolist())


def test_a_number_means_that_many_lists():
    lists = full_lists()
    assert [fold.test.tolist() for fold in folds(lists, 2, 5)] == [f.test.tolist() for f in folds(4, 2, 5)]
    assert lists.subset(folds(lists, 2, 5)[0].train).n_lists == 2
    assert split(lists, [0.5], 1)[0].tolist() == split(4, [0.5], 1)[0].tolist()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((5, 1), ConfigError, "1 folds: at least 2"),
        ((5, 6), DataError, "6 folds of 5 lists: too few"),
        ((0, 2), DataError, "no lists"),
        ((5, 2, -1), ConfigError, "seed -1"),
        ((5, 2, 1.5), ConfigError, "seed 1.5"),
        ((5, 2, True), ConfigError, "seed True"),
    ],
)
def test_impossible_folds_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        folds(*arguments)


def test_keys_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="3 folds of 2 keys: too few"):
        folds(4, 3, key=list("abab"))
    with pytest.raises(DataError, match="key has 3 entries, expected one for each of 4 lists"):
        folds(4, 2, key=list("abc"))
    with pytest.raises(DataError, match=r"a fraction of 0\.2 of 4 lists with 1 keys contains no list"):
        split(4, [0.8, 0.2], key=list("aaaa"))


@pytest.mark.parametrize("fractions", [[], [0.5, 0.6], [0.0, 0.5], [-0.1], [1.1], [float("nan")]])
def test_impossible_fractions_are_refused(fractions):
    with pytest.raises(ConfigError, match="each must be above 0 and their sum at most 1"):
        split(10, fractions)


def test_a_part_without_a_list_is_refused():
    with pytest.raises(DataError, match=r"a fraction of 0\.01 of 10 lists contains no list"):
        split(10, [0.9, 0.01])
