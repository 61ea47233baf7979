"""Features of texts in experiments: each cell counts words in its training lists, never in test lists."""

import json

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError
from rerank.experiments.config import read_experiment
from rerank.experiments.folder import read_run
from rerank.experiments.planning import plan_of
from rerank.experiments.run import run
from rerank.models.base import load_model

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")
WORDS = ["mill", "dam", "tower", "river", "Rome", "Ida", "old", "built", "stone", "bridge", "gate", "wall"]
CONFIG = """\
data: {{{data}, query_column: ask, text_column: passage}}
select: {{metric: AP}}
metrics: [AP]
{more}features_from: text
learners:
  text: {{name: ridge}}
  without score: {{name: ridge, data: {{features: -score}}, texts: {{k1: 0.5}}}}
  background: {{name: ridge, texts: {{background: words.tsv, stop_words: stop.txt}}}}
  adapted: {{name: list-iw, base: ridge}}
  score: {{name: ridge, features_from: []}}
"""


def rows(seed, n=6):
    rng = np.random.default_rng(seed)
    for i in range(n):
        ask = rng.choice(WORDS, 3, replace=False).tolist()
        for j in range(4):
            words = [*ask[: j % 3], *rng.choice(WORDS, 4).tolist()]
            row = {"qid": f"{seed}-{i}", "ask": " ".join(ask), "passage": " ".join(words), "text": "unused"}
            yield {**row, "label": j % 3, "score": float(rng.random())}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "words.tsv").write_text("1\tthe old mill\n2\ta dam in Rome\n")
    (tmp_path / "in" / "stop.txt").write_text("old\n")
    put(rows(1), "train")
    put(rows(2), "test")
    return tmp_path


def put(given, name):
    with open(f"in/{name}.jsonl", "w") as file:
        file.writelines(json.dumps(row) + "\n" for row in given)


def write(data="train: train.jsonl, test: test.jsonl", more="", **changes):
    text = CONFIG.format(data=data, more=more)
    for old, new in changes.values():
        text = text.replace(old, new)
    with open("in/run.yaml", "w") as file:
        file.write(text)


def scores(out):
    found = read_run(out)
    return {cell.row: found.scores(cell) for cell in found.cells}


def test_cells_count_words_in_their_training_lists_alone(folder):
    """Test lists with other words, in large number, change nothing; models read the same columns."""
    write()
    assert not run("in/run.yaml", "one", models=True).failed
    more = [{**row, "passage": "mill mill dam " * 9} for row in rows(3, 40)]
    put([*rows(2), *more], "test")
    run("in/run.yaml", "two")
    before, after = scores("one"), scores("two")
    reading = {"query_column": "ask", "text_column": "passage"}
    lists, test = (rerank.load(f"in/{name}.jsonl", **reading) for name in ("train", "test"))
    alone = test.subset(range(6))
    for row in before.keys() - {"adapted"}:  # which sees the other test lists
        np.testing.assert_array_equal(after[row][: alone.n_items], before[row])
    of_texts = rerank.train(lists, "ridge", features_from="text", select=None)
    np.testing.assert_allclose(before["text"], of_texts.score(alone), rtol=1e-12)
    found = read_run("one")
    for cell in found.cells:
        model = load_model(found.file("cells", cell.key, "model"))
        sources = model.chain.sources
        assert [one.statistics.n_texts for one in sources] == (
            [] if cell.row == "score" else [2 if cell.row == "background" else 24]
        )
        assert model.input_names == ([] if cell.row == "without score" else ["score"])
        assert [(one.query, one.text) for one in sources] == [("ask", ("passage",))] * len(sources)


def test_drawn_folds_and_jobs(folder):
    write("train: train.jsonl", "folds: 3\nfold_dev: none\n")
    assert not run("in/run.yaml", "out", models=True).failed
    found = read_run("out")
    for cell in found.cells:
        if cell.row in ("text", "adapted"):
            model = load_model(found.file("cells", cell.key, "model"))
            assert model.chain.sources[0].statistics.n_texts == 16


def test_what_changes_a_cell_and_what_is_refused(folder):
    def keys():
        return {cell.row: cell.key for cell in plan_of(read_experiment("in/run.yaml")).record.cells}

    write()
    first = keys()
    (folder / "in" / "words.tsv").write_text("1\tanother\n")
    assert {row for row, key in keys().items() if key != first[row]} == {"background"}
    write(more="texts: {b: 0.5}\n")
    assert {row for row, key in keys().items() if key == first[row]} == {"score"}
    for changes, message in (
        (
            (" features_from: []", " features_from: [], texts: {b: 0.5}"),
            "learners.score: b: not used without",
        ),
        (("\nfeatures_from: text", "\nfeatures_from: words"), "features_from: found 'words'"),
        (("{k1: 0.5}", "{k2: 0.5}"), "learners.without score: .*unknown setting .*k2"),
        (("background: words", "background: absent"), "absent.tsv"),
    ):
        write(changes=changes)
        with pytest.raises((ConfigError, rerank.RerankError), match=message):
            plan_of(read_experiment("in/run.yaml"))
    write(
        more="texts: {b: 0.5}\n",
        changes=("\nfeatures_from: text", ""),
        rest=(", texts: {k1: 0.5}", ""),
        last=(", texts: {background: words.tsv, stop_words: stop.txt}", ""),
    )
    with pytest.raises(ConfigError, match="texts: not used by any row without features_from: text"):
        read_experiment("in/run.yaml")


def test_lists_to_be_ranked_get_the_same_features(folder):
    reading = {"query_column": "ask", "text_column": "passage"}
    lists, test = (rerank.load(f"in/{name}.jsonl", **reading) for name in ("train", "test"))
    ready = rerank.text_features(lists)
    own = rerank.train(ready.lists, "list-iw", base="ridge", unlabelled=ready.fitted.apply(test))
    made = rerank.train(lists, "list-iw", base="ridge", unlabelled=test, features_from="text")
    np.testing.assert_allclose(made.score(test), own.score(ready.fitted.apply(test)), rtol=1e-9)
