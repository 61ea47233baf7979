"""``rerank.rate`` and ``rerank rate``: ladders, intervals, fit, what to compare next, and bad input."""

from __future__ import annotations

import gzip
import itertools
import json
import warnings

import numpy as np
import pytest
from reading import quietly
from reference import preferences as twin

import rerank as product
from rerank.core.errors import ConfigError, DataError, RerankError
from rerank.extensions.preferences.comparisons import comparisons_of
from rerank.extensions.preferences.connections import components
from rerank.extensions.preferences.intervals import QUANTILE
from rerank.extensions.preferences.ladder import likelihood
from rerank.extensions.preferences.next_comparisons import next_comparisons


def battles(n=5, size=200, seed=0, prompts=40, tied=0.2):
    rng = np.random.default_rng(seed)
    strengths = np.linspace(1, -1, n)
    rows = []
    for _ in range(size):
        i, j = rng.choice(n, 2, replace=False)
        wins = rng.random() < 1 / (1 + np.exp(strengths[j] - strengths[i]))
        verdict = "tie" if rng.random() < tied else "first" if wins else "second"
        rows.append(
            {"list": int(rng.integers(prompts)), "first": f"s{i}", "second": f"s{j}", "winner": verdict}
            | {"judge": "xy"[rng.integers(2)], "length_1": int(rng.integers(9)), "length_2": 4}
        )
    return rows


def test_the_ladder_counts_wins_and_ranks_by_strength():
    rows = battles()
    found = product.rate(rows, intervals="none")
    assert found.items[0] == "s0"
    assert found.items[-1] == "s4"
    assert np.all(np.diff(found.strengths) <= 0)
    for item, counts in zip(found.items, found.counts.tolist(), strict=True):
        own = [row for row in rows if item in (row["first"], row["second"])]
        won = sum(row[row["winner"]] == item for row in own if row["winner"] != "tie")
        tied = sum(row["winner"] == "tie" for row in own)
        assert counts == [won, tied, len(own) - won - tied]
    others = 1 / (1 + np.exp(found.strengths[None, :] - found.strengths[:, None]))
    np.testing.assert_allclose(found.win_rates, (others.sum(axis=1) - 0.5) / 4)
    with_reference = product.rate(rows, intervals="none", reference="s2")
    at = with_reference.items.index("s2")
    assert with_reference.strengths[at] == 0
    np.testing.assert_allclose(np.diff(with_reference.strengths), np.diff(found.strengths), atol=1e-9)
    np.testing.assert_allclose(with_reference.win_rates, others[:, at])


def test_swapping_the_sides_changes_nothing_but_the_order_effect():
    rows = battles()
    turned = {"first": "second", "second": "first", "tie": "tie"}
    other = [
        {**row, "first": row["second"], "second": row["first"], "winner": turned[row["winner"]]}
        | {"length_1": row["length_2"], "length_2": row["length_1"]}
        for row in rows
    ]
    for settings in ({}, {"ties": "davidson"}, {"order": True}, {"length": "shared"}, {"length": "each"}):
        one, two = (product.rate(given, intervals="none", **settings) for given in (rows, other))
        assert one.items == two.items
        np.testing.assert_allclose(one.strengths, two.strengths, atol=1e-7)
        if "order" in settings:
            assert one.effects["order"] == pytest.approx(-two.effects["order"], abs=1e-7)


def test_intervals_of_profile_likelihood_are_where_it_falls_by_half_of_chi_square():
    rows = battles(n=3, size=40)
    given = comparisons_of(rows)
    found = product.rate(given, intervals="profile")
    best = found.log_likelihood
    order = [found.items.index(name) for name in given.items]
    listed = [
        (order[given.first[k]], order[given.second[k]], given.outcomes[k], 0.0, 0) for k in range(len(given))
    ]
    for i, side in itertools.product(range(3), (0, 1)):
        end = found.intervals[i, side]

        def value(x, i=i, end=end):  # strengths whose mean is 0 and of which i is ``end``
            y = [0.0, 0.0, 0.0]
            y[i], y[(i + 1) % 3] = end, x[0]
            y[(i + 2) % 3] = -end - x[0]
            return twin.log_likelihood(y, listed)

        _, profile = twin.climbed(value, [0.0], [0])
        assert 2 * (best - profile) == pytest.approx(QUANTILE**2, abs=1e-4)
        assert (end > found.strengths[i]) == bool(side)


