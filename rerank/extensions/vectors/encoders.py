"""Local models of texts: static embeddings, and bi-encoders and cross-encoders in ONNX.

A model is a folder as sentence-transformers, model2vec and Optimum write it. Nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Literal

import msgspec
import numpy as np

from rerank.core.errors import ConfigError, FormatError, os_error
from rerank.core.files.read import read_bytes
from rerank.core.text import count, some
from rerank.core.types import AnyArray
from rerank.extensions.vectors.safetensors import read_tensors

Pooling = Literal["auto", "mean", "cls"]
Role = Literal["encoder", "cross_encoder"]
Text = str | tuple[str, str]

_TOKENIZER = ("tokenizer.json", "0_StaticEmbedding/tokenizer.json")
_ONNX = ("model.onnx", "onnx/model.onnx")
_STATIC = ("model.safetensors", "0_StaticEmbedding/model.safetensors")
_TABLES = ("embedding.weight", "embeddings", "embedding")
_CONFIGS = ("config.json", "modules.json", "1_Pooling/config.json", "sentence_bert_config.json")
_LONGEST = 512  # tokens of a text, unless the model says otherwise
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}


class Encoder:
    """A model that makes a vector, or a score, of each text or pair of texts.

    Attributes
    ----------
    folder : where it is.
    content : hash of its files, hexadecimal.
    key : hash of its files and of the settings that change what it makes.
    n_dims : how many numbers it makes of a text.
    step : texts that are encoded at once.
    """

    n_dims: int
    step: int = 64

    def __init__(self, folder: str, content: str, tokenizer: Any, max_tokens: int, key: str) -> None:
        self.folder, self.content, self.key = folder, content, key
        self.tokenizer, self.max_tokens = tokenizer, max_tokens
        tokenizer.no_padding()
        tokenizer.enable_truncation(max_length=max_tokens)

    def encode(self, texts: Sequence[Text]) -> AnyArray:
        """Return float32 (n, n_dims); a text's numbers do not depend on the other texts."""
        raise NotImplementedError


class StaticEncoder(Encoder):
    """The mean of the vectors of a text's tokens."""

    step = 4096

    def __init__(self, *given: Any, path: str, normalise: bool) -> None:
        super().__init__(*given)
        tensors = read_tensors(path)
        name = next((one for one in _TABLES if one in tensors), None)
        if name is None:
            found = f"tensors {some(sorted(tensors))}"
            expected = f"a table of vectors ({', '.join(_TABLES)}), or model.onnx beside it"
            raise FormatError(path, None, found, f"{expected}: transformers are exported to ONNX")
        table = tensors[name].astype(np.float32)
        if table.ndim != 2 or not table.size or not np.isfinite(table).all():
            raise FormatError(path, None, f"{name} of shape {table.shape}", "finite rows of numbers")
        self.rows: AnyArray | None = None
        if "mapping" in tensors:
            self.rows = tensors["mapping"].astype(np.int64).ravel()
            if np.any((self.rows < 0) | (self.rows >= len(table))):
                raise FormatError(path, None, "a mapping beyond the table", f"rows of {len(table):,}")
        n_tokens = len(table) if self.rows is None else len(self.rows)
        if self.tokenizer.get_vocab_size() > n_tokens:
            found = f"{n_tokens:,} vectors"
            raise FormatError(path, None, found, f"one of {self.tokenizer.get_vocab_size():,} tokens")
        weights = tensors.get("weights")
        self.weights = None if weights is None else weights.astype(np.float32).ravel()
        if self.weights is not None and len(self.weights) != n_tokens:
            raise FormatError(path, None, f"{len(self.weights):,} weights", f"one of {n_tokens:,} tokens")
        self.table, self.normalise, self.n_dims = table, normalise, table.shape[1]
        unknown = msgspec.json.decode(self.tokenizer.to_str())["model"].get("unk_token")
        self.unknown = None if unknown is None else self.tokenizer.token_to_id(unknown)

    def encode(self, texts: Sequence[Text]) -> AnyArray:
        from scipy.sparse import csr_array

        found = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        ids = [[i for i in one.ids if i != self.unknown] for one in found]
        bounds = np.cumsum([0, *map(len, ids)])
        tokens = np.fromiter((i for one in ids for i in one), np.int64, int(bounds[-1]))
        values = np.ones(len(tokens), np.float32) if self.weights is None else self.weights[tokens]
        rows = tokens if self.rows is None else self.rows[tokens]
        counts = csr_array((values, rows, bounds), shape=(len(texts), len(self.table)))
        sums: AnyArray = counts @ self.table
        lengths = np.maximum(np.diff(bounds), 1).astype(np.float32)
        if self.normalise:
            lengths = np.maximum(np.sqrt(np.einsum("ij,ij->i", sums, sums)), np.float32(1e-30))
        return sums / lengths[:, None]


