"""What single sections of the page say: choices of lists, curves, weights; SVG as part of a page."""

import re
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

from small_judging import of_systems
from small_judging import results as results_
from small_pages import Page, experiment, folds_of, scored

from rerank.core.figures import svg_of
from rerank.core.tables.table import Column, Row, Table
from rerank.evaluation.by_list import extremes, gains
from rerank.evaluation.results import Run
from rerank.report.page.cards import lists_section
from rerank.report.page.curves import curves_section, oracles_section, weights_section
from rerank.report.page.drawing import Pen
from rerank.report.page.gains import sizes_section
from rerank.report.page.inline import GAIN, SERIES, SETTINGS, inlined
from rerank.report.page.parts import View, cells_of, ends, number


def view(results):
    return View(results, Pen())


def words(candidate):
    return " ".join(piece.text for piece in candidate.pieces)


def test_cards_show_what_both_chose():
    results = scored(2, ("WER",))
    found = lists_section(view(results))
    lists = results.parts[0].lists
    scores = {"first-best": lists.first_best} | {
        name: lists.from_input_order(results.runs_of(name)[0][0].scores) for name in results.runs
    }
    best = min(results.runs, key=lambda name: results.metrics["WER"].rows[name][100].value)
    gained, lost = extremes(gains(results, "WER", best, "first_best"), 10)
    assert [group.title.split(":")[0] for group in found.cards[:2]] == [best, best]
    for group, chosen in zip(found.cards, (gained, lost), strict=False):
        assert [card.name for card in group.cards] == [f"List {lists.list_id(i)}" for i in chosen.tolist()]
        for card, i in zip(group.cards, chosen.tolist(), strict=True):
            a, b = int(lists.offsets[i]), int(lists.offsets[i + 1])
            assert list(card.references) == [column[i] for column in lists.references]
            for choice in card.choices:
                (candidate,) = choice.candidates
                top = a + int(np.argmax(scores[choice.system][a:b]))
                assert words(candidate) == lists.texts[top]
            marked = [{p.text for p in choice.candidates[0].pieces if p.changed} for choice in card.choices]
            assert bool(marked[0] | marked[1]) == (
                words(card.choices[0].candidates[0]) != words(card.choices[1].candidates[0])
            )


def test_rankings_without_texts_show_ids_labels_and_the_best_rank():
    (part,) = folds_of(1, ("AP",))
    lists = replace(part.lists, texts=None, references=(), trees=None, gold=None)
    rng = np.random.default_rng(0)
    systems = {name: rng.integers(0, 3, lists.n_items).astype(float) for name in "ab"}
    results = of_systems(lists, systems, ["AP"], baseline="a", ties="trec")
    found = lists_section(view(results))
    card = found.cards[0].cards[0]
    i = [f"List {lists.list_id(k)}" for k in range(lists.n_lists)].index(card.name)
    items = range(int(lists.offsets[i]), int(lists.offsets[i + 1]))
    for choice in card.choices:
        scores = systems[choice.system]
        order = sorted(items, key=lambda k: (scores[k], lists.item_ids[k].encode()), reverse=True)
        assert [words(one) for one in choice.candidates] == [lists.item_ids[k] for k in order[:5]]
        labels = [lists.labels[k] for k in order]
        place = labels.index(np.nanmax(labels)) + 1
        assert choice.best == f"best label at rank {place} of {len(order)}"
        assert [one.label for one in choice.candidates] == [
            "not judged" if np.isnan(label) else f"label {label:g}" for label in labels[:5]
        ]


def models_of(curves, weights):
    (part,) = folds_of(1, ("AP",))
    outcomes = tuple(
        Run(np.zeros(part.lists.n_items), seed, curve, weight)
        for seed, (curve, weight) in enumerate(zip(curves, weights, strict=True))
    )
    return results_("models", (part,), {"a": {100: (outcomes,)}}, samples=5)


