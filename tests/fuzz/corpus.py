"""What is fuzzed, and the files that mutations start from: the project writes all of them itself.

Formats, kinds of models, formats of weights and learners are found in their registries: a new one is fuzzed
by being registered. One that cannot write a file needs a sample here; the suite fails without.
"""

import functools
import io
import json
import os
import shutil
import tarfile
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
from contracts.test_formats import EXAMPLES, FULL, LISTS
from contracts.test_learners import fitted, installed, some_lists
from fuzz.imports import import_seeds
from make import LAYOUTS, full_lists
from reference.grown_trees import random_tree, text_of
from small_training import fit, make_learner

import rerank
from rerank.core.errors import DataNote, RerankError
from rerank.data.scaling import SCALINGS
from rerank.formats import FORMATS, load
from rerank.formats.weights import WEIGHTS, write_weights
from rerank.learners.base import LEARNERS
from rerank.models.base import MODELS
from rerank.models.classes import ClassesModel
from rerank.models.exchange.calls import readers
from rerank.models.trees import TreeModel

CLASS_SETS = {"task": "multilabel", "kernel": "polynomial", "epochs": 2}

ROOT = Path(__file__).resolve().parents[2]
Files = dict[str, bytes]  # by name; the name "" is a file that is not in a folder


@dataclass(frozen=True)
class Seed:
    """A valid input: its files, the options it is read with, and files that these options name."""

    files: Files
    options: dict[str, Any] = field(default_factory=dict)
    beside: Files = field(default_factory=dict)


PDB = b"".join(
    b"%-6s%5d  CA %cALA %c%4d%c   %8.3f%8.3f%8.3f%6.2f  0.00           C  \n"
    % (record, i, altloc, chain, number, insertion, 3.8 * i, 0.5 * i, -1.25 * i, occupancy)
    for i, (record, altloc, chain, number, insertion, occupancy) in enumerate(
        [
            (b"ATOM", b" ", b"A", 1, b" ", 1),
            (b"ATOM", b"A", b"A", 2, b" ", 0.5),
            (b"ATOM", b"B", b"A", 2, b" ", 0.5),
            (b"ATOM", b" ", b"A", 2, b"A", 1),
            (b"HETATM", b" ", b"A", 3, b" ", 1),
            (b"ATOM", b" ", b"B", -4, b" ", 1),
            (b"ATOM", b" ", b"B", -5, b" ", 1),
        ]
    )
)
CIF_COLUMNS = "group_PDB label_atom_id auth_comp_id auth_asym_id auth_seq_id label_alt_id occupancy"
CIF = (
    "data_x\nloop_\n"
    + "".join(f"_atom_site.{name}\n" for name in f"{CIF_COLUMNS} Cartn_x Cartn_y Cartn_z".split())
    + "ATOM CA ALA A 1 . 1.0 1.5 2 -3\nATOM CA GLY A 2 A 0.5 4.5 2 -3e0\n"
    + "ATOM CA GLY A 2 B 0.5 4.5 3 -3.0(1)\nHETATM CA MSE 'B' 1 ? 1 1 1 1\n"
).encode()


