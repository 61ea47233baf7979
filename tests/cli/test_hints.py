"""Wrong uses and what they probably meant; each answer is one line."""

import re

import pytest
from cli.test_flags import commands

from rerank.cli import frame
from rerank.cli.app import VERBS as OWN
from rerank.cli.hints import OPTIONS, VERBS, option_hint, verb_hint
from rerank.cli.parser import group_of

LISTS = "2 qid:1 1:1\n1 qid:1 1:2\n"


@pytest.fixture
def files(tmp_path, monkeypatch, rerank):
    monkeypatch.chdir(tmp_path)
    for name, text in {"a.letor": LISTS, "s": "2\n1\n", "t": "1\n2\n", "w": "1\t0.5\n"}.items():
        (tmp_path / name).write_text(text)
    rerank("import", "w", "--from", "tsv", "--out", "model")


@pytest.mark.parametrize(
    ("typed", "answer"),
    [
        ("train a.letor", "did you mean --data a.letor?"),
        ("train", "for example: rerank train --data"),
        ("train --train a.letor", "no option --train: use --data"),
        ("train --N_Jobs 2", "no option --N_Jobs: use --jobs"),
        ("train --data a.letor --choose folds", "no option --choose: it is now --select"),
        ("train --data a.letor --set choose=folds", "unknown setting 'select.choose'; it is now 'by'"),
        ("predict model a.letor --cheating", "no option --cheating: it is now --allow-oracle"),
        ("predict a.letor model", "did you mean rerank predict model a.letor?"),
        ("predict model", "rerank predict [OPTIONS] MODEL DATA; for example: rerank predict model test.txt"),
        ("eval s a.letor -m AP", "did you mean rerank eval a.letor s?"),
        ("compare s a.letor t", "did you mean rerank compare a.letor s?"),
        ("eval a.letor model -m AP", "found a model: 'rerank predict MODEL DATA' makes its scores"),
        ("eval a.letor s --json", "no option --json: use --as json (see rerank eval --help)"),
        ("help -o x", "no option -o: the result goes to standard output: > FILE"),
        ("eval a.letor s --k 5", "no option --k: give it in the metric: --metric nDCG@10"),
        ("eval a.letor --scores s", "give SYSTEMS as an argument"),
        ("eval a.letor s --metrci AP", "--metric"),
        ("importance permute a.letor model -m AP", "rerank importance permute model a.letor?"),
        ("show a.letor", "'rerank validate' reports"),
        ("run a.letor", "CONFIG is a YAML file"),
        ("evaluate a.letor", "no verb 'evaluate': did you mean 'rerank eval'?"),
        ("trian", "Did you mean 'train'?"),
        ("a.letor", "a verb comes first"),
    ],
)
def test_an_error_names_what_was_meant(typed, answer, rerank, files):
    found = rerank(*typed.split(), code=2)
    assert answer in found.err
    assert found.err.count("\n") == 1


def test_a_right_order_gets_no_hint(rerank, files):
    for typed in ("eval a.letor s -m nonsense", "predict model none.letor", "compare a.letor s"):
        assert "did you mean rerank" not in rerank(*typed.split(), code=2).err


def test_hints_name_what_there_is():
    options = {flag for _, command in commands() for param in command.params for flag in param.opts}
    arguments = {param.metavar for _, command in commands() for param in command.params}
    for name, meant in OPTIONS.items():
        for one in meant:
            assert " " in one or one in options | arguments, name
    for name, meant in VERBS.items():
        assert name not in OWN
        assert meant.split()[0] in OWN or meant == "--version"
    assert option_hint("--nothing", ["--out"], []) is None
    assert option_hint("--csv", ["--as"], []) == "use --as csv"
    assert verb_hint("nothing") is None


def test_every_option_is_under_one_heading_of_help(rerank):
    for verb, command in commands():
        text = rerank(*verb.split(), "--help").out
        headings = [line for line in text.splitlines() if line[:1].strip() and line.endswith(":")]
        known = ["Arguments:", "Options:", *(f"{name}:" for name in frame.ORDER if name)]
        assert headings == [one for one in known if one in headings], verb
        for param in command.params:
            if param.param_type_name == "option":
                assert group_of(param) in (*frame.ORDER, "Options")
                declared = getattr(param, "rich_help_panel", None)
                assert declared in (None, *frame.ORDER), (verb, param.opts, "an unknown heading")
                assert re.search(rf" {param.opts[0]},? ", text), (verb, param.opts)


def test_reading_comes_last_and_what_is_needed_first(rerank):
    text = rerank("train", "--help").out
    flags = [
        "data", "dev", "out", "learner", "metric", "unlabelled", "keep", "curve", "jobs", "format",
        "strict",
    ]  # fmt: skip
    places = [text.index(f"--{flag} ", text.index("Options:")) for flag in flags]
    assert places == sorted(places)
