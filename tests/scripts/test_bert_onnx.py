"""scripts/bert_onnx.py: the graph gives the vectors of BERT's equations, and masked tokens change nothing."""

import math

import numpy as np
import pytest

onnxruntime = pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

import bert_onnx  # noqa: E402

CONFIG = {"hidden_size": 8, "num_attention_heads": 2, "num_hidden_layers": 2, "layer_norm_eps": 1e-12}


def tensors():
    draw, sizes = np.random.default_rng(1), {}
    for table, n in (("word", 11), ("position", 6), ("token_type", 2)):
        sizes[f"embeddings.{table}_embeddings.weight"] = (n, 8)
    norms = ["embeddings.LayerNorm"]
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        dense = {f"attention.self.{part}": (8, 8) for part in ("query", "key", "value")}
        dense |= {"attention.output.dense": (8, 8), "intermediate.dense": (12, 8), "output.dense": (8, 12)}
        for name, shape in dense.items():
            sizes |= {f"{layer}.{name}.weight": shape, f"{layer}.{name}.bias": shape[:1]}
    for name in norms:
        sizes |= {f"{name}.weight": (8,), f"{name}.bias": (8,)}
    return {name: draw.normal(size=shape).astype(np.float32) for name, shape in sizes.items()}


def vectors(t, ids, types):
    """The vectors of one text's tokens, in double precision."""

    def norm(x, name):
        x = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-12)
        return x * t[f"{name}.weight"] + t[f"{name}.bias"]

    def dense(x, name):
        return x @ t[f"{name}.weight"].T + t[f"{name}.bias"]

    tables = [t[f"embeddings.{name}_embeddings.weight"] for name in ("word", "position", "token_type")]
    x = norm(tables[0][ids] + tables[1][: len(ids)].astype(float) + tables[2][types], "embeddings.LayerNorm")
    for layer in ("encoder.layer.0", "encoder.layer.1"):
        q, k, v = (dense(x, f"{layer}.attention.self.{part}") for part in ("query", "key", "value"))
        heads = []
        for h in (slice(0, 4), slice(4, 8)):
            e = np.exp(q[:, h] @ k[:, h].T / 2)
            heads.append(e / e.sum(1, keepdims=True) @ v[:, h])
        read = dense(np.hstack(heads), f"{layer}.attention.output.dense")
        x = norm(read + x, f"{layer}.attention.output.LayerNorm")
        wide = dense(x, f"{layer}.intermediate.dense")
        wide = wide * np.vectorize(lambda z: (1 + math.erf(z / math.sqrt(2))) / 2)(wide)
        x = norm(dense(wide, f"{layer}.output.dense") + x, f"{layer}.output.LayerNorm")
    return x


def test_the_graph_is_bert():
    given = tensors()
    model = bert_onnx.encoder(given, CONFIG)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    ids, types = np.array([[3, 1, 4, 1], [5, 9, 0, 0]]), np.array([[0, 0, 1, 1], [0, 1, 0, 0]])
    mask = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    (found,) = session.run(None, {"input_ids": ids, "attention_mask": mask, "token_type_ids": types})
    np.testing.assert_allclose(found[0], vectors(given, ids[0], types[0]), atol=2e-4)
    np.testing.assert_allclose(found[1, :2], vectors(given, ids[1, :2], types[1, :2]), atol=2e-4)