def test_intervals_of_all_kinds_are_close_for_many_comparisons():
    rows = battles(size=1500, prompts=1500, tied=0.0)
    ends = [
        product.rate(rows, intervals=kind, samples=200).intervals for kind in ("profile", "wald", "bootstrap")
    ]
    np.testing.assert_allclose(ends[0], ends[1], atol=0.01)
    np.testing.assert_allclose(ends[0], ends[2], atol=0.06)


@pytest.mark.filterwarnings("ignore:.*each comparison comes twice")
def test_the_bootstrap_draws_prompts_with_all_their_comparisons():
    rows = battles(size=100, prompts=100)
    once = product.rate(rows, intervals="wald").intervals
    tripled = [row for row in rows for _ in range(3)]
    found = product.rate(tripled, samples=300)
    assert found.settings["intervals"] == "bootstrap"
    width = np.diff(found.intervals).mean() / np.diff(once).mean()
    assert 0.8 < width < 1.25  # answers to one prompt are not new ones; without prompts it would be 0.58
    again = product.rate(tripled, samples=300)
    np.testing.assert_array_equal(found.intervals, again.intervals)


def test_samples_without_a_maximum_are_reported():
    rows = [{"first": "a", "second": "b", "winner": w} for w in ("first",) * 5 + ("second",)]
    found = product.rate(rows, intervals="bootstrap", samples=50)
    assert any("of 50 samples of the bootstrap have no finite strengths" in note for note in found.notes)


def test_the_default_intervals_depend_on_prompts_and_size():
    rows = battles(size=60)
    assert product.rate(rows, samples=5).settings["intervals"] == "bootstrap"
    assert product.rate([{**row, "list": k} for k, row in enumerate(rows)]).settings["intervals"] == "profile"
    many = [(f"i{k}", f"i{(k + 1) % 150}") for k in range(150)]
    assert product.rate(many).settings["intervals"] == "wald"


def test_judges_that_answer_at_random_have_small_slopes():
    rng = np.random.default_rng(1)
    rows = battles(size=600, tied=0.0)
    for row in rows:
        row["judge"] = "xyz"[rng.integers(3)]
        if row["judge"] == "z":
            row["winner"] = ("first", "second")[rng.integers(2)]
    found = product.rate(rows, judge_effects=True, intervals="none")
    assert found.effects["judge z"] < 0.4 < min(found.effects["judge x"], found.effects["judge y"])


def test_fit_and_cyclic_triads_are_those_of_the_definitions():
    given = comparisons_of(battles(size=100))
    model = likelihood(given)
    x = model.maximum()
    fit = product.rate(given, intervals="none").fit
    n, lead, statistic = 5, np.zeros((5, 5)), 0.0
    for i, j in itertools.combinations(range(n), 2):
        score = total = 0.0
        for k in range(len(given)):
            pair = (given.first[k], given.second[k])
            own = given.outcomes[k] if pair == (i, j) else given.outcomes[k][::-1] if pair == (j, i) else None
            if own is not None:
                score, total = score + own[0] + own[1] / 2, total + 1
        p = twin.probabilities(x[i] - x[j])[0]
        statistic += (score - total * p) ** 2 / (total * p * (1 - p))
        lead[i, j], lead[j, i] = 2 * score - total, total - 2 * score
    assert fit.chi_square == pytest.approx(statistic, rel=1e-9)
    assert fit.degrees == 10 - 4
    assert (fit.cycles, fit.triads) == twin.cyclic_triads(n, lead)
    stats = pytest.importorskip("scipy.stats")
    assert fit.p == pytest.approx(stats.chi2.sf(statistic, 6))


