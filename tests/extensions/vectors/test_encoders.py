"""Local models of texts, their cache, and models that were trained with them; each mistake is one line."""

import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest

import rerank
from rerank.core.errors import ConfigError, DataError, FormatError
from rerank.extensions.vectors import cache
from rerank.extensions.vectors.cache import encoded
from rerank.extensions.vectors.encoders import open_encoder
from rerank.extensions.vectors.safetensors import read_tensors
from rerank.models.base import load_model

tokenizers = pytest.importorskip("tokenizers", reason="extra rerank[vectors]")
pytest.importorskip("onnxruntime", reason="extra rerank[vectors]")
onnx = pytest.importorskip("onnx", reason="extra rerank[onnx]")
pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")

WORDS = ["[UNK]", "[SEP]", "mill", "dam", "old", "the", "built", "tower"]
TABLE = np.random.default_rng(0).normal(size=(len(WORDS), 3)).astype(np.float32)
TEXTS = ["the old mill", "built", "nothing", "", "The dam the dam the dam tower"]


@pytest.fixture(autouse=True)
def forget(monkeypatch):
    monkeypatch.setattr(cache, "_MEMORY", {})


def write_tokenizer(folder):
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({w: i for i, w in enumerate(WORDS)}, unk_token=WORDS[0])
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    made.normalizer = tokenizers.normalizers.Lowercase()
    made.post_processor = tokenizers.processors.TemplateProcessing(
        single="$A [SEP]", pair="$A [SEP] $B:1 [SEP]:1", special_tokens=[("[SEP]", 1)]
    )
    made.save(str(folder / "tokenizer.json"))


def safetensors(tensors):
    """The bytes of a file of tensors."""
    kinds = {"f4": "F32", "f2": "F16", "f8": "F64", "i8": "I64"}
    header, data = {}, b""
    for name, array in tensors.items():
        start, data = len(data), data + array.tobytes()
        header[name] = {
            "dtype": kinds[array.dtype.str[1:]],
            "shape": array.shape,
            "data_offsets": [start, len(data)],
        }
    text = json.dumps({**header, "__metadata__": {"made": "by a test"}}).encode()
    return len(text).to_bytes(8, "little") + text + data


def static(folder, **tensors):
    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    (folder / "model.safetensors").write_bytes(safetensors(tensors or {"embeddings": TABLE}))
    return str(folder)


def write_onnx(folder, nodes, output, shape, initial, inputs=("input_ids", "attention_mask")):
    made = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.INT64, ["b", "s"]) for name in inputs]
    out = onnx.helper.make_tensor_value_info(output, onnx.TensorProto.FLOAT, shape)
    tensors = [onnx.numpy_helper.from_array(array, name) for name, array in initial.items()]
    graph = onnx.helper.make_graph(nodes, "g", made, [out], tensors)
    onnx.save(
        onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=8),
        str(folder / "model.onnx"),
    )


def bi_encoder(folder, pooling="mean_tokens"):
    """A model whose vectors of tokens are rows of TABLE."""
    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    node = onnx.helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    write_onnx(folder, [node], "last_hidden_state", ["b", "s", 3], {"table": TABLE})
    if pooling:
        (folder / "1_Pooling").mkdir(exist_ok=True)
        config = {"word_embedding_dimension": 3, f"pooling_mode_{pooling}": True, "include_prompt": True}
        (folder / "1_Pooling" / "config.json").write_text(json.dumps(config))
    return str(folder)


def cross_encoder(folder):
    """A model whose score is the sum of numbers of the tokens that belong to the text."""
    folder.mkdir(exist_ok=True)
    write_tokenizer(folder)
    make = onnx.helper.make_node
    nodes = [
        make("Gather", ["table", "input_ids"], ["a"]),
        make("Cast", ["token_type_ids"], ["b"], to=onnx.TensorProto.FLOAT),
        make("Mul", ["a", "b"], ["c"]),
        make("ReduceSum", ["c", "axis"], ["logits"], keepdims=1),
    ]
    own = {"table": TABLE[:, 0].copy(), "axis": np.array([1])}
    write_onnx(folder, nodes, "logits", ["b", 1], own, ("input_ids", "attention_mask", "token_type_ids"))
    return str(folder)


def ids_of(text):
    return [WORDS.index(w) if w in WORDS else 0 for w in text.lower().split()]


