"""Plain lines of JSON Lines are read many at a time; what comes of them is what reading one by one gives."""

import json
import math
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rerank.core.errors import RerankError
from rerank.core.files import read as files
from rerank.data.columns.strings import StringColumn
from rerank.formats import load
from rerank.formats.jsonl import read, shredder

KEYS = {
    **dict.fromkeys(("text", "response", "seed", "finish_reason"), "text"),
    **dict.fromkeys(("id", "doc_id"), "id"),
    **dict.fromkeys(("label", "correct"), "label"),
    **dict.fromkeys(("score", "reward", "index", "é", "f0", "logprob_sum", "n" * 80), "number"),
    **dict.fromkeys(("answer", "predicted_answer"), "answer"),
    **dict.fromkeys(("meta", "rank"), "any"),
    **dict.fromkeys(("logprobs", "token_logprobs"), "logprobs"),
    "features": "features",
    "tree": "tree",
}
NUMBERS = [
    *(
        "-0",
        "0",
        "-0.0",
        "0.1e5",
        "1E-7",
        "1e+3",
        "123456789012345678",
        "1234567890123456789",
        "1e22",
        "1e23",
    ),
    *("12345678901234567890123456789", "9007199254740993", "9007199254740993.0", "2.2250738585072014e-308"),
    *("5e-324", "1e-400", "1.7976931348623157e308", "0.30000000000000004", "7.2057594037927933e16"),
    "0.000000000000000000000001234567890123456789",
]
PIECES = [
    *("a", "b c", r"\n", r"\"", r"\\", r"\/", r"\u00e9", r"\ud83d\ude00", "😀", "é", r"\b\f\r\t", r"\u0000"),
    *(r"\u2028", " ", "\x7f", "abcdefgh12345678"),
]
ODD = [
    *(
        "01",
        "1.",
        "+1",
        ".5",
        "1e",
        "NaN",
        "Infinity",
        "1e999",
        "-",
        "1_000",
        "--1",
        "1" * 4400,
        "nul",
        "null",
    ),
    *(
        r'"\ud800"',
        r'"\udc00a"',
        r'"\ud800\u0041"',
        r'"\x"',
        r'"\u12g4"',
        '"a\tb"',
        '"a',
        '"\x01"',
        "[]",
        "{}",
    ),
    *('{"a":1,"a":2}', "[1,]", '{"a":1,}', "{a:1}", "[" * 40 + "]" * 40, '{"a" 1}', r'{"a":1,"\u0061":2}'),
    *("[" * 5000 + "]" * 5000, '["\\ud800"]', "true", "1", "1.5", '"7"', '"0,5"', "[0]", "[1,-1]", "[true]"),
    *('[{"logprob":-1}]', "[1e308,1e308]", '"(S"', '{"question": "(S x)"}', "-0", "12345678901234567890"),
]