def _archive(files: Files) -> bytes:
    """A tar archive."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return out.getvalue()


# Files of formats that are only read, and of forms that no writer gives.
SAMPLES: dict[str, list[Seed]] = {
    "fairseq": [
        Seed({"": b"S-0\ta b\nT-0\tr\nH-0\t-0.5\tx y\nP-0\t-0.1 -0.2\nH-0\t-0.75\tz\nP-0\t-1\n"}),
        Seed({"": b"H-1\t-1.5\tx\nH-1\t-2\t\nH-0\t-0.5\ta b c\n"}, {"distinct": True}),
    ],
    "flat": [
        Seed({"": b"a b\nc\n\nd e f\ng\nh\n"}, {"n_best": 3}),
        Seed({"": b"a\nb\n"}, {"refs": ["refs"]}, {"refs": b"r\n"}),
    ],
    "svmlight": [
        Seed({"": b"2 qid:1 1:0.5 3:-1e-3 # d1\n0 qid:1 2:7 #docid = d2\n1 qid:2 1:1\n"}, {"missing": "nan"}),
        Seed({"": b"1 1:1 2:1\n0 1:1 7:1\n"}, {"feature_names": "names"}, {"names": b"1\ta\n7\tb\n"}),
        Seed({"": b"1,3 1:0.5 # a\n 2:1\n+1,x 2:3\n\n"}, {"classes": True}),
        Seed({"": b"1 qid:x 0:1\n-1 qid:x 5:2.5\n"}, {"zero_based": True, "layout": "sparse"}),
    ],
    "moses": [
        Seed({"": b"0 ||| a b ||| LM0= -1 TM0= -2 -3 ||| -4\n0 ||| c ||| LM0= -1 TM0= 0 1 ||| -5\n"}),
        Seed({"": b"1 ||| x ||| d: 1 2 lm: 3 ||| 0.5 ||| 0-0\n0 ||| ||| d: 0 1 lm: 2 ||| 1 ||| 0-1\n"}),
        Seed({"": b"0 ||| x y ||| d: 1 ||| 0.5\n"}, {"refs": ["a", "b"]}, {"a": b"a\n", "b": b"x\n"}),
    ],
    "trec": [
        Seed(
            {"": b"1 Q0 a 1 0.5 r\n1 Q0 b 2 0.5 r\n2 Q0 a 1 7 r\n"},
            {"qrels": "qrels"},
            {"qrels": b"1 0 a 1\n1 0 c 2\n2 0 a 0\n"},
        ),
        Seed({"": b"1 Q0 a 1 2 r\n"}, {"merge": ["other"]}, {"other": b"1 Q0 b 1 2 s\n1 Q0 a 2 1 s\n"}),
        Seed({"": b"1 Q0 a 1 2 r\n"}, {"subtopics": "judged"}, {"judged": b"1 s a 1\n1 t b 2\n"}),
        Seed(
            {"": b"1 Q0 a 1 2 r\n1 Q0 b 2 1 r\n"},
            {"queries": "q", "collection": "docs"},
            {"q": b"1\ta mill\n2\tx\n", "docs": b"a\tthe mill\n\nb\t\r\n"},
        ),
        Seed(
            {"": b"1 Q0 7 1 2 r\n"},
            {"collection": "docs"},
            {"docs": b'{"_id": 7, "title": "A", "text": "b \\u00e9"}\n{"docid": "c", "contents": ""}\n'},
        ),
    ],
    "subtopics": [Seed({"": b"1 s a 1\n1 t a 0\n1 s b -2\n2 s a 1.5\n"})],
    "msmarco": [
        Seed(
            {"": b"1\ta\t1\n1\tb\t2\n2\ta\t1\n"},
            {"qrels": "q"},
            {"q": b"query-id\tcorpus-id\tscore\n1\ta\t1\n"},
        ),
        Seed(
            {"": b"1 a 0.5\n1 b -2e3\n"}, {"merge": ["other"]}, {"other": b'{"1": {"b": 1}, "2": {"c": 2}}'}
        ),
    ],
    "json-run": [
        Seed({"": b'{"q": {"a": 0.5, "b": -1e3}, "p": {"a": 7}}'}, {"qrels": "q"}, {"q": b'{"q": {"a": 1}}'}),
        Seed(
            {"": b'{"mteb_model_meta": {"model_name": "m"}, "en": {"test": {"q": {"a": 1}}, "dev": {}}}'},
            {"subset": "en", "merge": ["other"]},
            {"other": b"q Q0 a 1 2 r\n"},
        ),
    ],
    "parses": [
        Seed(
            {"": b"(S (N (D a)) (V b))\n-1.5\t(S (N (D a)) (V b))\n-2\t(S (X a) (V b))\n\n(S c)\n-1\t(S c)\n"}
        ),
        Seed({"": b"(S1 (S (-NONE- *) (NP-SBJ a)))\n0\t(S (NP a))\n"}, {"strip": ["traces", "functions"]}),
    ],
    "bllip": [Seed({"": b"S=2\nG=3 N=2 P=3 W=2 0 1=2 5=-1,P=3 W=3 1 2,\nG=2 N=1 P=2 W=2 3,\n"})],
    "table": [
        Seed(
            {"": b'qid,label,x,"y z",text\n1,0.5,1,2,"a ""b"", c"\n1,,3,4,\n2,1,-1e9,0,d\n'},
            {"text_column": "text"},
        ),
        Seed({"": b'species,x,id\n"a, b",1,1\n,2,2\n'}, {"classes": True, "label_column": "species"}),
        Seed({"": b"qid\tlabel\tx\n1\t0\t1\n1\t1\t2\n"}, {"missing": "nan"}),
    ],
    "lm-eval": [
        Seed(
            {
                "": b'{"doc_id": 0, "doc": {}, "target": "4", "arguments": {"gen_args_0": {"arg_0": "q"}}, '
                b'"resps": [["a 4", "b"]], "filtered_resps": [["4", "[invalid]"]], "filter": "x"}\n'
                b'{"doc_id": 0, "doc": {}, "target": "4", "arguments": [["q", {}]], "resps": [["c"]], '
                b'"filtered_resps": ["4"], "filter": "y", "metrics": ["exact_match"], "exact_match": 1.0}\n'
            },
            {"filter": "x", "answer_match": "exact"},
        ),
        Seed(
            {
                "": b'{"doc_id": "a", "doc": {}, "target": 4, "arguments": [["q", {}]], "resps": [["c"]], '
                b'"filtered_resps": [["4"]], "metrics": ["exact_match", "f1"], "exact_match": 1.0, "f1": 0}\n'
            }
        ),
    ],
    "openai-batch": [
        Seed(
            {
                "": b'{"id": "b1", "custom_id": "p", "response": {"status_code": 200, "body": {"choices": '
                b'[{"index": 0, "message": {"content": "\\\\boxed{4}"}, "logprobs": {"content": '
                b'[{"token": "a", "logprob": -0.5}]}}]}}, "error": null}\n'
                b'{"id": "b2", "custom_id": "q", "response": null, "error": {"code": "batch_expired"}}\n'
            },
            {"answer_pattern": "boxed"},
        )
    ],
    "nemo-skills": [
        Seed(
            {
                "": b'{"generation": "a", "problem": "p", "expected_answer": "4", "predicted_answer": "4", '
                b'"symbolic_correct": true, "reward_model_score": 0.5}\n'
            },
            {"merge": ["other"]},
            {
                "other": b'{"generation": "b", "problem": "p", "expected_answer": "4", '
                b'"predicted_answer": null, "symbolic_correct": false, "reward_model_score": 0.25}\n'
            },
        )
    ],
    "search-and-learn": [
        Seed(
            {
                "": b'{"problem": "p", "answer": "2", "id": "u", "completions": ["\\\\boxed{2}", "x"], '
                b'"scores": [[0.5, 0.25], [1]], "completion_tokens": [3, 4]}\n'
            },
            {"answer_match": "exact"},
        )
    ],
    "preferences": [
        Seed(
            {
                "": b'{"prompt": "p", "chosen": "a", "rejected": "b"}\n'
                b'{"prompt": "p", "chosen": "b", "rejected": "c"}\n'
            }
        ),
        Seed(
            {
                "": b'{"question_id": "q", "model_a": "x", "model_b": "y", "winner": "tie", "judge": "j", '
                b'"conversation_a": [{"role": "assistant", "content": "t"}], "conversation_b": []}\n'
            }
        ),
        Seed(
            {
                "": b'[{"instruction": "i", "output_1": "s", "generator_1": "a", "output_2": "t", '
                b'"generator_2": "b", "preference": 1.25, "annotator": "j"}]'
            }
        ),
        Seed({"": b"list\tfirst\tsecond\twinner\n1\ta\tb\tfirst\n1\tb\tc\ttie\n"}),
        Seed({"": b"list\tranking\n1\ta > b > c\n2\tb > a\n"}),
    ],
    "qwen-math": [
        Seed(
            {
                "": b'{"idx": 0, "question": "q", "gt": "4", "code": ["a", "b"], "pred": ["4", ""], '
                b'"report": [null, null], "score": [true, false], "pred_score": [[3.5], [-1]]}\n'
            }
        )
    ],
    "structures": [
        Seed({"": PDB}),
        Seed({"": b"MODEL        1\n" + PDB + b"ENDMDL\nMODEL        2\n" + PDB + b"ENDMDL\nEND\n"}),
        Seed({"": PDB}, {"native": "native", "residues": "A:2-9"}, {"native": PDB}),
        Seed({"": PDB}, {"native": "native", "match": "sequence"}, {"native": PDB}),
        Seed({"T1TS1_1": b"PFRMAT TS\n" + PDB, "T1TS2_1.pdb": PDB}, {"native": "native"}, {"native": PDB}),
        Seed({"": _archive({"T1/T1TS1_1-D1": PDB, "T1/T1TS2_1-D1": PDB, "T2/a.pdb": PDB})}),
        Seed({"": CIF}),
    ],
    "kaldi": [
        Seed(
            {
                "words_text": b"u-1 a b\nu-2 a\nv-1\n",
                "ac_cost": b"u-1 100.5\nu-2 1e2\nv-1 -3\n",
                "lm_cost": b"u-1 1\nu-2 2\nv-1 3\n",
            },
            {"refs": ["text"]},
            {"text": b"u a b\nv c\nw d\n"},
        ),
        Seed(
            {"words": b"1-1 1 2\n1-2 2\n", "words.txt": b"<eps> 0\na 1\nb 2\n"},
            {"refs": ["r"]},
            {"r": b"x\ny z\n"},
        ),
        Seed({"text": b"u-2 a\nu-1 b\n"}, {"refs": ["trn"]}, {"trn": b"a b (u)\n"}),
        Seed({"text": b"u-1 a\n"}, {"refs": ["m"]}, {"m": b'{"audio_filepath": "x/u.wav", "text": "a"}\n'}),
        Seed({"": b"u-1 \n0 1 the 4.5,100,1_2_2\n1 2 cat 1,2,\n2 0.5,0,\n\nu-2 \n0 1 7 8 1,2\n1\n\n"}),
    ],
    "espnet": [
        Seed(
            {
                "1best_recog/text": b"u a b\nv c\n",
                "1best_recog/score": b"u tensor(-1.5)\nv -2\n",
                "1best_recog/token": b"u a _b\nv c\n",
                "2best_recog/text": b"u a\n",
                "2best_recog/score": b"u tensor(-2.5, device='cuda:0')\n",
                "2best_recog/token": b"u a\n",
            }
        ),
        Seed({"logdir/output.1/1best_recog/text": b"u a\n", "logdir/output.1/1best_recog/score": b"u 1\n"}),
        Seed(
            {
                "": b'{"utts": {"u": {"output": [{"rec_text": "a<eos>", "rec_token": "a <eos>", '
                b'"score": -1.5, "text": "a b"}, {"rec_text": "b", "score": -2}]}}}'
            }
        ),
    ],
    "asr-json": [
        Seed(
            {
                "": b'{"utt": "u", "nbest": [{"text": "a b", "score": -1, "lm": -2.5}, '
                b'{"words": ["a", {"word": "c"}], "score": -2, "lm": 0}], "ref": "a b"}\n'
                b'{"audio_filepath": "v.wav", "text": "r", "hypotheses": [{"text": "c", "score": -1}]}\n'
            }
        ),
        Seed(
            {"": b'{"u": [["a b", null, [["a", [0, 1]]], -1.5, -2.5]], "v": [["c", [], -1, -2], ["d", -3]]}'}
        ),
        Seed({"": b'[{"id": 1, "sequences": ["a", "b"], "sequences_scores": [-1, -2.5]}, {"texts": ["c"]}]'}),
        Seed(
            {
                "u.json": b'{"text": " a b", "segments": [{"text": " a", "tokens": [1], "avg_logprob": -1}, '
                b'{"text": " b", "tokens": [3, 4], "avg_logprob": -1, "no_speech_prob": 0.5}]}',
                "v.json": b'{"segments": []}',
            },
            {"merge": ["more"]},
            {"more": b'{"utt": "u", "nbest": ["c"]}'},
        ),
    ],
    "nemo-beams": [
        Seed({"": b"a b\t-1.5\na\t-2\n\t-3\nc\t-4\n"}, {"n_best": 2}),
        Seed(
            {"": b"a b\t-1.5\nc\t-4\n"},
            {"refs": ["m"]},
            {"m": b'{"audio_filepath": "u.wav", "text": "a"}\n{"audio_filepath": "v.wav", "text": "c"}\n'},
        ),
        Seed({"": b"a b\t-1.5\nc\t-4\n"}, {"refs": ["r"]}, {"r": b"a\nc\n"}),
    ],
    "icefall": [
        Seed(
            {"": b"c:\tref=['A', \"B'S\"]\nc:\thyp=['A']\nc:\tscore=-3\nc:\thyp=[]\nc:\tscore=-4\n"},
        ),
        Seed(
            {"": b"c:\tref=a b\nc:\thyp=a\n"},
            {"merge": ["o"]},
            {"o": b"c:\tref=a b\nc:\thyp=b\nd:\tref=x\nd:\thyp=x\n"},
        ),
    ],
    "jsonl": [
        Seed({"": b'{"qid": "1", "features": {"a": 1, "b": -5e-1}}\n{"qid": "1", "features": {"a": 3}}\n'}),
        Seed({"": b'{"prompt": "p", "completions": ["a", "b"], "scores": [1, 2.5], "labels": [1, 0]}\n'}),
    ],
}
os.environ["RERANK_FUZZED"] = "place"  # no other variable needs to be set
VARIABLE = b"${RERANK_FUZZED}"
CONFIG = b"""data:
  train: &train a.letor
  dev: [b.letor, c.letor]
  feature_names: ${RERANK_FUZZED}/f