def test_static_vectors_are_means_of_their_tokens(tmp_path):
    found = open_encoder(static(tmp_path / "a")).encode(TEXTS)
    for text, row in zip(TEXTS, found, strict=True):
        known = [i for i in ids_of(text) if i]
        expected = TABLE[known].mean(axis=0) if known else np.zeros(3)
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-7)
    mapping, weights = np.array([0, 1, 2, 3, 3, 4, 5, 1]), np.linspace(1, 2, 8)
    own = static(tmp_path / "b", embeddings=TABLE[:6].astype("f2"), mapping=mapping, weights=weights)
    (tmp_path / "b" / "config.json").write_text('{"normalize": true}')
    row = open_encoder(own).encode(["the old mill"])[0]
    ids = ids_of("the old mill")
    expected = (TABLE[:6].astype("f2").astype("f4")[mapping[ids]] * weights[ids, None]).sum(axis=0)
    np.testing.assert_allclose(row, expected / np.linalg.norm(expected), rtol=1e-3)


@pytest.mark.parametrize("pooling", ["mean_tokens", "cls_token"])
def test_vectors_of_a_model_in_onnx(pooling, tmp_path):
    found = open_encoder(bi_encoder(tmp_path / "a", pooling))
    rows = found.encode(TEXTS)
    for text, row in zip(TEXTS, rows, strict=True):
        tokens = TABLE[[*ids_of(text), 1]]
        np.testing.assert_allclose(row, tokens[0] if pooling[0] == "c" else tokens.mean(axis=0), rtol=1e-5)
    assert found.encode(TEXTS[::-1])[::-1].tobytes() == rows.tobytes()
    short = open_encoder(found.folder, max_tokens=2).encode(TEXTS[:1])[0]
    np.testing.assert_allclose(
        short, TABLE[5] if pooling[0] == "c" else TABLE[[5, 1]].mean(axis=0), rtol=1e-5
    )
    (tmp_path / "a" / "modules.json").write_text('[{"type": "sentence_transformers.models.Normalize"}]')
    rows = open_encoder(found.folder).encode(TEXTS)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)


def test_scores_of_pairs(tmp_path):
    found = open_encoder(cross_encoder(tmp_path / "a"), "cross_encoder")
    rows = found.encode([("the mill", text) for text in TEXTS])
    expected = [TABLE[[*ids_of(text), 1], 0].sum() for text in TEXTS]
    np.testing.assert_allclose(rows[:, 0], expected, rtol=1e-5)


def test_texts_are_encoded_once_and_what_was_done_stays(tmp_path, monkeypatch):
    encoder = open_encoder(static(tmp_path / "a"))
    monkeypatch.setattr(encoder, "step", 2)
    calls = []

    def counted(texts):
        calls.append(list(texts))
        if len(calls) == 2 and dying:
            raise KeyboardInterrupt
        return type(encoder).encode(encoder, texts)

    monkeypatch.setattr(encoder, "encode", counted)
    place, dying = str(tmp_path / "cache"), True
    with pytest.raises(KeyboardInterrupt):
        encoded(encoder, TEXTS + TEXTS, "texts", place)
    assert len(os.listdir(os.path.join(place, encoder.key))) == 1
    cache._MEMORY.clear()
    dying = False
    rows = encoded(encoder, TEXTS + TEXTS, "texts", place)
    assert calls == [TEXTS[:2], TEXTS[2:4], TEXTS[2:4], TEXTS[4:]]
    assert rows[:5].tobytes() == rows[5:].tobytes()
    cache._MEMORY.clear()
    assert encoded(encoder, TEXTS, "texts", place).tobytes() == rows[:5].tobytes()
    assert len(calls) == 4
    assert encoded(encoder, TEXTS, "texts", place).tobytes() == rows[:5].tobytes()  # from memory
    assert len(calls) == 4
    file = next(iter((tmp_path / "cache" / encoder.key).iterdir()))
    content = file.read_bytes()
    for bad in (content[:-1], content + b"x", b"", content[:-4] + b"\0\0\xc0\x7f"):
        cache._MEMORY.clear()
        file.write_bytes(bad)
        with pytest.raises(
            FormatError, match=r"damaged data .*, expected a batch of a cache; delete the file"
        ):
            encoded(encoder, TEXTS, "texts", place)


@pytest.fixture
def lists():
    texts = [["the old mill", "no such thing"], ["a dam", "closed", "the tower"]]
    return rerank.text_lists(["the mill", "the dam"], texts, [[1, 0], [1, 0, 0]])


