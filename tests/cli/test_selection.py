"""``--features``: the columns that a verb reads."""

import json

import pytest

from rerank import load
from rerank.models.base import load_model

NAMES = ("--feature-names", "features.txt")


def test_training_on_some_features_and_scoring_the_whole_file(rerank, work):
    assert load("train.letor").n_features > 4
    rerank(
        "train", "--data", "train.letor", "--dev", "dev.letor", "-m", "RR", "--features", "2-4", "--out", "m"
    )
    model = load_model("m")
    assert model.feature_names == ["2", "3", "4"]
    assert model.training.data.features == "2-4"
    assert "features 2-4" in rerank("show", "m").out
    whole = rerank("predict", "m", "test.letor")
    assert "does not know" in whole.err
    some = rerank("predict", "m", "test.letor", "--features", "2-4", "--strict")
    assert (some.out, some.err) == (whole.out, "")
    rerank("convert", "test.letor", "--out", "some.letor", "--features", "2-4")
    assert rerank("predict", "m", "some.letor").out == whole.out
    rerank("convert", "test.letor", "--out", "some.store", "--features", "2-4")
    assert rerank("predict", "m", "some.store").out == whole.out


def test_names_need_names(rerank, work):
    rerank("train", "--data", "train.letor", *NAMES, "--features", "b*,-bigram_o*", "--out", "m", code=2)
    rerank("train", "--data", "train.letor", *NAMES, "--features", "-bigram_overlap", "--out", "m")
    assert "bigram_overlap" not in load_model("m").feature_names
    refused = rerank("predict", "m", "test.letor", code=2).err
    assert "expected those of the model" in refused
    refused = rerank("predict", "m", "test.letor", "--features", "-bigram_overlap", code=2).err
    assert "no feature matches 'bigram_overlap'; features have the numbers 1 to" in refused
    unnamed = ("--data", "train.letor", "--dev", "dev.letor", "-m", "RR")
    assert (
        "did you mean" in rerank("validate", "test.letor", *NAMES, "--features", "bigramoverlap", code=2).err
    )
    assert "no feature matches" in rerank("train", *unnamed, "--features", "99", "--out", "m", code=2).err


def test_the_first_best_need_not_be_selected(rerank, work):
    options = ("--first-best", "bigram_overlap", "--features", "-bigram_overlap", *NAMES)
    rerank("train", "--data", "train.letor", *options, "-m", "label@1", "--out", "m")
    a, b = (
        rerank("eval", "test.letor", "-m", "label@1", *more).out
        for more in (options, ("--first-best", "bigram_overlap", *NAMES))
    )
    assert a == b


def test_yaml_and_repeated_options_mean_the_same(rerank, work):
    work.joinpath("c.yaml").write_text("data: {train: train.letor, features: [1-3, -2]}\n")
    rerank("train", "c.yaml", "--out", "a")
    rerank("train", "--data", "train.letor", "--features", "1-3", "--features", "-2", "--out", "b")
    assert load_model("a").feature_names == load_model("b").feature_names == ["1", "3"]
    assert load("train.letor", features="1-3,-2").names() == ["1", "3"]


def test_files_are_joined_before_features_are_selected(rerank, work, tmp_path):
    (tmp_path / "a.letor").write_text("1 qid:1 1:1 2:5\n0 qid:1 1:0 2:6\n")
    (tmp_path / "b.letor").write_text("1 qid:2 1:1 3:1\n0 qid:2 1:0 3:9\n")
    rerank("train", "--data", "a.letor", "--data", "b.letor", "--features", "2-3", "--out", "m")
    assert load_model("m").feature_names == ["2", "3"]


