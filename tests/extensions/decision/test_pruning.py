"""Pruning by confidence: bootstrap tests one by one, exact values of what is kept, and what is reported."""

from dataclasses import replace

import numpy as np
import pytest
from reference import decision as slow
from small_training import saved

import rerank as package
from rerank.core.errors import ConfigError
from rerank.data.columns.strings import StringColumn
from rerank.data.first_best import first_largest
from rerank.data.lists import CandidateLists
from rerank.extensions.decision import pruning as module
from rerank.extensions.decision.expressions import utility_of
from rerank.extensions.decision.gain import decided, posterior
from rerank.extensions.decision.pruning import pruned_gains, win_shares
from rerank.extensions.decision.utilities import Pairing

SIZES = (90, 3, 120)


def long_lists(seed=0, sizes=SIZES):
    """Noisy copies of a sentence, the less noisy the better the score; some are equal."""
    rng = np.random.default_rng(seed)
    words = np.array([f"w{k}" for k in range(200)])
    texts, scores = [], []
    for size in sizes:
        right = rng.choice(words, 12)
        for _ in range(size):
            noise = rng.choice([0.1, 0.3, 0.6])
            texts.append(" ".join(np.where(rng.random(12) < noise, rng.choice(words, 12), right)))
            scores.append(-4 * noise + rng.normal(0, 0.3))
        texts[-1] = texts[-2]
    lists = CandidateLists.from_arrays(np.array(scores)[:, None], group=sizes, feature_names=["f"])
    return replace(lists, texts=StringColumn.from_strings(texts)), np.array(scores)


LISTS, SCORES = long_lists()
P = posterior(LISTS, SCORES, 1.0)
LABELLED = LISTS.replace_labels(np.round(SCORES))


@pytest.fixture(autouse=True)
def shorter(monkeypatch):
    monkeypatch.setattr(module, "SHORTEST", 64)


def test_shares_of_bootstrap_samples_are_those_of_single_ones():
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, (7, 9)).astype(float)
    values[5] = values[2] = values[values.mean(axis=1).argmax()]
    weights = rng.multinomial(9, np.full(9, 1 / 9), size=60)
    np.testing.assert_allclose(
        win_shares(values, weights), slow.win_shares(values.tolist(), weights.tolist())
    )


@pytest.mark.parametrize("name", ["sBLEU", "chrF", "WER", "TER"])
def test_what_is_kept_has_its_exact_value_and_the_winner_is_among_it(name):
    utility = utility_of(name)
    exact = decided(LISTS, SCORES, utility)
    found, report = pruned_gains(utility, Pairing.within(LISTS), P, 0.99)
    chosen = first_largest(exact, LISTS.offsets)
    np.testing.assert_array_equal(first_largest(found, LISTS.offsets), chosen)
    np.testing.assert_allclose(found[chosen], exact[chosen], rtol=1e-12)
    np.testing.assert_allclose(found[90:93], exact[90:93], rtol=1e-12)  # the short list
    assert (report.lists, report.candidates) == (2, 210)
    assert 2 <= report.kept < 60
    assert np.isclose(found, exact, rtol=1e-12).sum() >= report.kept + 3
    assert report.compared < 0.6 * report.pairs
    assert len(report.errors) == 2
    assert all(0 <= error <= 0.05 for error in report.errors)


@pytest.mark.parametrize("others", [False, True])
def test_all_is_compared_with_a_share_of_1_and_in_short_lists(others, monkeypatch):
    pairing = (
        Pairing(LISTS, LISTS.subset([2, 1, 0]), np.array([2, 1, 0])) if others else Pairing.within(LISTS)
    )
    p = posterior(pairing.others, SCORES if not others else SCORES[np.r_[93:213, 90:93, 0:90]], 1.0)
    utility, exact = utility_of("WER"), decided(LISTS, SCORES, utility_of("WER"))
    found, report = pruned_gains(utility, pairing, p, 1.0)
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert report.line() == "pruning: nothing is left out with 1, all pairs were compared"
    monkeypatch.setattr(module, "SHORTEST", 121)
    found, report = pruned_gains(utility, pairing, p, 0.99)
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    assert report.line() == "pruning: no list has 121 pseudo-references or more, all pairs were compared"