learner: &l {name: perceptron, epochs: 3, tau: 1e-3, keep: best}
select: {metric: nDCG@10, keep_margin: auto}
scaling: zscore
seed: 0x10
"""
HEADS = Path(rerank.__file__).parent / "extensions" / "parsing" / "collins.heads"


TEXTS = ("scores", "predictions", "heads", "qrels", "feature-names", "vectors", "comparisons")


def targets() -> list[str]:
    """Return the names of all targets; the part before the colon says what reads it."""
    kinds = {"format": FORMATS.names(), "model": MODELS.names(), "weights": WEIGHTS.names()}
    imported = [name for name in readers() if name not in WEIGHTS.names()]
    kinds |= {"import": imported, "config": ["yaml"], "text": TEXTS}
    return [f"{kind}:{name}" for kind, names in kinds.items() for name in names]


@functools.cache
def corpus() -> dict[str, list[Seed]]:
    """Return the valid inputs of every target. Tests are named by ``targets()``, which makes none."""
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNote)
        place = Path(folder)
        seeds = {f"format:{name}": list(_of_format(name, place)) for name in FORMATS.names()}
        seeds |= {f"model:{name}": [] for name in MODELS.names()}
        for kind, files in _models(place):
            seeds[f"model:{kind}"].append(Seed(files))
        seeds |= {f"weights:{name}": list(_weights(name, place)) for name in WEIGHTS.names()}
        seeds |= {
            f"import:{name}": [Seed({"": data}) for data in files] for name, files in import_seeds().items()
        }
    configs = [path.read_bytes() for path in sorted((ROOT / "configs").glob("*.yaml"))]
    configs = [data.replace(b"${RERANK_DATA}", VARIABLE) for data in configs]
    trained = [data for data in configs if b"\nlearner:" in data]  # the others are of scripts
    seeds["config:yaml"] = [Seed({"": data}) for data in trained] + [Seed({"": CONFIG})]
    seeds["text:scores"] = [Seed({"": b"0.5\n-1\n1e-3\n+7.25E2\n-0\n"})]
    seeds["text:predictions"] = [Seed({"": b"1\n1,3\n\n+2\nREJECT\n"}), Seed({"": b"1,3,2\r\n" * 5})]
    seeds["text:heads"] = [Seed({"": HEADS.read_bytes()})]
    seeds["text:qrels"] = [
        Seed({"": b"1 0 a 1\n1 0 b 0\n2 0 a 2\n"}),
        Seed({"": b"query-id\tcorpus-id\tscore\n1\ta\t1\n2\ta\t2\n"}),
        Seed({"": b'{"1": {"a": 1, "b": 0}, "2": {"a": 2}}'}),
    ]
    seeds["text:feature-names"] = [Seed({"": b"a\nb\nc d\n"}), Seed({"": b"0\ta\n7\tb\n100\tc\n"})]
    seeds["text:vectors"] = [Seed({"": data}) for data in _vectors()]
    seeds["text:comparisons"] = [
        *SAMPLES["preferences"],
        Seed({"": b'judge\tsystem_1\tsystem_2\tpreference\nj\ta\tb\t1.25\nk\tb\tc\t2\n"l"\tc\ta\t1.5\n'}),
        Seed({"": b'winner,loser\na,"b, c"\n"b, c",d\nd,a\n'}),
    ]
    empty = [name for name in targets() if not seeds.get(name)]
    if empty or len(seeds) > len(targets()):
        raise RuntimeError(f"tests/fuzz/corpus.py has no input for {', '.join(empty)}: add a sample")
    return seeds


def _vectors() -> Iterator[bytes]:
    """Vectors of items a, b and c in each form, with ids and without."""
    values = np.array([[0.5, -1e-3], [2, 0], [1, 7]])
    rows = values.tolist()
    for kind in ("<f2", ">f4", "<f8"):
        np.save(out := io.BytesIO(), values.astype(kind))
        yield out.getvalue()
    yield "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    named = zip("bca", rows, strict=True)
    yield "".join(json.dumps({"_id": name, "embedding": row}) + "\n" for name, row in named).encode()
    for more in ({}, {"id": ["c", "a", "b"]}):
        table = pyarrow.table({"vector": pyarrow.array(rows, pyarrow.list_(pyarrow.float32())), **more})
        pyarrow.parquet.write_table(table, out := io.BytesIO())
        yield out.getvalue()


def _of_format(name: str, place: Path) -> Iterator[Seed]:
    """What the format writes of small sets, each column that it holds included, and its samples."""
    yield from SAMPLES.get(name, [])
    kind = FORMATS.get(name)
    if not kind.holds:
        return
    options = {"n_best": 2} if "n_best" in kind.honours else {}
    sets = [FULL, *LISTS.values(), *(full_lists(layout) for layout in LAYOUTS), some_lists()]
    made = [(lists, options) for lists in sets]
    if "classes" in kind.honours:
        made.append((EXAMPLES, {"classes": True}))
    for lists, options in made:
        files = _written(lambda path, lists=lists: kind().write(lists, str(path)), place, name, options)
        if files is not None:
            yield Seed(files, options)


def _models(place: Path) -> Iterator[tuple[str, Files]]:
    """A model of each learner, with every scaling and setting that gives another kind of file."""
    lists = some_lists()
    made = [(name, fitted(name, lists)) for name in LEARNERS.names() if installed(LEARNERS.get(name).extra)]
    grown = [random_tree(np.random.default_rng(seed), 5, lists.n_features) for seed in range(3)]
    text = text_of(grown, lists.n_features)
    made.append(("trees", TreeModel.from_text(lists.names(), text)))
    made += [
        (name, fit(make_learner("perceptron", {"epochs": 2}), lists, metric="nDCG@5", scaling=name))
        for name in SCALINGS
    ]
    width = lists.n_features
    classes = ClassesModel(lists.names(), np.eye(3, width), ("a", "b", "é"), "multiclass", reject=True)
    made.append(("classes", classes))
    lacking = some_lists(missing=True)
    filled = fit(make_learner("ranksvm", {}), lacking, missing="indicator")
    made.append(("filled", filled))
    made.append(("voted", fitted("perceptron", lists, average="voted")))
    made.append(("voted kernel", fitted("kernel-perceptron", lists, kernel="gaussian", average="voted")))
    made.append(("selected", fitted("select-features", lists, base="rankboost", n_features=2)))
    diversified = rerank.diversify(fitted("perceptron", lists), "mmr:0.5", "kernel:linear", depth=2)
    made.append(("diversified", diversified))
    made.append(("dual", fitted("predtron", lists, kernel="gaussian")))
    made.append(("dual-classes", fit(make_learner("predtron", CLASS_SETS), EXAMPLES)))
    made.append(("generated", fitted("fg", lists, project="own")))
    for layout in LAYOUTS:
        some = some_lists(layout=layout)
        adapted = fitted("fg", some, components=2).ranker(some, 2).model
        assert adapted is not None
        made.append(("generated", adapted))
    made[0][1].keep_margin = np.inf
    made[1][1].keep_margin = 0.5
    for _, model in made:
        files = _written(lambda path, model=model: model.save(str(path)), place)
        assert files is not None
        yield model.kind, files


def _weights(name: str, place: Path) -> Iterator[Seed]:
    for names in (["0", "1", "2"], ["LM0", "TM0_0", "TM0_1"]):
        weights = np.array([0.5, -1e-7, 3.0])
        files = _written(lambda path, n=names, w=weights: write_weights(str(path), n, w, name), place)
        if files is not None:
            yield Seed(files)
    if name == "moses-ini":
        yield Seed({"": b"[input-factors]\n0\n\n[weight-l]\n0.5\n0.25\n[weight]\nLM0= 0.5\nTM0= 1 2\n"})


def _written(
    write: Callable[[Path], None], place: Path, name: str | None = None, options: dict[str, Any] | None = None
) -> Files | None:
    """The files that ``write`` makes; None if the set does not fit the format that is named."""
    target = place / "made"
    try:
        write(target)
        if name is not None:
            load(target, format=name, **(options or {}))
    except RerankError:
        return None
    finally:
        folder = target.is_dir()
        files = {path.name: path.read_bytes() for path in sorted(target.iterdir())} if folder else {}
        if target.is_file():
            files = {"": target.read_bytes()}
            target.unlink()
        shutil.rmtree(target, ignore_errors=True)
    return files