def test_the_model_keeps_its_encoders(tmp_path, lists):
    folders = {"encoder": bi_encoder(tmp_path / "a"), "cross_encoder": cross_encoder(tmp_path / "b")}
    given = {**folders, "query_prefix": "old ", "text_prefix": "built "}
    ready = rerank.vector_features(lists, given).lists
    assert ready.names() == [
        f"vector_{n}" for n in ("cosine", "dot", "distance", "centrality", "cross_encoder")
    ]
    vectors = open_encoder(folders["encoder"]).encode([f"built {text}" for text in lists.texts])
    queries = open_encoder(folders["encoder"]).encode([f"old {text}" for text in lists.prompts])
    with_files = replace(lists, vectors=vectors, query_vectors=queries)
    same = rerank.vector_features(with_files, {"cross_encoder": folders["cross_encoder"]}).lists
    assert same.features.to_dense().tobytes() == ready.features.to_dense().tobytes()
    model = rerank.train(lists, "ridge", features_from="vectors", vector_cache=str(tmp_path / "c"), **given)
    assert len(os.listdir(tmp_path / "c")) == 2
    own = rerank.train(ready, "ridge")
    np.testing.assert_array_equal(model.weights, own.weights)
    path = str(tmp_path / "m")
    model.save(path)
    np.testing.assert_array_equal(load_model(path).score(lists), own.score(ready))
    assert b"cache" not in (tmp_path / "m").read_bytes()
    ranked = rerank.Ranker.load(path).rank("the mill", ["no such thing", "the old mill"])
    assert ranked[0].score == pytest.approx(model.score(lists)[0], rel=1e-6)
    with pytest.raises(DataError, match="found vectors of items, which the model's encoder makes; leave "):
        model.score(replace(lists, vectors=vectors))
    # Another place, and another model at the old one.
    shutil.move(folders["encoder"], tmp_path / "moved")
    with pytest.raises(Exception, match=r"a: no such file or folder"):
        load_model(path).score(lists)
    places = {"encoder": str(tmp_path / "moved"), "vector_cache": str(tmp_path / "d")}
    np.testing.assert_array_equal(rerank.predict(path, lists, **places), own.score(ready))
    np.testing.assert_array_equal(rerank.predict(load_model(path), lists, **places), own.score(ready))
    with pytest.raises(ConfigError, match="unknown argument 'encodr'; did you mean 'encoder'"):
        rerank.predict(path, lists, encodr=str(tmp_path))
    assert len(rerank.Ranker.load(path, **places).rank("the mill", ["a dam"])) == 1
    assert (tmp_path / "d").exists()
    with pytest.raises(ConfigError, match=r"encoder.*: not used by this model, whose features need no local"):
        rerank.predict(own, lists, **places)
    bi_encoder(tmp_path / "a", "cls_token")
    with pytest.raises(ConfigError, match=r"found another model \(.*\), expected the one of the training"):
        load_model(path).score(lists)


def test_an_encoder_completes_what_files_have(tmp_path, lists):
    folder = static(tmp_path / "a")
    items = open_encoder(folder).encode(list(lists.texts))
    half = replace(lists, vectors=items, texts=None)
    model = rerank.train(half, "ridge", features_from="vectors", encoder=folder)
    whole = rerank.train(lists, "ridge", features_from="vectors", encoder=folder)
    np.testing.assert_array_equal(model.score(half), whole.score(lists))
    with pytest.raises(DataError, match="found no vectors of items"):
        model.score(lists)
    with pytest.raises(DataError, match="found vectors of 2 numbers, expected 3, as the encoder makes"):
        rerank.train(
            replace(half, vectors=items[:, :2].copy()), "ridge", features_from="vectors", encoder=folder
        )
    full = replace(half, query_vectors=items[:2])
    with pytest.raises(ConfigError, match="encoder: not used, items and questions have vectors"):
        rerank.train(full, "ridge", features_from="vectors", encoder=folder)


def test_settings_that_are_not_used(tmp_path, lists):
    for given, message in (
        ({"encoder": "x"}, "encoder: not used without features_from=vectors"),
        (
            {"features_from": "vectors", "vector_cache": "c"},
            "vector_cache: not used without encoder or cross",
        ),
        ({"features_from": "vectors", "pooling": "cls"}, "pooling: not used without encoder"),
        ({"features_from": "vectors,words"}, "features_from: found 'words', expected 'text' or 'vectors'"),
    ):
        with pytest.raises(ConfigError, match=message):
            rerank.train(lists, "ridge", **given)
    with pytest.raises(ConfigError, match=r"--?pooling.*cls.*: not used by static embeddings"):
        open_encoder(static(tmp_path / "a"), pooling="cls")