def test_oracles_are_drawn_by_k():
    found = experiment(shares=(100,), metrics=("oracle3.WER", "AP", "WER", "oracle2.label@1", "oracle2.WER"))
    section = oracles_section(view(found))
    (wer,) = section.figures
    metrics = found.metrics
    by_k = {1: metrics["WER"], 2: metrics["oracle2.WER"], 3: metrics["oracle3.WER"]}
    (alt,) = Page(wer.svg).figures()
    assert alt.startswith("WER (lower is better) by K, first candidates of a list: first-best ")
    for row in found.runs:
        values = [f"{of.rows[row][100].value:.2f} at K = {k}" for k, of in by_k.items()]
        assert f"; {row} {', '.join(values)}" in alt
    assert f"; oracle {', '.join(f'{by_k[1].oracle:.2f} at K = {k}' for k in by_k)}; " in alt
    looks = {key.name: key.look for key in wer.keys if key.look >= 0}
    assert sorted(looks.values()) == [0, 1, 2]
    assert looks[f"{found.baseline}, baseline"] == 1
    assert wer.title == "WER by K"


@pytest.mark.parametrize("metrics", [("AP", "WER"), ("oracle2.WER", "AP"), ("oracle2.WER", "label@1")])
def test_no_curve_has_one_oracle(metrics):
    assert oracles_section(view(experiment(shares=(100,), metrics=metrics))) is None


def test_oracles_without_their_metric_have_its_name():
    names = ("oracle2.label@1", "oracle4.label@1")
    (figure,) = oracles_section(view(experiment(shares=(100,), metrics=names))).figures
    assert figure.title == "label@1 by K"
    assert "perceptron" in Page(figure.svg).figures()[0]
    assert "K = 1" not in Page(figure.svg).figures()[0]


def test_lists_by_size_are_those_of_the_tests():
    results = experiment(("base", "a", "b", "c", "d", "e"), shares=(100,), metrics=("AP", "WER"))
    section = sizes_section(view(results))
    for table, figure, found in zip(section.tables, section.figures, results.metrics.values(), strict=True):
        assert [row.cells[0] for row in table.rows] == ["a", "b", "c", "d", "e"]
        assert len(table.columns) == 8
        for row in table.rows:
            counts = row.cells[1:]
            pair = found.against(row.cells[0], "base")
            assert (sum(counts[4:]), counts[3], sum(counts[:3])) == (pair.wins, pair.ties, pair.losses)
        assert len(figure.keys) == 3
        for key in figure.keys:
            row = next(row for row in table.rows if row.cells[0] == key.name)
            said = [
                f"{n} with {column.head}"
                for column, n in zip(table.columns[1:], row.cells[1:], strict=True)
                if n
            ]
            assert f" {key.name} {', '.join(said)}" in Page(figure.svg).figures()[0]
    assert section.lead.endswith(" The 3 best of 5 systems are drawn.")


def test_a_metric_of_few_values_has_no_bins_that_no_gain_can_be_in():
    results = experiment(("base", "a", "b"), shares=(100,), metrics=("P@2",))
    (table,) = sizes_section(view(results)).tables
    assert [column.head for column in table.columns[1:]] == [
        *("below −0.2", "−0.2 to 0", "0", "0 to 0.2", "above 0.2")
    ]
    metric = results.metrics["P@2"]
    for row in table.rows:
        pair = metric.against(row.cells[0], "base")
        assert (sum(row.cells[4:]), row.cells[3], sum(row.cells[1:3])) == (pair.wins, pair.ties, pair.losses)


def test_curves_end_with_the_rounds_that_every_model_has():
    curves = [[{"round": t, "train": float(t + s)} for t in range(1, 4 + 2 * s)] for s in (0, 1)]
    (figure,) = curves_section(view(models_of(curves, [{}, {}]))).figures
    (alt,) = Page(figure.svg).figures()
    assert alt == (
        "Learning curve of a, 2 models: train from 1.5000 in round 1 to 3.5000 in round 3, "
        "between 1.5000 and 3.5000."
    )
    assert figure.caption == "2 models. Shown to round 3, which every model has."
    tips = re.findall(r"<title>([^<]*)</title>", figure.svg)
    assert tips == [f"train, {t}: {t + 0.5:.4f} ({t:.4f} to {t + 1:.4f})" for t in (1, 2, 3)]


