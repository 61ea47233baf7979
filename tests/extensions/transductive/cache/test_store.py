"""The cache of rankers: scores as without it, neighbours, damage, other models, several processes."""

import dataclasses
import os
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
from reference.list_distances import histogram_distance
from reference.nearest_lists import NearestLists
from small_training import fit

from rerank.core.errors import ConfigError, DataError, DataNote
from rerank.core.workers import parallel
from rerank.extensions.transductive.cache import standardised
from rerank.similarity import gram

QUICK = {"name": "rankboost", "rounds": 4}


@pytest.fixture
def model(make_lists):
    return fit(NearestLists(base=QUICK, noise=0.5), make_lists(1))


def origins(found):
    return [row.origin.split()[0] for row in found.rows]


def content(folder):
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(Path(folder).rglob("*"))
        if path.is_file()
    }


@pytest.mark.parametrize("layout", ["dense", "float32", "sparse", "mixed"])
@pytest.mark.parametrize("missing", [False, True])
def test_scores_are_those_without_a_cache(layout, missing, make_lists, tmp_path):
    model = fit(NearestLists(base=QUICK, noise=0.5), make_lists(1, layout, missing))
    test, folder = make_lists(2, layout, missing), str(tmp_path / "cache")
    expected = model.adapt(test)
    for origin in ("made", "reused"):
        found = model.adapt(test, cache=model.open_cache(folder))
        np.testing.assert_array_equal(found.scores, expected.scores)
        assert origins(found) == [origin] * test.n_lists
        for row, other in zip(found.rows, expected.rows, strict=True):
            assert str(dataclasses.replace(row, seconds=0.0, origin="")) == str(
                dataclasses.replace(other, seconds=0.0)
            )
    more = model.adapt(make_lists(3, layout, missing).subset([1, 2]), cache=model.open_cache(folder))
    assert origins(more) == ["made", "made"]


def test_the_number_of_workers_and_the_order_of_lists_do_not_matter(model, make_lists, tmp_path):
    test, other = make_lists(2), make_lists(3)
    seen = []
    for jobs, order in ((1, range(6)), (2, range(6)), (1, [5, 3, 1, 0, 2, 4])):
        folder = str(tmp_path / f"{len(seen)}")
        with parallel.using(jobs):
            model.adapt(test.subset(list(order)), cache=model.open_cache(folder))
            near = model.adapt(other, cache=model.open_cache(folder, 3, "histogram"))
        rows = [(row.origin, row.tau, str(row.diagnostics)) for row in near.rows]
        seen.append((content(folder), near.scores.tolist(), rows))
    assert seen[0] == seen[1] == seen[2]
    assert origins(near) == ["reused"] + ["nearest"] * 5  # scaled, all lists of one item are equal


def all_of(one, stored, by):
    """The distances of a list to all stored ones."""
    parts = np.split(stored.features.to_dense(), stored.offsets[1:-1])
    if by == "histogram":
        return np.array([histogram_distance(one.features.to_dense(), other) for other in parts])
    return 1.0 - gram(one, stored)[0]


@pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
@pytest.mark.parametrize("by", ["list-kernel", "histogram"])
@pytest.mark.parametrize("k", [1, 3])
def test_new_lists_are_ranked_by_the_nearest_rankers(by, k, model, make_lists, tmp_path):
    stored, test, folder = make_lists(2), make_lists(3, sizes=(4, 6, 8)), str(tmp_path / "cache")
    model.adapt(stored, cache=model.open_cache(folder))
    before = content(folder)
    cache = model.open_cache(folder, k, by)
    found = model.adapt(test, cache=cache)
    assert content(folder) == before
    ready = model.prepared(test)
    rankers = {}
    for i in range(1, stored.n_lists):
        rankers[i] = model.ranker(stored, i).model
    for i, row in enumerate(found.rows):
        one = ready.subset([i])
        own = found.scores[test.offsets[i] : test.offsets[i + 1]]
        candidates = [rankers[j].score_prepared(one) for j in rankers]
        distances = all_of(ready.subset([i]), stored=model.prepared(stored), by=by)
        nearest = np.argsort(distances[1:])[:k]
        expected = [candidates[j] if k == 1 else standardised(candidates[j]) for j in nearest]
        np.testing.assert_allclose(own, np.mean(expected, axis=0), atol=1e-14)
        assert row.diagnostics["distance"] == pytest.approx(distances[1:][nearest].mean(), abs=1e-11)
        assert row.diagnostics["neighbours"] == k
        assert len(row.origin.removeprefix("nearest ").split(", ")) == k


def test_a_known_list_has_its_own_ranker(model, make_lists, tmp_path):
    stored, folder = make_lists(2), str(tmp_path / "cache")
    expected = model.adapt(stored, cache=model.open_cache(folder))
    found = model.adapt(stored, cache=model.open_cache(folder, 2))
    assert origins(found) == ["reused"] * stored.n_lists
    np.testing.assert_array_equal(found.scores, expected.scores)


def test_scores_of_rankers_are_averaged_on_one_scale():
    np.testing.assert_array_equal(standardised(np.array([3.0, 3.0])), [0, 0])
    np.testing.assert_array_equal(standardised(np.array([0.0])), [0])
    np.testing.assert_allclose(standardised(np.array([1e300, 3e300])), [-1, 1])