class OnnxEncoder(Encoder):
    """A transformer in ONNX, which gets one text at a time, so that no padding changes its numbers."""

    def __init__(self, *given: Any, path: str, role: Role, pooling: str, normalise: bool) -> None:
        super().__init__(*given)
        self.path, self.role, self.pooling, self.normalise = path, role, pooling, normalise
        self.session = _session(path)
        self.inputs = {one.name: _TYPES.get(one.type) for one in self.session.get_inputs()}
        odd = next((name for name, kind in self.inputs.items() if name not in _INPUTS or kind is None), None)
        if odd is not None:
            expected = f"whole numbers, named {', '.join(_INPUTS)}"
            raise FormatError(path, None, f"the input {odd!r}", expected)
        outputs = [one.name for one in self.session.get_outputs()]
        self.output = "sentence_embedding" if "sentence_embedding" in outputs else outputs[0]
        pair = () if role == "encoder" else ("a",)
        first = self._run(self.tokenizer.encode("a", *pair))
        if role == "encoder":
            self.n_dims = first.shape[-1]
        elif first.size not in (1, 2):
            found = f"the output {self.output!r} of {count(first.size, 'number')}"
            raise FormatError(path, None, found, "a score, or two of classes, of which the second is right")
        else:
            self.n_dims = 1

    def encode(self, texts: Sequence[Text]) -> AnyArray:
        found = self.tokenizer.encode_batch(list(texts))
        with ThreadPoolExecutor(_threads()) as pool:
            rows = list(pool.map(self._row, found))
        values = np.array(rows, dtype=np.float32).reshape(len(texts), self.n_dims)
        if not np.isfinite(values).all():
            k = int(np.argmin(np.isfinite(values).all(axis=1)))
            raise FormatError(self.path, None, f"numbers that are not finite of {texts[k]!r}", "finite ones")
        return values

    def _row(self, encoding: Any) -> AnyArray:
        """The vector of a text, or the score of a pair."""
        out = self._run(encoding)
        if self.role != "encoder":
            return out.ravel() if out.size == 1 else out.ravel()[1:] - out.ravel()[:1]
        if out.ndim == 3:
            out = out[:, 0] if self.pooling == "cls" else out.mean(axis=1, dtype=np.float64)
        row = out.reshape(-1)
        return row / max(float(np.sqrt(row @ row)), 1e-30) if self.normalise else row

    def _run(self, encoding: Any) -> AnyArray:
        columns = (encoding.ids, encoding.attention_mask, encoding.type_ids)
        given = {
            name: np.array([values], dtype=self.inputs[name])
            for name, values in zip(_INPUTS, columns, strict=True)
            if name in self.inputs
        }
        try:
            out: AnyArray = self.session.run([self.output], given)[0]
        except Exception as error:  # whatever the runtime raises at another kind of model
            raise FormatError(
                self.path, None, f"a model that fails ({_brief(error)})", "one of texts"
            ) from None
        if out.dtype.kind != "f" or out.shape[:1] != (1,) or out.ndim > 3:
            found = f"the output {self.output!r} of shape {out.shape}"
            raise FormatError(self.path, None, found, "numbers of a text or of its tokens")
        return out


def open_encoder(
    folder: str, role: Role = "encoder", max_tokens: int | None = None, pooling: Pooling = "auto"
) -> Encoder:
    """Return the model in a folder, read once as long as its files stay the same.

    Parameters
    ----------
    folder : with tokenizer.json, and model.onnx, onnx/model.onnx or model.safetensors (static embeddings).
    role : whether it makes vectors of texts, or scores of pairs of texts.
    max_tokens : the tokens of a text that it sees; None = as the model says.
    pooling : of the vectors of tokens, "auto" = as the model says.

    Raises
    ------
    FormatError
        If there is no such model, or it is damaged.
    ConfigError
        If a package is not installed, or a setting does not fit the model.
    """
    return _opened(os.path.abspath(folder), _stamps(folder), role, max_tokens, pooling)


def _stamps(folder: str) -> tuple[tuple[str, int, int], ...]:
    """Name, size and time of each file of a model."""
    try:
        names = os.listdir(folder)
    except OSError as error:
        raise os_error(folder, error) from None
    onnx = [name for name in names if name.startswith("model.onnx")]  # weights may be in files beside it
    if "onnx" in names and os.path.isdir(os.path.join(folder, "onnx")):
        inside = sorted(os.listdir(os.path.join(folder, "onnx")))
        onnx += [f"onnx/{name}" for name in inside if name.startswith("model.onnx")]
    found = []
    for name in sorted({*_TOKENIZER, *_STATIC, *_CONFIGS, *onnx}):
        path = os.path.join(folder, name)
        if os.path.isfile(path):
            status = os.stat(path)
            found.append((name, status.st_size, status.st_mtime_ns))
    return tuple(found)


