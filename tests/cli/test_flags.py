"""Every flag that a verb offers is accepted by it, with every value that its help names."""

from __future__ import annotations

import re
import shutil

import pytest
import typer
from reference.nearest_lists import NearestLists
from small_training import fit

from rerank import CandidateLists, train
from rerank.cli.app import app
from rerank.data.reading import Reading
from rerank.extensions.vectors.extraction import LocalModel, VectorFeatures
from rerank.formats import FORMATS
from rerank.learners.base import LEARNERS
from rerank.models.exchange.calls import import_model
from rerank.models.pipeline import Chain
from rerank.training.text_options import TextSettings, VectorSettings

TREE = "(S (NP (DT the) (NN dog)) (VP (VBZ barks)))"
# Small sets by format, for the options that only some formats honour.
SETS = {
    "svmlight": ("a.letor", "2 qid:1 1:1\n1 qid:1 1:2\n1 qid:2 2:1\n2 qid:2 1:3\n"),
    "moses": ("a.nbest", "0 ||| a b ||| lm= 1 ||| 1\n0 ||| a ||| lm= 2 ||| 2\n1 ||| b ||| lm= 1 ||| 1\n"),
    "flat": ("a.flat", "a b\na\nb\nb c\n"),
    "trec": ("a.run", "1 Q0 d1 1 2.0 r\n1 Q0 d2 2 1.0 r\n"),
    "lm-eval": (
        "a.samples",
        '{"doc_id": 0, "doc": {}, "target": "4", "arguments": [], "resps": [["a", "b"]], '
        '"filtered_resps": [["4", "5"]], "filter": "none"}\n',
    ),
    "json-run": ("a.json", '{"en": {"1": {"d1": 2.0, "d2": 1.0}}, "fr": {"2": {"d1": 1.0}}}'),
    "parses": ("a.parses", f"1 s1\n-1.5\n{TREE}\n"),
    "table": ("a.csv", "group,grade,name,words,reply,lm\n1,2,x,a b,a,1\n1,1,y,b,b,2\n"),
}
GROWN = """tree
version=v4
num_class=1
num_tree_per_iteration=1
label_index=0
max_feature_idx=1
objective=lambdarank
feature_names=Column_0 Column_1
feature_infos=[0:1] [0:1]
tree_sizes=149

Tree=0
num_leaves=1
num_cat=0
split_feature=
split_gain=
threshold=
decision_type=
left_child=
right_child=
leaf_value=0.5
is_linear=0
shrinkage=1


end of trees
"""
FILES = {
    "refs": "a\nb\n",
    "more.letor": "1 qid:3 1:1\n",
    "more.nbest": "0 ||| c ||| lm= 3 ||| 1\n",
    "more.run": "1 Q0 d3 1 2.0 s\n",
    "qrels": "1 0 d1 1\n",
    "likely": "1 1 1\n2 1 1\n",
    "ids": "s1\n",
    "models.pdb": "ATOM      1  CA  ALA A   1       1.000   2.000   3.000\n",
    "names": "lm\ntm\n",
    "changed.names": "1\tlm\n",
    "grown.txt": GROWN,
    "list.weights": "list\tweight\n1\t1\n2\t0.5\n",
    "a.scores": "1\n2\n1\n2\n",
    "games.tsv": "list\tfirst\tsecond\twinner\tjudge\tlength_1\tlength_2\n"
    "1\ta\tb\tfirst\tx\t1\t2\n1\ta\tb\tsecond\ty\t3\t1\n2\tb\ta\ttie\tx\t1\t1\n",
    "duels.tsv": "list\tfirst\tsecond\twinner\tjudge\tlength_1\tlength_2\n"
    "1\ta\tb\tfirst\tx\t1\t2\n2\ta\tb\tsecond\ty\t3\t1\n3\tb\ta\ttie\tx\t1\t1\n",
    "b.scores": "2\n2\n1\n1\n",
    "run.yaml": "data: {train: x.letor, test: more.letor}\nmetrics: [label@1]\nlearners: {ridge: }\n",
}
VERBS = {
    "train": "--data {data} --out m",
    "predict": "model {data} --out p",
    "eval": "{data}",
    "compare": "{data} a.scores b.scores",
    "run": "run.yaml --out r",
    "report": "r",
    "selective": "{data} a.scores --baseline b.scores --metric label@1",
    "calibrate": "model {data} --folds 2",
    "budget": "{data} a.scores --first-best input --metric label@1 --folds 2",
    "fuse": "a.run more.run --out fused.run",
    "ensemble": "model second.model --data {data} --out m",
    "validate": "{data}",
    "pairs": "{data}",
    "convert": "{data} --out out.store",
    "append": "{data} x=a.scores --out out.store",
    "split": "{data} --folds 2 --out parts",
    "rate": "duels.tsv",
    "label": "{data} --metric WER --out out.store",
    "features consensus": "{data} --by 1 --out out.store",
    "features parse": "{data} --out parts",
    "features qa": "{data} --trees box --out out.store",
    "features select": "{data} --keep 1 --out out.store",
    "features text": "{data} --out out.store",
    "features vectors": "{data} --out out.store",
    "importance weights": "model {data}",
    "importance permute": "model {data} --metric label@1",
    "importance ablate": "--data {data} --dev more.letor --metric label@1",
    "show": "model",
    "export": "model --to python --out m.py",
    "similarity": "{data}",
    "weigh-lists": "{data} more.letor --out o",
    "import": "grown.txt --out m",
    "list": "learners",
    "doctor": "",
}
# Values for options of a verb's own whose help names none; FILE, N and choices need none here.
VALUES = {
    "--metric": "label@1",
    "--shards": "1MB",
    "--learner": "prank",
    "--set": "seed=1",
    "similarity --set": "components=2",
    "weigh-lists --set": "components=2",
    "--list-weights": "list.weights",
    "--unlabelled": "more.letor",
    "--kernel": "angles",
    "--figure": "map.svg",
    "--label": "sBLEU",
    "--reference": "a",
    "--column": "list=list",
    "--from-comparisons": "games.tsv",
    "fuse --metric": "AP",
    "ensemble --weights": "2,1",
    "fuse --set": "k=10",
    "--method": "isr",
    "features select --ranker": "ridge",
    "features select --step": "0.5",
    "--train": "qrels",
    "--rule": "margin",
    "--alpha": "0.6",
    "--dev-scores": "a.scores",
    "--quantise": "best",
    "--scaling": "zscore",
    "--relation": "pairs=ordinal",
    "--part": "dev=0.5",
    "--suffix": ".letor",
    "--by": "1",
    "--types": "rule",
    "--tagged": "_",
    "--entities": "#",
    "--closed-class": "DT",
    "--left-out": ".",
    "--to": "store",
    "export --to": "json",
    "import --from": "lightgbm",
    "import --names": "changed.names",
    "import --first-column": "1",
    "export --names": "changed.names",
    "export --name": "ranker",
    "--tag": "me",
    "--task": "1",
    "--shard": "1/2",
    "--baseline": "a.scores",
    "--init": "model",
    "--dev": "more.letor",
    "--dev-refs": "refs",
    "--dev-ids": "ids",
    "--format": "svmlight",
    "--ini": "a.ini",
    "--cache": "new",
    "--utility": "feature:1",
    "--diversify": "mmr:0.5",
    "--similarity": "kernel:linear",
    "--aspects": "features:1,max",
    "--aspect-weights": "likely",
    "--temperature": "0.5",
    "--prune": "0.9",
    "--tune-on": "more.letor",
    "--tune-metric": "label@1",
    "--references-from": "more.letor",
    "--tree-names": "question,passage",
    "--stemmer": "english",
    "--features-from": "text",
}
READING_VALUES = {
    "refs": "refs", "n_best": "2", "qrels": "qrels", "subtopics": "qrels", "subset": "en",
    "structures": "models.pdb", "native": "models.pdb", "residues": "A:1-9", "match": "number", "ids": "ids",
    "list_column": "group", "label_column": "grade", "id_column": "name", "text_column": "words",
    "answer_column": "reply", "answer_pattern": "a", "answer_match": "exact", "filter": "none",
    "query_column": "words", "queries": "refs", "collection": "refs",
    "vectors": "refs", "query_vectors": "refs",
    "feature_names": "names", "threads": "1", "features": "1",
}  # fmt: skip
# What an option needs besides itself.
_OF = "--features-from vectors"
ALSO = {
    "features select --method": "",
    "features select --keep": "",
    "features select --criterion": "--method filter",
    "features select --ranker": "--method backward",
    "features select --step": "--method backward",
    "export --dialect": "--to sql",
    "import --first-column": "--from lightgbm",
    "--dev": "--metric label@1",
    "budget --new": "--per-list order.tsv",
    "calibrate --ties": "--metric label@1",
    "calibrate --no-relevant": "--metric label@1",
    "ensemble --metric": "--weights mert",
    "fuse --folds": "--qrels qrels --method wsum",
    "fuse --metric": "--qrels qrels",
    "fuse --train": "--method wsum",
    "fuse --scaling": "--method combsum",
    "selective --dev": "--dev-scores a.scores",
    "selective --dev-scores": "--dev more.letor",
    "selective --loss": "--alpha 0.6",
    "--dev-refs": "--data a.nbest --refs refs --dev a.nbest --metric BLEU --label sBLEU",
    "--dev-ids": "--data a.parses --dev a.parses --metric PARSEVAL --label PARSEVAL.score",
    "--dev-native": "--metric label@1 --dev more.letor",
    "--dev-vectors": "--metric label@1 --dev more.letor",
    "--dev-query-vectors": "--metric label@1 --dev more.letor",
    "--dev-structures": "--metric label@1 --dev more.letor",
    "label --metric": "--per-item values.tsv",
    "label --prior": "--from-comparisons games.tsv",
    "label --column": "--from-comparisons games.tsv",
    "rate --samples": "--intervals bootstrap",
    "rate --seed": "--intervals bootstrap",
    "--keep": "--metric label@1 --dev more.letor",
    "train --keep-margin": "--metric label@1 --dev more.letor --first-best input",
    "--seeds": "--metric label@1 --out m{seed}",
    "train --cluster": "--metric label@1 --seeds 2",
    "--tag": "--as run",
    "--decide": "--utility feature:1",
    "--diversify": "--similarity kernel:linear",
    "--similarity": "--diversify mmr:0.5",
    "--aspects": "--diversify xquad:0.5",
    "--aspect-weights": "--diversify xquad:0.5 --aspects features:1,max",
    "--diversify-depth": "--diversify mmr:0.5 --similarity kernel:linear",
    "--utility": "--decide mbr",
    "--posterior": "--decide mbr --utility feature:1",
    "--temperature": "--decide mbr --utility feature:1",
    "--tune-on": "--decide mbr --utility feature:1 --tune-metric label@1",
    "--tune-metric": "--decide mbr --utility feature:1 --tune-on more.letor",
    "--references-from": "--decide mbr --utility feature:1",
    "--prune": "--decide mbr --utility WER",
    "--prune-seed": "--decide mbr --utility WER --prune 0.9",
    "--test-refs": "--test a.nbest --format moses",
    "--init": "--learner mert --metric label@1",
    "--list-weights": "--learner ridge",
    "--unlabelled": "--learner list-iw",
    "--replicas": "a.scores b.scores",
    "--entities": "--tagged _",
    "--ini": "--to moses-ini",
    "import --tree-names": "--from svmtk",
    "--nearest": "--out o",
    "--repair": "--out o",
    "--cache-nearest": "--cache filled",
    **{
        f"{verb} --{name.replace('_', '-')}": f"--features-from {source}"
        for verb in ("train", "importance ablate")
        for source, kind in (("text", TextSettings), ("vectors", VectorSettings))
        for name in kind.settings
    },
    **{
        f"{verb} --{name.replace('_', '-')}": f"{source} --encoder model".strip()
        for verb, source in (("train", _OF), ("importance ablate", _OF), ("features vectors", ""))
        for name in VectorSettings.settings
        if name != "encoder"
    },
    "--cache-by": "--cache filled --cache-nearest 1",
}
# Models that use an option of predict, in place of a linear one.
_ADAPTING = ("--jobs", "--cluster", "--transductive-report", "--cache", "--cache-nearest", "--cache-by")
_ENCODING = ("--encoder", "--cross-encoder", "--vector-cache")
MODELS = dict.fromkeys(_ADAPTING, "adapting") | {"--allow-oracle": "oracle"}
MODELS |= dict.fromkeys(_ENCODING, "encoding")
REFUSED = re.compile(
    "unknown setting|cannot honour|No such option|not used|do not use|not a valid|unknown output"
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The files and models of all tests, each of which has a copy."""
    folder = tmp_path_factory.mktemp("made")
    for name, text in [*SETS.values(), *FILES.items()]:
        (folder / name).write_text(text)
    (folder / "w.tsv").write_text("1\t0.5\n")
    (folder / "a.ini").write_text("[weight]\nlm= 1\n")
    for name in ("model", "second.model"):
        import_model(str(folder / "w.tsv"), str(folder / name), "tsv")
    lists = CandidateLists.from_arrays([[1.0], [2.0]], [0, 1])
    names = [
        "1",
        *(f"vector_{name}" for name in ("cosine", "dot", "distance", "centrality", "cross_encoder")),
    ]
    wide = CandidateLists.from_arrays([[1.0] * 6, [2.0] * 6], [0, 1], feature_names=names)
    encoding = train(wide, "ridge", scaling="none")
    models = {role: LocalModel(role, "absent", "0") for role in ("encoder", "cross_encoder")}
    source = VectorFeatures(n_features=1, n_dims=3, items="model", questions="model", **models)
    encoding.chain = Chain((source,))
    encoding.save(folder / "encoding")
    for name in ("adapting", "oracle"):
        fitted = fit(NearestLists(oracle=name == "oracle"), lists)
        fitted.save(folder / name)
        if name == "adapting":
            fitted.adapt(lists, cache=fitted.open_cache(str(folder / "filled")))
    return folder


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    LEARNERS.names()
    monkeypatch.setitem(LEARNERS._entries, "nearest-lists", NearestLists)


def commands():
    """Each verb with its click command."""
    root = typer.main.get_command(app)
    for name, command in root.commands.items():
        for inner, sub in getattr(command, "commands", {"": command}).items():
            yield f"{name} {inner}".strip(), sub


def value_of(verb, flag):
    return VALUES.get(f"{verb} {flag}", VALUES.get(flag))


def accepted(rerank, *arguments):
    """Run a verb; it may end with an error about the data, not about the flag."""
    result = rerank(*arguments, code=None)
    assert not REFUSED.search(result.err), (arguments, result.err)


def test_every_verb_is_walked():
    assert {name for name, _ in commands()} - {"help"} == set(VERBS)


@pytest.mark.parametrize("option", sorted(Reading.settings))
def test_options_of_reading_are_accepted_by_every_verb(option, rerank, files):
    if option in ("format", "first_best"):
        format, value = "svmlight", {"format": "svmlight", "first_best": "input"}[option]
    else:
        names = [name for name in FORMATS.names() if option in FORMATS.get(name).honours and name in SETS]
        format = names[0] if names else "svmlight"
        value = READING_VALUES.get(option)
    data = SETS[format][0]
    if option == "merge":
        value = f"more.{data.rpartition('.')[2]}"
    for verb, command in commands():
        parameter = next((one for one in command.params if one.name == option), None)
        own = verb in ("show", "import", "export") or (verb, option) == ("features qa", "match")
        if parameter is None or own:  # it is an option of the verb
            continue
        choices = parameter.metavar.split("|") if parameter.metavar else [None]
        reads = [] if option == "format" else ["--format", format]
        for one in [value] if value else choices:
            base = [*verb.split(), *VERBS[verb].format(data=data).split(), *reads, parameter.opts[0]]
            accepted(rerank, *base, *([one] if one else []))


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_flags_of_a_verb_are_accepted_with_every_value_that_help_names(verb, rerank, files):
    command = dict(commands())[verb]
    reading = set(Reading.settings)
    format = {"features parse": "parses", "label": "moses"}.get(verb, "svmlight")
    for parameter in command.params:
        flag = parameter.opts[0]
        if parameter.param_type_name != "option" or parameter.name in reading or flag == "--help":
            continue
        choices = (parameter.metavar or "").split("|")
        values = (
            choices if len(choices) > 1 else [value_of(verb, flag) or ("1" if choices[0] in "NK" else "refs")]
        )
        values = ["0.5" if value == "M" else value for value in values]
        for value in [None] if parameter.is_flag else values:
            base = [*verb.split(), *VERBS[verb].format(data=SETS[format][0]).split()]
            if verb == "predict":
                base[1] = MODELS.get(flag, base[1])
            also = ALSO.get(f"{verb} {flag}", ALSO.get(flag, ""))
            if (flag, value) == ("--as", "grades"):
                also = ""
            accepted(rerank, *base, flag, *([value] if value else []), *also.split())


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_a_single_valued_option_given_twice_is_refused(verb, rerank, files):
    command = dict(commands())[verb]
    checked = 0
    for parameter in command.params:
        if parameter.param_type_name != "option" or parameter.multiple or parameter.is_flag:
            continue
        checked += 1
        base = [*verb.split(), *VERBS[verb].format(data=SETS["svmlight"][0]).split()]
        twice = [word for flag in (parameter.opts[0], parameter.opts[-1]) for word in (flag, "1")]
        err = rerank(*base, *twice, code=2).err
        assert f"{parameter.opts[0]} is given twice, expected once" in err
        assert err.count("\n") == 1
    assert checked or verb == "list"


def test_a_flag_may_be_repeated(rerank, files):
    rerank("validate", "a.letor", "--strict", "--strict")