def test_folders_without_a_model(tmp_path):
    folder = tmp_path / "a"
    static(folder)
    with pytest.raises(
        FormatError, match=r"found no model\.onnx, expected a cross-encoder that was exported"
    ):
        open_encoder(str(folder), "cross_encoder")
    for tensors, message in (
        ({"encoder.layer.0": TABLE}, "found tensors encoder.layer.0, expected a table of vectors"),
        ({"embeddings": TABLE[:4]}, "found 4 vectors, expected one of 8 tokens"),
        ({"embeddings": TABLE[:, 0].copy()}, r"found embeddings of shape \(8,\), expected finite rows"),
        ({"embeddings": TABLE * np.float32(np.nan)}, "expected finite rows of numbers"),
        ({"embeddings": TABLE, "mapping": np.full(8, 9)}, "found a mapping beyond the table"),
        ({"embeddings": TABLE, "weights": np.ones(3)}, "found 3 weights, expected one of 8 tokens"),
    ):
        static(folder, **tensors)
        with pytest.raises(FormatError, match=message):
            open_encoder(str(folder))
    for name, content, message in (
        ("model.safetensors", b"\xff" * 20, r"damaged data \(the header is longer than the file\)"),
        ("model.safetensors", b"", "damaged data"),
        ("model.safetensors", safetensors({"embeddings": TABLE})[:-1], r"damaged data \(a tensor beyond the"),
        ("tokenizer.json", b"{}", r"tokenizer\.json: found damaged data .*, expected a tokenizer"),
        ("config.json", b"{", r"config\.json: found damaged data, expected JSON"),
        ("modules.json", b'[{"type": "m.Dense"}]', "found a module 'm.Dense', expected Transformer, Pooling"),
        ("model.onnx", b"no model", r"model\.onnx: found damaged data .*, expected a model in ONNX"),
    ):
        shutil.rmtree(folder)
        static(folder)
        (folder / name).write_bytes(content)
        with pytest.raises(FormatError, match=message):
            open_encoder(str(folder))
    os.remove(folder / "tokenizer.json")
    with pytest.raises(
        FormatError, match=r"found no tokenizer\.json, expected a folder with a model of texts"
    ):
        open_encoder(str(folder))
    with pytest.raises(
        FormatError, match="vectors of tokens, and not how they are pooled, expected 1_Pooling"
    ):
        open_encoder(bi_encoder(tmp_path / "b", ""))
    with pytest.raises(
        FormatError, match="found the output 'last_hidden_state' of 12 numbers, expected a score"
    ):
        open_encoder(str(tmp_path / "b"), "cross_encoder")
    node = onnx.helper.make_node("Gather", ["table", "positions"], ["x"])
    write_onnx(tmp_path / "b", [node], "x", ["b", "s", 3], {"table": TABLE}, ("positions",))
    with pytest.raises(
        FormatError, match="found the input 'positions', expected whole numbers, named input_ids"
    ):
        open_encoder(str(tmp_path / "b"), pooling="mean")


def test_tensors_of_half_precision(tmp_path):
    content = safetensors({"x": np.array([1.0, -2.5], dtype="f4").view("<u4").astype("f4")})
    content = content.replace(
        b'"F32", "shape": [2], "data_offsets": [0, 8]', b'"BF16","shape": [2], "data_offsets": [0, 4]'
    )
    head = int.from_bytes(content[:8], "little")
    values = (np.array([1.0, -2.5], dtype="f4").view("u4") >> 16).astype("<u2").tobytes()
    (tmp_path / "a").write_bytes(content[: 8 + head] + values)
    assert read_tensors(str(tmp_path / "a"))["x"].tolist() == [1.0, -2.5]


def test_a_package_that_is_not_installed(tmp_path, monkeypatch):
    import sys

    for package, make in (("tokenizers", static), ("onnxruntime", bi_encoder)):
        folder = make(tmp_path / package)
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(
                ConfigError, match=r"needs the extra rerank\[vectors\]: pip install 'rerank\[vec"
            ):
                open_encoder(folder)
