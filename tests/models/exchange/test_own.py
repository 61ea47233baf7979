"""JSON of our own: its schema, and models that come back with the same bits."""

import json
from pathlib import Path

import numpy as np
import pytest
from models.exchange.kinds import KINDS, NAMES, items

import rerank
from rerank.models import exchange
from rerank.models.exchange.calls import read_model

pytestmark = pytest.mark.filterwarnings("ignore::rerank.DataNote")
SCHEMA = json.loads((Path(exchange.__file__).parent / "schema.json").read_text())
TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "number": (int, float),
    "integer": int,
    "boolean": bool,
    "null": type(None),
}


def faults(value, schema, at="$"):
    """Where a value breaks a schema, of the few words that ours uses."""
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    numeric = not isinstance(value, bool) or "boolean" in kinds
    if kinds and not (numeric and any(isinstance(value, TYPES[kind]) for kind in kinds)):
        return [f"{at}: {type(value).__name__}"]
    if "const" in schema and value != schema["const"]:
        return [f"{at}: {value!r}"]
    if "enum" in schema and value not in schema["enum"]:
        return [f"{at}: {value!r}"]
    found = []
    if isinstance(value, dict):
        found += [f"{at}: no {key}" for key in schema.get("required", []) if key not in value]
        for key, inner in value.items():
            rule = schema.get("properties", {}).get(key, schema.get("additionalProperties", {}))
            found += [f"{at}: {key}"] if rule is False else faults(inner, rule or {}, f"{at}.{key}")
    if isinstance(value, list) and "items" in schema:
        found += [
            fault for i, inner in enumerate(value) for fault in faults(inner, schema["items"], f"{at}[{i}]")
        ]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_json_follows_the_schema_and_reads_back_to_the_bit(kind, tmp_path):
    model, found = KINDS[kind](), items(kind)
    path = tmp_path / "m.json"
    rerank.export(model, str(path), "json")
    content = json.loads(path.read_text())
    assert faults(content, SCHEMA) == []
    again = read_model(str(path), "json")
    assert np.array_equal(again.score(found), model.score(found))
    assert again.explain() == model.explain()
    rerank.export(again, str(tmp_path / "again.json"), "json")
    other = json.loads((tmp_path / "again.json").read_text())
    assert {k: v for k, v in other.items() if k != "model"} == {
        k: v for k, v in content.items() if k != "model"
    }


def test_raw_and_standardised_weights_are_one_sum(tmp_path):
    for kind in ("linear zscore", "linear minmax mean", "linear zscore indicator"):
        model, found = KINDS[kind](), items(kind)
        rerank.export(model, str(tmp_path / "m.json"), "json")
        raw = json.loads((tmp_path / "m.json").read_text())["linear"]["raw"]
        X = found.features.to_dense()
        total = np.full(len(X), raw["constant"])
        for name, weight in raw["weights"].items():
            x = X[:, NAMES.index(name)]
            gone = raw["missing"][name]
            total += np.where(np.isnan(x), np.nan if gone is None else gone, weight * x)
        scores = model.score(found)
        np.testing.assert_allclose(total, scores, rtol=1e-9, atol=1e-5)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m["linear"]["raw"]["weights"].update(plain=7.0), "'linear' is not that of 'model'"),
        (lambda m: m.update(version=2), "version 2, expected 1"),
        (lambda m: m.update(format="x"), "no JSON of 'rerank export --to json'"),
        (lambda m: m.pop("model"), "no 'model' with 'arrays'"),
        (lambda m: m["model"]["arrays"]["weights"].update(shape=[1 << 40]), "no dtype, shape and values"),
        (lambda m: m["model"]["arrays"]["weights"].update(dtype="O"), "no dtype, shape and values"),
        (lambda m: m["model"]["arrays"]["weights"]["values"].__setitem__(0, "nan"), "not finite"),
        (
            lambda m: m["model"]["arrays"].update({"../x": m["model"]["arrays"]["weights"]}),
            "not this model's",
        ),
        (lambda m: m["model"]["meta"].update(kind="transductive"), "expected"),
    ],
)
def test_a_changed_file_is_refused_in_one_line(change, message, tmp_path):
    path = tmp_path / "m.json"
    rerank.export(KINDS["linear zscore"](), str(path), "json")
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    with pytest.raises(rerank.RerankError) as error:
        read_model(str(path), "json")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