def test_less_confidence_keeps_less_and_the_seed_decides_what_is_drawn():
    def kept(alpha, seed=1):
        return pruned_gains(utility_of("sBLEU"), Pairing.within(LISTS), P, alpha, seed)

    np.testing.assert_array_equal(kept(0.99)[0], kept(0.99)[0])
    assert not np.array_equal(kept(0.99)[0], kept(0.99, seed=2)[0])
    assert kept(0.6)[1].kept <= kept(0.999)[1].kept
    assert kept(0.6)[1].compared < kept(0.999)[1].compared


def test_equal_candidates_are_all_kept_and_the_first_is_chosen():
    texts = [f"a b c{k % 2}" for k in range(100)]
    lists = CandidateLists.from_arrays(np.zeros((100, 1)), group=[100], texts=texts)
    p = np.full(100, 0.01)
    exact = decided(lists, np.zeros(100), utility_of("sBLEU"))
    found, _ = pruned_gains(utility_of("sBLEU"), Pairing.within(lists), p, 0.9)
    assert first_largest(found, lists.offsets)[0] == first_largest(exact, lists.offsets)[0] in (0, 1)


def test_a_posterior_with_one_candidate():
    p = np.zeros(LISTS.n_items)
    p[[5, 91, 100]] = 1.0
    found, _ = pruned_gains(utility_of("WER"), Pairing.within(LISTS), p, 0.99)
    assert set(first_largest(found, LISTS.offsets)) == {5, 91, 100}


def test_a_model_reports_what_it_left_out_and_keeps_the_setting(tmp_path):
    model = package.train(LABELLED, learner="ridge", scaling="none")
    made = package.decide(model, "chrF", temperature=0.5, prune=0.99, seed=4)
    loaded = saved(made, tmp_path)
    np.testing.assert_array_equal(loaded.score(LISTS), made.score(LISTS))
    assert loaded.decision_lines()[-1].startswith("pruning: ")
    assert "of 210 kept in 2 lists" in loaded.decision_lines()[-1]
    plain = package.decide(model, "chrF", temperature=0.5)
    assert len(plain.decision_lines()) == 1
    assert "prune" not in plain.decision.as_json()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"prune": 0.5}, "prune: found 0.5, expected a number above 0.5, at most 1"),
        ({"prune": np.nan}, "prune: found nan"),
        ({"seed": 2}, "seed: not used without prune"),
        ({"prune": 0.9, "utility": "votes"}, "utility votes is no metric of texts or trees"),
        ({"prune": 0.9, "utility": "kernel:gaussian"}, "is no metric of texts or trees"),
    ],
)
def test_what_has_no_effect_is_refused(settings, message):
    model = package.train(LABELLED, learner="ridge")
    with pytest.raises(ConfigError, match=message):
        package.decide(model, **{"utility": "sBLEU"} | settings).score(LISTS)


def test_the_options(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package.save(LABELLED, "long.store")
    package.train(LABELLED, learner="ridge", scaling="none").save("model")
    mbr = ("predict", "model", "long.store", "--decide", "mbr", "--utility", "WER")
    result = rerank(*mbr, "--prune", "0.99", "--out", "a")
    assert "estimated P(winner left out)" in result.err
    rerank(*mbr, "--prune", "0.99", "--prune-seed", "1", "--out", "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert "--prune-seed: not used without --prune" in rerank(*mbr, "--prune-seed", "1", code=2).err
    assert "prune" in rerank(*mbr, "--prune", "0.2", code=2).err
    assert (
        "not used without --decide" in rerank("predict", "model", "long.store", "--prune", "0.9", code=2).err
    )
