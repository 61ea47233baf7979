"""Items brought together by ids: a dictionary of lists is the slow twin."""

from dataclasses import replace

import numpy as np
import pytest
from reference.everything import judged_lists

from rerank.core.errors import DataError
from rerank.data.columns.offsets import Ragged
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.matrix import Dense
from rerank.data.pool import Pool, pool_lists, widened


def named(items):
    """Lists of item ids, from {list id: item ids}."""
    flat = [name for names in items.values() for name in names]
    return CandidateLists(
        np.cumsum([0, *map(len, items.values())]),
        Dense(np.zeros((len(flat), 0))),
        list_ids=StringColumn.from_strings(items),
        item_ids=StringColumn.from_strings(flat),
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_pool_is_the_union_in_order_of_appearance(seed):
    rng = np.random.default_rng(seed)
    sources = [
        {
            str(q): rng.permutation(9)[: rng.integers(1, 9)].astype(str).tolist()
            for q in rng.permutation(5)[: rng.integers(1, 5)]
        }
        for _ in range(3)
    ]
    pool, twin = Pool(), {}
    places = [pool.add(named(source)) for source in sources]
    for source in sources:
        for q, items in source.items():
            twin.setdefault(q, []).extend(item for item in items if item not in twin[q])
    lists = pool_lists(pool, "all")
    assert list(lists.list_ids) == list(twin)
    assert list(lists.item_ids) == [item for items in twin.values() for item in items]
    for source, place in zip(sources, places, strict=True):
        at = place.items(lists.offsets)
        found = [(lists.list_id(lists.list_index[k]), lists.item_ids[k]) for k in at]
        assert found == [(q, item) for q, items in source.items() for item in items]


def test_what_is_not_added_has_no_place():
    pool = Pool()
    pool.add(named({"q": ["a", "b"]}))
    found = pool.find(named({"q": ["b", "c"], "p": ["a"]}))
    assert (found.lists.tolist(), found.numbers.tolist()) == ([0, 0, -1], [1, -1, -1])
    assert found.items(pool.offsets()).tolist() == [1, -1, -1]
    pool.add_item(b"p", b"x")
    assert (b"p" in pool, pool.offsets().tolist()) == (True, [0, 2, 3])


def test_items_without_ids_are_numbered():
    bare = CandidateLists.from_arrays(np.zeros((3, 1)), group=[1, 2])
    pool = Pool()
    pool.add(bare)
    assert list(pool.item_ids()) == ["1", "1", "2"]
    assert list(pool.list_ids()) == ["1", "2"]


def test_ids_occur_once():
    with pytest.raises(DataError, match="list 'q' has two items with the id 'a'"):
        Pool().add(named({"q": ["a", "b", "a"]}))
    twice = replace(named({"q": ["a"], "p": ["b"]}), list_ids=StringColumn.from_strings(["q", "q"]))
    with pytest.raises(DataError, match="two lists have the id 'q'"):
        Pool().add(twice)


def test_wider_lists_keep_what_rankings_need():
    base = judged_lists(1, sizes=(2, 3))
    ids = {"x": ["a", "b"], "y": ["a", "b", "c"]}
    base = replace(
        base,
        list_ids=named(ids).list_ids,
        item_ids=named(ids).item_ids,
        first_best=np.array([1.0, 2.0, 5.0, 5.0, 7.0]),
        unretrieved=Ragged(np.array([1.0]), np.array([0, 0, 1])),
    )
    pool = Pool()
    of_base = pool.add(base)
    pool.add(named({"x": ["z"], "w": ["a"]}))
    lists = widened(base, of_base, pool)
    at = of_base.items(lists.offsets)
    assert at.tolist() == [0, 1, 3, 4, 5]
    np.testing.assert_array_equal(lists.labels[at], base.labels)
    assert np.isnan(lists.labels[[2, 6]]).all()
    assert lists.unretrieved.offsets.tolist() == [0, 0, 1, 1]
    order = np.lexsort((-lists.first_best, lists.list_index))
    assert order.tolist() == [1, 0, 2, 5, 3, 4, 6]
    assert np.isnan(lists.run_scores).tolist() == [False, False, True, False, False, False, True]