class Maker:
    """Random files; with ``odd`` > 0 some values are of any kind, or no JSON."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = random.Random(seed)
        self.odd = rng.choice([0, 0, 0, 0.0005, 0.005])
        self.by_list = rng.random() < 0.5
        self.key = rng.choice(["list", "id", "query_id"])
        chosen = rng.sample([key for key in KEYS if key != self.key], rng.randint(1, 8))
        self.keys = {key: rng.choice([0, 0, 0, 0.2]) for key in chosen}  # how often each is left out
        self.names = [f"f{j}" for j in range(rng.choice([0, 1, 3, 12]))]
        self.sparse, self.mixed, self.bare = (rng.random() < share for share in (0.25, 0.3, 0.1))
        self.shared = rng.sample(["prompt", "question", "reference", "references", "meta"], rng.randint(0, 2))

    def number(self) -> str:
        rng = self.rng
        forms = [str(rng.randint(-99, 99)), repr(rng.gauss(0, 10 ** rng.randint(-8, 8))), rng.choice(NUMBERS)]
        return rng.choice([*forms, f"{rng.uniform(-5, 5):.{rng.randint(0, 25)}f}"])

    def string(self, rng: random.Random | None = None) -> str:
        rng = rng or self.rng
        return '"' + "".join(rng.choices(PIECES, k=rng.randint(0, 8))) + '"'

    def any(self, depth: int = 0) -> str:
        form = self.rng.random() * 0.6 + depth / 4
        if form > 0.6:
            return self.rng.choice([self.number(), self.string(), "null", "false"])
        if form > 0.3:
            return "[" + ",".join(self.any(depth + 1) for _ in range(self.rng.randint(0, 3))) + "]"
        return self.object({name: self.any(depth + 1) for name in self.rng.sample("abcd", 2)})

    def object(self, values: dict[str, str]) -> str:
        rng = self.rng
        pairs = [(json.dumps(key, ensure_ascii=rng.random() < 0.001), text) for key, text in values.items()]
        if rng.random() < 0.01:
            rng.shuffle(pairs)
        if rng.random() < self.odd and pairs:
            pairs.append(rng.choice(pairs))
        comma, colon = rng.choice([(", ", ": "), (",", ":"), (" ,\t", " : "), ("\r,", ":\t")])
        return "{" + comma.join(f"{key}{colon}{text}" for key, text in pairs) + "}"

    def features(self) -> str:
        names = (
            self.rng.sample(self.names, self.rng.randint(0, len(self.names))) if self.sparse else self.names
        )
        values = {name: self.number() for name in names}
        if self.rng.random() < 0.02:
            values[self.rng.choice(["new0", "new1", "seed", "meta"])] = self.rng.choice(
                ["true", "null" if self.mixed else "2"]
            )
        return self.object(values)

    def token(self) -> str:
        logprob = self.number()
        if self.rng.random() < 0.7:
            return self.rng.choice([logprob, logprob, logprob, "null"])
        token = {"token": self.string(), "logprob": logprob, "bytes": "[1, 2]"}
        return self.object(token if self.rng.random() < 0.7 else {"17": self.object(token)})

    def value(self, kind: str) -> str:
        rng = self.rng
        if rng.random() < self.odd:
            return rng.choice(ODD)
        if kind == "label":
            return rng.choice(["null", "true", "0", self.number()]) if self.mixed else str(rng.randint(0, 4))
        if kind == "answer":
            return rng.choice(
                ["null", "12", "-0", "1.50", "1e3", "true", self.string()][-1 - 6 * self.mixed :]
            )
        if kind == "logprobs":
            tokens = [self.token() for _ in range(rng.randint(1, 9))]
            return rng.choice(
                ["[{}]"] * 3 + ['{{"tokens": [], "content": [{}]}}', '{{"token_logprobs":[{}], "x": null}}']
            ).format(",".join(tokens))
        if kind == "id":
            return rng.choice([self.string(), str(rng.randint(-9, 99))])
        made = {"number": self.number, "features": self.features, "any": self.any, "tree": lambda: '"(S x)"'}
        return made.get(kind, self.string)()

    def candidate(self) -> dict[str, str]:
        return {
            key: self.value(KEYS[key]) for key, absent in self.keys.items() if self.rng.random() >= absent
        }

    def of_list(self, number: int) -> dict[str, str]:
        rng = self.rng if self.rng.random() < self.odd else random.Random(number)
        made = {"meta": self.any, "references": lambda: f"[{self.string(rng)}, {self.string(rng)}]"}
        return {key: made.get(key, lambda: self.string(rng))() for key in self.shared}

    def lines(self) -> list[str]:
        out = []
        for number in range(self.rng.choice([2, 10, 60])):
            name = {self.key: f'"s{number}"' if self.rng.random() > self.odd else self.value("id")}
            items = [self.candidate() for _ in range(self.rng.randint(1, 4))]
            if self.by_list:
                texts = [self.string() if self.bare else self.object(item) for item in items]
                out.append(
                    self.object({**name, **self.of_list(number), "candidates": f"[{','.join(texts)}]"})
                )
            else:
                out += [self.object({**name, **self.of_list(number), **item}) for item in items]
        if not self.by_list and self.rng.random() < 0.1:
            self.rng.shuffle(out)
        return out

    def file(self) -> bytes:
        rng = self.rng
        lines = self.lines()
        if rng.random() < 0.05:
            lines.insert(rng.randint(0, len(lines)), rng.choice(["", " ", "\r", "[]", "1", "{}", "{} x"]))
        content = rng.choice(["\n", "\r\n"]).join(lines).encode() + rng.choice([b"", b"\n"])
        if rng.random() < 0.15:
            at = rng.randrange(len(content))
            some = rng.choice([b"", b"\xff", b"\xed\xa0\x80", b"\n", b'"', b",", b"}", b"\\", b"\0", b"0"])
            content = content[:at] + some + content[at + rng.randint(0, 2) :]
        return rng.choice([b"", b"", b"\xef\xbb\xbf"]) + content

    def options(self) -> dict[str, Any]:
        given = [{}, {}, {"missing": "nan"}, {"strict": True}, {"layout": "sparse"}, {"dtype": "float32"}]
        named = [{"text_column": "seed"}, {"label_column": "reward"}, {"list_column": "prompt"}]
        return self.rng.choice([*given, *given, *named])


def plain_values(value: Any) -> Any:
    """Return all that an object holds as values that can be compared, numbers bit by bit."""
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, StringColumn):
        return list(value)
    if isinstance(value, dict):
        return {key: plain_values(entry) for key, entry in value.items()}
    if isinstance(value, tuple | list):
        return [plain_values(entry) for entry in value]
    if hasattr(value, "arrays"):
        return plain_values(value.arrays())
    return plain_values(vars(value)) if hasattr(value, "__dict__") else value


def outcome(path: Path, options: dict[str, Any]) -> tuple[Any, list[Any]]:
    """Return what a file holds, or the error, and the notes."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = plain_values(load(path, format="jsonl", **options))
        except RerankError as error:
            found = str(error)
    notes = [str(entry.message) for entry in caught]
    # Keys are in the order in which they are counted, which depends on how many candidates wait.
    return found, [
        sorted(text.split(": ", 2)[2].split(", ")) if "ignored keys" in text else text for text in notes
    ]