@lru_cache(maxsize=4)
def _opened(
    folder: str,
    stamps: tuple[tuple[str, int, int], ...],
    role: Role,
    max_tokens: int | None,
    pooling: Pooling,
) -> Encoder:
    names = [name for name, _, _ in stamps]
    onnx = next((name for name in _ONNX if name in names), None)
    static = next((name for name in _STATIC if name in names), None)
    tokenizer = next((name for name in _TOKENIZER if name in names), None)
    if tokenizer is None or (onnx is None and static is None):
        missing = "tokenizer.json" if tokenizer is None else "model.onnx or model.safetensors"
        raise FormatError(folder, None, f"no {missing}", "a folder with a model of texts")
    if onnx is None and role != "encoder":
        raise FormatError(folder, None, "no model.onnx", "a cross-encoder that was exported to ONNX")
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        if name in _STATIC and onnx is not None:
            continue  # the same weights in another form
        content = read_bytes(os.path.join(folder, name))
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    content_key = digest.hexdigest()
    configs = {name: _json(os.path.join(folder, name)) for name in _CONFIGS if name in names}
    limit = max_tokens or _limit(configs)
    own = _own_pooling(configs, folder) if role == "encoder" else "auto"
    used = own if pooling == "auto" else pooling
    normalise = _normalises(configs, folder)
    digest.update(f"{role}\0{limit}\0{used}\0{normalise}".encode())
    given = (folder, content_key, _tokenizer(os.path.join(folder, tokenizer)), limit, digest.hexdigest())
    if onnx is None:
        if pooling == "cls":
            raise ConfigError("--pooling cls: not used by static embeddings, whose vectors are averaged")
        return StaticEncoder(*given, path=os.path.join(folder, str(static)), normalise=normalise)
    path = os.path.join(folder, onnx)
    made = OnnxEncoder(*given, path=path, role=role, pooling=used, normalise=normalise)
    if role == "encoder" and used == "auto" and made.output != "sentence_embedding":
        expected = "1_Pooling/config.json, or --pooling mean or cls"
        raise FormatError(folder, None, "vectors of tokens, and not how they are pooled", expected)
    return made


def _json(path: str) -> Any:
    try:
        return msgspec.json.decode(bytes(read_bytes(path)))
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise FormatError(path, None, "damaged data", "JSON") from None


def _limit(configs: dict[str, Any]) -> int:
    """The tokens that a model sees of a text."""
    for name, key in (("sentence_bert_config.json", "max_seq_length"), ("config.json", "seq_length")):
        value = _get(configs, name, key)
        if type(value) is int and value > 0:
            return value
    value = _get(configs, "config.json", "max_position_embeddings")
    return min(value, _LONGEST) if type(value) is int and value > 0 else _LONGEST


def _get(configs: dict[str, Any], name: str, key: str) -> Any:
    content = configs.get(name)
    return content.get(key) if isinstance(content, dict) else None


def _own_pooling(configs: dict[str, Any], folder: str) -> str:
    """Return how the model pools vectors of tokens, "auto" if it does not say."""
    config = configs.get("1_Pooling/config.json")
    if not isinstance(config, dict):
        return "auto"
    chosen = {key.removeprefix("pooling_mode_") for key, value in config.items() if value is True} - {
        "include_prompt"
    }
    named = config.get("pooling_mode")
    chosen = {str(named)} if isinstance(named, str) else chosen
    if chosen == {"mean_tokens"} or chosen == {"mean"}:
        return "mean"
    if chosen == {"cls_token"} or chosen == {"cls"}:
        return "cls"
    raise FormatError(
        f"{folder}/1_Pooling/config.json", None, some(sorted(chosen)), "mean_tokens or cls_token"
    )


def _normalises(configs: dict[str, Any], folder: str) -> bool:
    """Return whether the model divides vectors by their lengths; FormatError if it does more with them."""
    modules = configs.get("modules.json")
    kinds = [str(one.get("type", "")) for one in modules or () if isinstance(one, dict)]
    for kind in kinds:
        if kind.rpartition(".")[2] not in ("Transformer", "Pooling", "Normalize", "StaticEmbedding"):
            expected = "Transformer, Pooling, Normalize or StaticEmbedding"
            raise FormatError(f"{folder}/modules.json", None, f"a module {kind!r}", expected)
    if kinds:
        return any(kind.endswith("Normalize") for kind in kinds)
    return _get(configs, "config.json", "normalize") is True


def _tokenizer(path: str) -> Any:
    """The tokenizer of a file; ConfigError if the package is not installed."""
    try:
        from tokenizers import Tokenizer
    except ImportError:
        raise ConfigError(f"{path} {_NEEDS}") from None
    try:
        return Tokenizer.from_str(bytes(read_bytes(path)).decode("utf-8"))
    except Exception as error:  # the package raises no other class
        raise FormatError(path, None, f"damaged data ({_brief(error)})", "a tokenizer") from None


_NEEDS = "needs the extra rerank[vectors]: pip install 'rerank[vectors]'"


def _session(path: str) -> Any:
    """The model of a file in ONNX Runtime, with one thread for each text."""
    try:
        import onnxruntime
    except ImportError:
        raise ConfigError(f"{path} {_NEEDS}") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # whatever the runtime raises at a damaged file
        raise FormatError(path, None, f"damaged data ({_brief(error)})", "a model in ONNX") from None


def _threads() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _brief(error: Exception) -> str:
    return (str(error).strip().split("\n")[0] or type(error).__name__)[:150]