def test_a_cycle_is_seen_in_the_fit():
    games = [("a", "b"), ("b", "c"), ("c", "a")] * 20
    found = product.rate(games, intervals="none")
    assert np.allclose(found.strengths, 0)
    assert found.fit.p < 1e-6
    assert (found.fit.cycles, found.fit.triads) == (1, 1)
    assert any("1 of 1 triads are cyclic" in note for note in found.notes)


@pytest.mark.parametrize("tie", [None, 0.3])
def test_the_next_comparison_lowers_the_mean_variance_most(tie):
    rng = np.random.default_rng(2)
    strengths = rng.normal(size=4)
    information = np.zeros((4, 4))
    for i, j in itertools.combinations(range(4), 2):
        c = np.eye(4)[i] - np.eye(4)[j]
        information += rng.integers(1, 9) * np.outer(c, c)
    covariance = np.linalg.pinv(information)
    found = next_comparisons(covariance, strengths, list("abcd"), 2, tie)
    for one in found:
        before, best = twin.mean_variance(covariance), {}
        for i, j in itertools.combinations(range(4), 2):
            c = np.eye(4)[i] - np.eye(4)[j]
            p = twin.probabilities(strengths[i] - strengths[j], tie)
            weight = (p[0] + p[2] - (p[0] - p[2]) ** 2) / 4
            after = np.linalg.pinv(np.linalg.pinv(covariance) + weight * np.outer(c, c))
            best["abcd"[i], "abcd"[j]] = (1 - twin.mean_variance(after) / before, after)
        top = max(best, key=lambda pair: best[pair][0])
        assert (one.first, one.second) == top
        assert one.reduction == pytest.approx(best[top][0])
        covariance = best[top][1]


def test_components_are_those_of_a_walk():
    games = [("a", "b"), ("c", "d"), ("d", "e"), ("f", "a")]
    given = comparisons_of(games)
    rows = list(zip(given.first.tolist(), given.second.tolist(), strict=True))
    found = [part.tolist() for part in components(likelihood(given))]
    assert sorted(found) == sorted(twin.components(6, rows))


@pytest.mark.parametrize(
    ("games", "message"),
    [
        (
            [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c")],
            r"2 components: {a, b}; {c, d}; expected one that connects them, or",
        ),
        ([("a", "b"), ("b", "c"), ("c", "b")], "'a' won every comparison: strengths are infinite"),
        ([("a", "b"), ("b", "a"), ("b", "c")], "'c' lost every comparison"),
        (
            [("a", "b"), ("b", "a"), ("c", "d"), ("d", "c"), ("a", "c")],
            r"a, b \(2 items\) won every comparison with the others",
        ),
    ],
)
def test_without_a_prior_infinite_strengths_are_refused_and_with_one_they_are_not(games, message):
    with pytest.raises(DataError, match=message):
        product.rate(games)
    found = product.rate(games, prior=1.0)
    assert np.isfinite(found.strengths).all()
    assert np.isfinite(found.intervals).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reference": "s9"}, "unknown reference 's9'; did you mean"),
        ({"prior": 0.0}, "prior: found 0"),
        ({"length": "long"}, "unknown length"),
        ({"intervals": "sandwich"}, "unknown intervals"),
        ({"scale": "log"}, "unknown scale"),
        ({"ties": "half", "samples": 0}, "found 0 samples"),
        ({"judge_effects": True, "intervals": "profile"}, "not used with judge effects"),
    ],
)
def test_wrong_settings_are_one_line(settings, message):
    with pytest.raises(RerankError, match=message):
        product.rate(battles(size=60), **settings)


@pytest.mark.parametrize(
    ("given", "settings", "message"),
    [
        ([("a", "b"), ("b", "a")], {"order": True}, "does not tell which item was shown first"),
        ([("a", "b"), ("b", "a")], {"length": "shared"}, "found no lengths"),
        ([("a", "b"), ("b", "a")], {"judge_effects": True}, "found no column of judges"),
        ([("a", "b"), ("b", "a")], {"ties": "davidson"}, "found no tie"),
        ([{"ranking": "a > b"}, {"ranking": "b > a"}], {"order": True}, "not used with rankings"),
    ],
)
def test_settings_that_the_comparisons_lack_are_refused(given, settings, message):
    with pytest.raises(RerankError, match=message):
        product.rate(given, **settings)


