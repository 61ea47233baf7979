"""Results for pages of every kind, and what a parser finds on a page."""

from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
from reference.everything import judged_lists
from small_judging import of_systems, part_of, results

from rerank.data.columns.strings import StringColumn
from rerank.evaluation.results import Run

METRICS = ("AP", "WER")
VOID = {"meta", "link", "br", "img", "input", "hr"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "$x^{2}$ & \\frac 'quoted' \"double\"",
    "日本語 русский \u202eothgir",
    "long " + "name" * 75,
    "&lt;b&gt; https://example.org/a?b=c&d",
    "{{ 7 * 7 }} {% include 'x' %}",
    "a\nb\tc\x07",
)


def outcome(lists, drawn, noise=1.0, *, seed=None, models=True):
    """Scores near the labels, a learning curve and weights."""
    rng = np.random.default_rng([drawn, seed or 0])
    scores = np.nan_to_num(lists.labels) + noise * rng.standard_normal(lists.n_items)
    curve = [{"round": t, "train": 0.5 - 0.3 / t, "dev": 0.4 - 0.2 / t} for t in range(1, 8 + (seed or 0))]
    weights = {f"feature {i}": float(rng.standard_normal()) for i in range(20)}
    return Run(scores, seed, curve if models else (), weights if models else {})


def folds_of(n_folds, metrics=METRICS, ids=""):
    """Parts of lists with every column."""
    parts = []
    for k in range(n_folds):
        lists = judged_lists(k, sizes=(1, 4, 3, 2, 12, 9, 4, 7, 6, 30))
        names = [f"{ids}{k}.{i}" for i in range(lists.n_lists)]
        lists = replace(lists, list_ids=StringColumn.from_strings(names))
        parts.append(part_of(str(k + 1), lists, metrics))
    return tuple(parts)


SYSTEMS = ("perceptron", "ranksvm", "listnet")


def experiment(
    systems=SYSTEMS, *, n_folds=2, seeds=(1, 2), shares=(50, 100), metrics=METRICS, models=True, **more
):
    """Results of an experiment with everything that a page can show."""
    parts = folds_of(n_folds, metrics)
    rows = {
        name: {
            share: tuple(
                tuple(
                    outcome(part.lists, 100 * j + share, 0.4 + j, seed=seed, models=models) for seed in seeds
                )
                for part in parts
            )
            for share in shares
        }
        for j, name in enumerate(systems)
    }
    settings = {"baseline": systems[0] if systems else None, "samples": 50}
    return results("an experiment", parts, rows, **settings | more)


def scored(n=2, metrics=METRICS, **more):
    """Results of score files of one set."""
    (part,) = folds_of(1, metrics)
    systems = {f"{i}.scores": outcome(part.lists, i, 1.0 + i).scores for i in range(n)}
    return of_systems(part.lists, systems, metrics, name="one set", samples=50, **more)


class Page(HTMLParser):
    """A page in pieces; a tag that is not closed is a fault."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.attributes: list[tuple[str, dict[str, str | None]]] = []
        self.headings: list[tuple[int, str]] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self._note(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._note(tag, attrs)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("style", "script"):
            self.words.append(data)
        if self.open and self.open[-1] in ("h1", "h2", "h3"):
            self.headings.append((int(self.open[-1][1]), data))

    def _note(self, tag, attrs):
        found = dict(attrs)
        assert len(found) == len(attrs), attrs
        self.tags[tag] += 1
        self.attributes.append((tag, found))
        if "id" in found:
            self.ids[found["id"]] += 1
        self.links += [found[key] for key in ("href", "src") if key in found]

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())

    def of(self, tag):
        """The attributes of every such tag."""
        return [attributes for name, attributes in self.attributes if name == tag]

    def figures(self):
        """What figures say of themselves."""
        return [found["aria-label"] for found in self.of("svg") if found.get("role") == "img"]