def one_by_one(path: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> tuple[Any, list[Any]]:
    """Return the outcome of a reader that takes no line for plain."""
    with monkeypatch.context() as patch:
        patch.setattr(read.Reader, "plain", lambda _: None)
        return outcome(path, options)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many lines each call has read as plain ones."""
    calls: list[int] = []
    read_plain = shredder.PlainLines.read

    def count(self: shredder.PlainLines, *args: Any) -> Any:
        found = read_plain(self, *args)
        calls.append(found[1])
        return found

    monkeypatch.setattr(shredder.PlainLines, "read", count)
    return calls


@pytest.mark.parametrize("part", range(8))
def test_plain_lines_read_as_single_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[int], part: int
) -> None:
    monkeypatch.setattr(read, "_MOST_SINGLE", 2)
    if part % 2:  # many small blocks, and too little room at first
        monkeypatch.setattr(files, "BLOCK", 700)
        monkeypatch.setattr(shredder, "_ROWS", 2)
        monkeypatch.setattr(shredder, "_VALUES", 3)
    path = tmp_path / "set.jsonl"
    for seed in range(40 * part, 40 * part + 40):
        maker = Maker(seed)
        path.write_bytes(maker.file())
        options = maker.options()
        assert outcome(path, options) == one_by_one(path, options, monkeypatch), seed
    assert sum(counted) > 200


def test_exact_sums_are_those_of_fsum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counted: list[int]
) -> None:
    rng = random.Random(3)
    lines = []
    for i in range(400):
        values = [
            rng.uniform(-1, 1) * 10.0 ** rng.randint(-300 * (i % 2), 290) for _ in range(rng.randint(1, 40))
        ]
        values += [-value for value in values if rng.random() < 0.9] + [1e-300]
        lines.append(json.dumps({"list": i // 4, "text": "a", "logprobs": values}))
    path = tmp_path / "set.jsonl"
    path.write_text("\n".join(lines))
    sums = [math.fsum(json.loads(line)["logprobs"]) for line in lines]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert load(path).features.to_dense()[:, 0].tolist() == sums
    assert sum(counted) > 350


@pytest.mark.parametrize("by_list", [False, True])
def test_lines_of_one_kind_are_plain_from_the_second_on(
    tmp_path: Path, counted: list[int], by_list: bool
) -> None:
    lines = []
    for i in range(100):
        item = {"text": f"é {i}\n", "label": i % 2, "features": {"a": i, "b": 0.5}, "meta": {"x": [i]}}
        lines.append({"id": i, "candidates": [item]} if by_list else {"list": i // 4, **item})
    path = tmp_path / "set.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    with pytest.warns(match=r"ignored keys: 'meta' \(100\)"):
        lists = load(path)
    assert counted == [99]
    assert list(lists.texts) == [f"é {i}\n" for i in range(100)]
    assert lists.features.to_dense().tolist() == [[i, 0.5] for i in range(100)]