def test_elo_is_another_scale_of_the_same_ladder(tmp_path, rerank):
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in battles()))
    logit = json.loads(rerank("rate", path, "--intervals", "wald", "--as", "json").out)
    elo = json.loads(rerank("rate", path, "--intervals", "wald", "--as", "json", "--scale", "elo").out)
    for one, two in zip(logit["items"], elo["items"], strict=True):
        for key in ("strength", "low", "high"):
            assert two[key] == pytest.approx(1000 + one[key] * 400 / np.log(10))
    table = rerank("rate", path, "--intervals", "none", "--as", "csv").out.splitlines()
    assert table[1].split(",")[3:5] == ["", ""]
    assert table[0] == "rank,item,strength,low,high,win_rate,won,tied,lost"
    assert len(table) == 6
    out = tmp_path / "ladder.txt"
    rerank("rate", path, "--ties", "davidson", "--next", "2", "--out", out)
    assert "compare next" in out.read_text()
    assert "tie" in out.read_text()


def test_the_command_line_ends_with_2_on_bad_input(tmp_path, rerank):
    path = tmp_path / "a.tsv"
    path.write_text("first\tsecond\twinner\na\tb\tfirst\n")
    assert "won every comparison" in rerank("rate", path, code=2).err
    assert "is one of the input files" in rerank("rate", path, "--prior", "1", "--out", path, code=2).err
    assert "expected ROLE=NAME" in rerank("rate", path, "--column", "first", code=2).err
    assert "a column 'x'" in rerank("rate", path, "--column", "first=x", code=2).err


def test_rankings_are_rated_by_plackett_luce():
    rankings = [
        {"ranking": one} for one in (["a", "b", "c"], ["b", "c", "a"], ["a", "c", "b"], ["c", "a", "b"])
    ]
    found = product.rate(rankings, intervals="profile", next=1)
    assert found.items[0] == "a"
    assert found.fit is None
    assert found.counts[0].tolist() == [5, 0, 3]
    assert np.isfinite(found.intervals).all()


def test_win_rates_of_alpaca_eval_are_those_published(shared_data):
    path = str(shared_data / "alpaca-preferences" / "preferences.tsv.gz")
    found = quietly(path, product.rate, reference="gpt4_1106_preview", intervals="none")
    rates = dict(zip(found.items, (100 * found.win_rates).tolist(), strict=True))
    # weighted_alpaca_eval_gpt4_turbo leaderboard of AlpacaEval 2, column win_rate
    published = {
        "claude-2": 17.188240356708075,
        "gpt4_0613_concise": 9.400320574596272,
        "text_davinci_001": 2.764005231108344,
        "phi-2": 2.350209543026152,
        "wizardlm-13b": 5.878152589354039,
    }
    for name, value in published.items():
        assert rates[name] == pytest.approx(value, abs=2e-4)
    with gzip.open(path, "rt") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert len(comparisons_of(path)) == sum(1 for _ in file) - 1 - 805
    controlled = quietly(path, product.rate, reference="gpt4_1106_preview", intervals="none", length="shared")
    assert controlled.effects["length"] > 1  # the judge prefers long answers


def test_a_config_error_names_what_is_wrong_with_columns():
    with pytest.raises(ConfigError, match="unknown role"):
        product.rate([("a", "b")], columns={"frist": "x"})


def test_judge_effects_have_wald_intervals_unless_prompts_repeat():
    games = [
        {
            "list": str(k),
            "first": "ab"[k % 2],
            "second": "ba"[k % 2],
            "winner": str(1 + k % 3 % 2),
            "judge": j,
        }
        for k, j in enumerate("xyxyxy")
    ]
    found = product.rate(games, judge_effects=True, prior=1.0)
    assert found.settings["intervals"] == "wald"
    with pytest.raises(ConfigError, match="intervals profile: not used with judge effects"):
        product.rate(games, judge_effects=True, prior=1.0, intervals="profile")