@pytest.mark.parametrize("verb", ["pairs", "validate", "split", "label", "append", "features consensus"])
def test_every_verb_reads_the_selected_features(verb, rerank, nbest):
    more = {
        "split": ("--folds", "2", "--suffix", ".store", "--out", "parts"),
        "label": ("--metric", "sBLEU", "--refs", "dev.ref", "--out", "o.store"),
        "append": ("x=x.txt", "--out", "o.store"),
        "features consensus": ("--by", "ngram1", "--out", "o.store"),
    }.get(verb, ())
    if verb == "pairs":
        rerank("label", "dev.nbest", "--metric", "sBLEU", "--refs", "dev.ref", "--out", "l.store")
    (nbest / "x.txt").write_text("1\n" * 7)
    data = "l.store" if verb == "pairs" else "dev.nbest"
    rerank(*verb.split(), data, *more, "--features", "tm*")
    made = {"split": "parts/fold1/train.store"}.get(verb, "o.store")
    if more:
        names = load(made).names()
        assert [name for name in names if name.startswith("tm")]
        assert "lm" not in names
    assert "no feature matches 'xm*'" in rerank(*verb.split(), data, *more, "--features", "xm*", code=2).err


def test_several_runs_are_features_to_select(rerank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for tag, scores in (("one", (2, 1)), ("two", (1, 2))):
        (tmp_path / f"{tag}.run").write_text(
            "".join(f"1 Q0 d{k} {k + 1} {score} {tag}\n" for k, score in enumerate(scores))
        )
    rerank("convert", "one.run", "--out", "o.store", "--merge", "two.run", "--features", "two")
    assert load("o.store").names() == ["two"]


def test_show_filters_features_and_prints_raw_weights(rerank, work):
    rerank(
        "train", "--data", "train.letor", *NAMES, "--learner", "ranksvm", "--scaling", "zscore", "--out", "m"
    )
    text = rerank("show", "m", "--features", "b*", "--unscaled").out
    assert "of the raw features" in text
    assert "bigram_overlap" in text
    assert "of other features\nconstant " in text
    found = json.loads(rerank("show", "m", "--features", "bigram_overlap", "--unscaled", "--as", "json").out)
    assert [row["name"] for row in found["weights"]] == ["bigram_overlap"]
    assert (found["unscaled"], found["weights_of"]) == (True, "raw features")
    scaled = json.loads(rerank("show", "m", "--features", "bigram_overlap", "--as", "json").out)
    row = scaled["weights"][0]
    assert scaled["weights_of"] == "scaled features"
    assert row["raw_weight"] == row["weight"] / row["divisor"] == found["weights"][0]["weight"]
    assert (
        row["shift"]
        == load_model("m").scaling.values["shift"][load_model("m").feature_names.index(row["name"])]
    )
    assert "weights   of the scaled features, (x - shift) / divisor; --unscaled" in rerank("show", "m").out
    assert rerank("show", "m", "--as", "csv").out.startswith("name,weight,shift,divisor,raw_weight\n")
    exported = rerank("export", "m", "--to", "tsv", "--out", "-")
    assert f"bigram_overlap\t{row['raw_weight']!r}" in exported.out
    assert "weights of the raw features, from scaling zscore, without the constant" in exported.err
    assert (
        found["weights"][0]["weight"]
        == load_model("m").unscaled().weights[load_model("m").feature_names.index("bigram_overlap")]
    )
    assert (
        "no feature matches 'bigam_overlap'; did you mean"
        in rerank("show", "m", "--features", "bigam_overlap", code=2).err
    )
    refused = rerank("predict", "m", "test.letor", *NAMES, "--features", "-bigram_overlap", code=2).err
    assert (
        "--features leaves out 1 feature of the model (bigram_overlap), which takes its own columns"
        in refused
    )


def test_every_verb_that_reads_lists_chooses_features():
    import typer

    from rerank.cli.app import app

    def commands(group, name=""):
        for key, one in group.commands.items():
            yield from commands(one, f"{name}{key} ") if hasattr(one, "commands") else [(f"{name}{key}", one)]

    found = dict(commands(typer.main.get_command(app)))
    for name, one in found.items():
        flags = {flag for parameter in one.params for flag in parameter.opts}
        if "--label-column" in flags or "--first-best" in flags:
            assert "--features" in flags, name
    reading = {name for name, one in found.items() if "--features" in {f for p in one.params for f in p.opts}}
    assert reading >= {
        *("train", "predict", "eval", "compare", "show", "validate", "pairs", "convert", "append", "split"),
        *(
            "label",
            "similarity",
            "weigh-lists",
            "features parse",
            "features qa",
            "features consensus",
            "features select",
        ),
        *("importance weights", "importance permute", "importance ablate"),
    }