def test_weights_are_means_over_the_models_that_record_them():
    weights = [{"a": 1.0, "b": -3.0}, {"a": 300.0, "c": 100.0, "d": float("nan")}, {"e": 0.0}]
    (figure,) = weights_section(view(models_of([(), (), ()], weights))).figures
    tips = re.findall(r"<title>([^<]*)</title>", figure.svg)
    assert tips == [
        "a: +0.5000 (+0.2500 to +0.7500), recorded of 2 of 3 models",
        "b: −0.7500 (−0.7500 to −0.7500), recorded of 1 of 3 models",
        "c: +0.2500 (+0.2500 to +0.2500), recorded of 1 of 3 models",
        "e: +0.0000 (+0.0000 to +0.0000), recorded of 1 of 3 models",
    ]


def test_svg_becomes_part_of_a_page():
    def draw(axes):
        axes.plot([1, 2, 3], [1.0, 4.0, 2.0], color=SERIES[1], marker="o", gid="marks")
        axes.fill_between([1, 2], [0, 0], [1, 1], color=GAIN)
        axes.set_title("<b> & 'quoted'", parse_math=False)

    svg = svg_of(draw, (3.0, 2.0), SETTINGS)
    text = inlined(svg, "f7", 'a "figure" of 3', {"marks": ["one", "two <b>", "three"]})
    page = Page(text)
    assert page.figures() == ['a "figure" of 3']
    assert "<b> & 'quoted'" in page.text
    assert re.findall(r"<title>([^<]*)</title>", text) == ["one", "two &lt;b&gt;", "three"]
    assert {"var(--s2)", "var(--gain)", "var(--ink)"} <= set(re.findall(r"var\(--\w+\)", text))
    assert not re.search(r"#[0-9a-f]{6}", text)
    assert "http" not in text
    used = set(re.findall(r'(?:href="|url\()#([^")]*)', text))
    assert used == set(page.ids)
    assert all(name.startswith("f7-") for name in used)


def test_as_many_texts_as_marks_are_needed():
    svg = svg_of(lambda axes: axes.plot([1, 2], [1, 2], "o", gid="marks"), (3.0, 2.0), SETTINGS)
    with pytest.raises(ValueError, match="zip"):
        inlined(svg, "f1", "a figure", {"marks": ["one"]})


@pytest.mark.parametrize(
    ("value", "plain", "signed"),
    [
        (1.25, "1.2", "+1.2"),
        (-0.04, "0.0", "+0.0"),
        (-2.0, "−2.0", "−2.0"),
        (None, "–", "–"),
        (float("nan"), "–", "–"),
    ],
)
def test_numbers(value, plain, signed):
    assert number(value, 1) == plain
    assert number(value, 1, signed=True) == signed


def test_intervals_and_keys():
    assert ends((-1.0, 2.0), 1) == "−1.0 to 2.0"
    assert ends(None, 1) == "–"
    columns = (Column("", ("name",), left=True), Column("", ("value",), lambda _: "x"))
    values = (None, float("nan"), 0.5, np.float64(2.0), 3, (0.25, 1.0), "")
    table = Table(columns, tuple(Row(("a", value)) for value in values))
    keys = [cells_of(table, row)[0].key for row in table.rows]
    assert keys == ["", "", "0.5", "2.0", "3.0", "0.25", ""]


def test_the_best_and_the_baseline_are_drawn():
    results = experiment(
        tuple("abcdefghijkl"), n_folds=1, seeds=(None,), shares=(100,), metrics=("AP",), baseline="l"
    )
    found = view(results)
    values = {name: shares[100].value for name, shares in results.metrics["AP"].rows.items()}
    best = sorted((name for name in values if name != "l"), key=lambda name: -values[name])
    assert found.compared == best[:3]
    assert found.drawn == [name for name in "abcdefghijkl" if name in best[:7] or name == "l"]