def test_damaged_entries_are_reported_and_made_again(model, make_lists, tmp_path):
    test, folder = make_lists(2), tmp_path / "cache"
    expected = model.adapt(test, cache=model.open_cache(str(folder)))
    whole = content(folder)
    paths = sorted((folder / "rankers").iterdir())
    paths[0].write_bytes(b"PK\x03\x04 nonsense")
    paths[1].write_bytes(paths[1].read_bytes()[:-30])
    shutil.copy(paths[2], paths[3])  # the ranker of another list
    with pytest.warns(DataNote, match="the ranker is made again") as notes:
        found = model.adapt(test, cache=model.open_cache(str(folder)))
    assert len(notes) == 3
    assert sorted(origins(found)) == ["made"] * 3 + ["reused"] * 3
    assert sum(row.origin == "made again" for row in found.rows) == 3
    np.testing.assert_array_equal(found.scores, expected.scores)
    assert content(folder) == whole


def test_damage_leaves_out_neighbours_and_changes_no_file(model, make_lists, tmp_path):
    test, folder = make_lists(2), tmp_path / "cache"
    model.adapt(test, cache=model.open_cache(str(folder)))
    ranked = model.open_cache(str(folder), 5).index.lists
    (folder / "index").write_bytes(b"nothing")
    for name in ranked[:2]:
        (folder / "rankers" / name).write_bytes(b"")
    before = content(folder)
    with pytest.warns(DataNote, match="read one by one"):
        cache = model.open_cache(str(folder), 3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        found = model.adapt(make_lists(3), cache=cache)
    assert origins(found)[1:] == ["nearest"] * 5
    assert content(folder) == before
    with pytest.warns(DataNote), pytest.raises(DataError, match="found 3 rankers, expected 4 or more"):
        model.open_cache(str(folder), 4)


def test_rankers_that_break_after_opening_are_replaced_by_the_next(model, make_lists, tmp_path):
    folder = tmp_path / "cache"
    model.adapt(make_lists(2), cache=model.open_cache(str(folder)))
    cache = model.open_cache(str(folder), 5)
    (folder / "rankers" / cache.index.lists[0]).unlink()
    with pytest.warns(DataNote), pytest.raises(DataError, match="found 4 rankers that can be read, not 5"):
        model.adapt(make_lists(3), cache=cache)


def test_rankers_of_another_model_are_refused(model, make_lists, tmp_path):
    folder = str(tmp_path / "cache")
    model.adapt(make_lists(2), cache=model.open_cache(folder))
    others = [
        fit(NearestLists(base=QUICK, noise=0.5, seed=2), make_lists(1)),
        fit(NearestLists(base=QUICK, noise=0.5), make_lists(4)),
        fit(NearestLists(base=QUICK, noise=0.5), make_lists(1), scaling="none"),
    ]
    for other in others:
        with pytest.raises(DataError, match="found rankers of another model, expected those of this one"):
            other.open_cache(folder)
    same = fit(NearestLists(base=QUICK, noise=0.5, abstain=0.3), make_lists(1))
    found = same.adapt(make_lists(2), cache=same.open_cache(folder))
    assert set(origins(found)) == {"reused"}
    np.testing.assert_array_equal(found.scores, same.score(make_lists(2)))


def test_folders_that_are_no_cache_are_refused(model, tmp_path):
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "notes.txt").write_text("x")
    with pytest.raises(DataError, match="found other files, expected an empty folder"):
        model.open_cache(str(tmp_path / "work"))
    with pytest.raises(DataError, match=r"found no cache\.json"):
        model.open_cache(str(tmp_path / "none"), 1)
    assert not (tmp_path / "none").exists()
    (tmp_path / "empty").mkdir()
    cache = model.open_cache(str(tmp_path / "empty"))
    for text in (b"{", b"[]", b'{"model": 1}', b"\xff"):
        Path(cache.folder, "cache.json").write_bytes(text)
        with pytest.raises(DataError, match="found something else than a cache's owner"):
            model.open_cache(cache.folder)


def test_rankers_of_an_oracle_are_not_stored(make_lists, tmp_path):
    oracle = fit(NearestLists(base=QUICK, oracle=True), make_lists(1))
    with pytest.raises(ConfigError, match="expected one that uses no test labels"):
        oracle.open_cache(str(tmp_path / "cache"))


def test_two_processes_may_fill_one_folder(model, make_lists, tmp_path):
    test, folder = make_lists(2), str(tmp_path / "cache")
    first, second = model.open_cache(folder), model.open_cache(folder)
    alone = model.adapt(test, cache=first)
    again = model.adapt(test, cache=second)  # opened before there was a ranker
    np.testing.assert_array_equal(again.scores, alone.scores)
    assert set(os.listdir(folder)) == {"cache.json", "index", "rankers"}
    whole = content(folder)
    model.adapt(test, cache=model.open_cache(folder))
    assert content(folder) == whole


def test_links_are_not_followed(model, make_lists, tmp_path):
    folder, secret = tmp_path / "cache", tmp_path / "secret"
    model.adapt(make_lists(2), cache=model.open_cache(str(folder)))
    names = model.open_cache(str(folder), 5).index.lists
    secret.write_text("mine")
    (folder / "rankers" / names[0]).unlink()
    (folder / "rankers" / names[0]).symlink_to(secret)
    with pytest.raises(DataError, match="found a link or a special file"):
        model.adapt(make_lists(2), cache=model.open_cache(str(folder)))
    assert len(model.open_cache(str(folder), 1).index.lists) == 4
    (folder / "index").unlink()
    (folder / "index").symlink_to(secret)
    with pytest.raises(DataError, match="found a link or a special file"):
        model.open_cache(str(folder))
    assert secret.read_text() == "mine"
