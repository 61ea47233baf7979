"""Hints for mistyped commands: options and verbs of other tools, files in the wrong place."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rerank.core.files.read import is_pipe

# Options of trec_eval, RankLib, svm_rank, sacrebleu, LightGBM and others, and what to give in their place:
# the first of the options (--x) or arguments (X) that the verb has, or an advice of several words.
_TO_SET = "use --set NAME=VALUE, see 'rerank list learners NAME'"
_OPTIONS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("--json", "--text", "--csv", "--markdown", "--latex", "--output-format", "--format"): ("--as",),
    ("-o", "--output", "--output-file", "--save", "--model-out"): ("--out", "OUT", "> FILE"),
    ("--scores", "--score", "--score-file", "--system", "--run", "--predictions"): ("SYSTEMS",),
    ("--model", "--load", "--model-file"): ("MODEL", "--out", "'rerank predict MODEL DATA' makes scores"),
    ("--train", "--training", "--train-file"): ("TRAIN", "--data"),
    ("--test", "--input", "--in", "--file"): (
        "TEST",
        "DATA",
        "'rerank predict' and 'rerank eval' take test lists",
    ),
    ("--data", "--rank"): ("DATA", "TRAIN"),
    ("--validate", "--valid", "--validation", "--val", "--vali"): ("--dev",),
    ("--qrel", "--judgements", "--judgments", "--relevance"): ("--qrels",),
    ("--ref", "--reference", "--references"): ("--refs",),
    ("--k", "--cutoff", "--top-k", "--topk"): ("give it in the metric: --metric nDCG@10",),
    ("--metric2t", "--metrics", "--measure", "--eval-metric"): ("--metric",),
    ("--ranker", "--algorithm", "--method", "--objective", "--algo"): ("--learner",),
    ("-c", "--c", "--param", "--params", "--lr", "--learning-rate", "--epochs", "--rounds"): (_TO_SET,),
    ("--norm", "--normalize", "--normalise"): ("--scaling",),
    ("--cv", "--kcv", "--k-fold", "--kfold"): ("--folds",),
    ("--threads", "--thread", "--workers", "--processes", "--n-jobs"): ("--jobs",),
    ("--random-seed", "--random-state"): ("--seed",),
    ("--n-bootstrap", "--bootstrap", "--resamples", "--paired-bs-n"): ("--samples",),
    ("--paired-bs", "--paired-ar", "--paired"): ("'rerank compare DATA SYSTEMS' tests pairs",),
    ("--names", "--columns"): ("--feature-names",),
    ("--nbest", "--n-best-size"): ("--n-best",),
    ("--config", "--conf"): ("CONFIG",),
    ("--verbose",): ("notes are printed unless there is --quiet",),
    ("--force", "--overwrite"): ("outputs are replaced without it",),
    ("--version",): ("give it before the verb: rerank --version",),
    ("--debug",): ("give it before the verb: rerank --debug VERB",),
}
OPTIONS = {name: meant for names, meant in _OPTIONS.items() for name in names}

# Verbs of other tools and other words.
_VERBS: dict[tuple[str, ...], str] = {
    ("evaluate", "evaluation", "trec_eval", "test", "metric", "measure"): "eval",
    ("score", "rank", "rerank", "infer", "apply", "classify", "svm_rank_classify"): "predict",
    ("fit", "learn", "svm_rank_learn", "optimize", "optimise"): "train",
    ("tune", "mert"): "train --learner mert",
    ("fusion", "rrf"): "fuse",
    ("significance", "diff", "sigtest", "paired"): "compare",
    ("experiment", "experiments", "cv", "crossval", "grid"): "run",
    ("inspect", "explain", "info", "dump"): "show",
    ("check", "lint", "stats", "describe"): "validate",
    ("ls",): "list",
    ("man", "manual", "docs", "tutorial"): "help",
    ("convert-model", "dump-model", "save-model"): "export",
    ("permute",): "importance permute",
    ("ablate",): "importance ablate",
    ("consensus",): "features consensus",
    ("version",): "--version",
    **{(kind,): f"list {kind}" for kind in ("learners", "metrics", "formats", "scalings", "kernels")},
}
VERBS = {name: meant for names, meant in _VERBS.items() for name in names}


def option_hint(typed: str, flags: Sequence[str], arguments: Sequence[str]) -> str | None:
    """Return what to give instead of an unknown option, None if nothing is known of it.

    Parameters
    ----------
    typed : str
        The option, with its hyphens.
    flags : sequence of str
        The options of the verb.
    arguments : sequence of str
        Its arguments, such as DATA.
    """
    name = typed if len(typed) <= 2 else typed.lower().replace("_", "-")
    if name in flags:
        return f"use {name}"
    for meant in OPTIONS.get(name, ()):
        if " " in meant:
            return f"the result goes to standard output: {meant}" if meant.startswith(">") else meant
        if meant in flags:
            form = name[2:] if meant == "--as" and name[2:] in ("json", "csv", "markdown", "latex") else ""
            return f"use {meant} {form}".rstrip()
        if meant in arguments:
            return f"give {meant} as an argument, without an option"
    return None


def verb_hint(typed: str) -> str | None:
    """Return what to give instead of an unknown verb, None if nothing is known of it."""
    found = VERBS.get(typed.lower())
    if found is not None:
        return f"did you mean 'rerank {found}'?"
    if os.path.exists(typed):
        return "a verb comes first, such as rerank train, predict, eval or validate"
    return None


def file_hint(verb: str, given: Mapping[str, Any]) -> str:
    """Return what an error about the input of a verb probably means, empty if there is nothing to add.

    Parameters
    ----------
    verb : str
    given : mapping of str to Any
        Its arguments by name.
    """
    if verb == "train" and not any(given.values()):
        return "; for example: rerank train --data train.txt --metric AP --out model"
    config, model, data = (given.get(name) for name in ("config", "model", "data"))
    if verb in ("train", "ablate") and _is_data(config):
        return f"; did you mean --data {config}?"
    if verb == "show" and _is_data(model):
        return "; 'rerank validate' reports what a file of lists holds"
    if verb == "run" and _is_data(config):
        return "; CONFIG is a YAML file, see 'rerank help experiments'"
    if verb in ("predict", "weights", "permute") and not _is_model(model) and _is_model(data):
        return f"; MODEL comes first: did you mean rerank {_NAMES.get(verb, verb)} {data} {model}?"
    systems = given.get("systems")
    if verb in ("evaluate", "compare") and isinstance(systems, list | tuple):
        if _is_model(data) or any(map(_is_model, systems)):
            return "; found a model: 'rerank predict MODEL DATA' makes its scores"
        swapped = next((path for path in systems if not _is_numbers(path)), None)
        if _is_numbers(data) and swapped is not None:
            return f"; DATA comes first: did you mean rerank {_NAMES.get(verb, verb)} {swapped} {data}?"
    return ""


def usage_text(error: Any) -> str:
    """Return the message of a usage error of click, with a hint."""
    context, text = getattr(error, "ctx", None), " ".join(error.format_message().split())
    command = getattr(context, "command", None)
    if command is None:
        return text
    if hasattr(error, "possibilities"):
        new = getattr(command, "renamed", {}).get(error.option_name)
        if new is not None:
            return f"no option {error.option_name}: it is now {new}"
        options = [param for param in command.params if param.param_type_name == "option"]
        arguments = [param.metavar or "" for param in command.params if param not in options]
        flags = [flag for param in options for flag in (*param.opts, *param.secondary_opts)]
        hint = option_hint(error.option_name, flags, arguments)
        return text if hint is None else f"no option {error.option_name}: {hint}"
    if type(error).__name__ == "MissingParameter":
        usage = command.get_usage(context).replace("{", "").replace("}", "")
        _, _, examples = (command.help or "").partition("\b")
        example = next((line.strip() for line in examples.splitlines() if line.strip()), "")
        usage = " ".join(usage.removeprefix("Usage:").split())
        return f"{text.removesuffix('.')}: {usage}" + (f"; for example: {example}" if example else "")
    return text


_NAMES = {"evaluate": "eval", "weights": "importance weights", "permute": "importance permute"}
_KEY = re.compile(rb"(---|[A-Za-z_][A-Za-z_.]*:(\s|$))")  # how YAML begins
_HEAD = 4096  # bytes of a file that are looked at


def _head(path: object) -> bytes:
    """The begin of an ordinary file; nothing of anything else."""
    if not isinstance(path, str) or not os.path.isfile(path):
        return b""
    try:
        with open(path, "rb") as file:
            return file.read(_HEAD)
    except OSError:
        return b""


def _is_model(path: object) -> bool:
    """Return whether a file begins as models do."""
    return _head(path).startswith(b"PK\x03\x04")


def _is_data(path: object) -> bool:
    """Return whether a file or folder looks like something else than a YAML file or a model."""
    if not isinstance(path, str) or not os.path.exists(path) or path.endswith((".yaml", ".yml")):
        return False
    if is_pipe(path):  # its content is gone
        return False
    lines = (line for line in _head(path).splitlines() if line.strip() and not line.startswith(b"#"))
    return not _is_model(path) and _KEY.match(next(lines, b"")) is None


def _is_numbers(path: object) -> bool:
    """Return whether the lines of a file are single numbers."""
    from rerank.core.text import number

    lines = _head(path).decode("utf-8", "replace").split("\n")[:-1]
    return bool(lines) and all(number(line.strip()) is not None for line in lines)
