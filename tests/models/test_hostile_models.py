"""Model files from strangers: every fault is one line that names the file and the member."""

import bz2
import io
import json
import math
import os
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from models.test_old_models import FOLDER
from models.test_training import rewritten
from small_training import saved

from rerank.core.errors import FormatError
from rerank.models import archive as archives
from rerank.models.base import load_model
from rerank.models.linear import LinearModel


def packed(members, path, **options):
    """A zip archive of (name, content) pairs."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as out:
        for name, content in members:
            out.writestr(name, content, **options)
    return str(path)


def parts(name):
    with zipfile.ZipFile(FOLDER / f"{name}.model") as archive:
        return {member: archive.read(member) for member in archive.namelist()}


def npy(array, **changes):
    """The bytes of an .npy file, with text of its header replaced."""
    out = io.BytesIO()
    np.save(out, array)
    data = out.getvalue()
    for before, after in changes.values():
        data = data.replace(before, after)
    return data


def refused(path, message):
    with pytest.raises(FormatError, match=message) as caught:
        load_model(str(path))
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500 + len(str(path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": True}, "kind: found true, expected text"),
        ({"kind": "x" * 10**6}, "kind: "),
        ({"scaling": []}, "scaling: found "),
        ({"scaling": {"name": "cube", "n_features": 20, "shifts": True}}, "not the description of a scaling"),
        ({"scaling": {"name": "zscore", "n_features": 6.0, "shifts": True}}, "expected a whole number"),
        ({"scaling": {"name": "zscore", "n_features": 6, "shifts": 1}}, "expected true or false"),
        ({"scaling": {"name": "zscore", "n_features": 2**40, "shifts": True}}, "expected 2.147.* or less"),
        ({"scaling": {"name": "zscore", "n_features": 7, "shifts": True}}, "a scaling of 7 features for 20"),
        (
            {"format": 3, "missing": {"name": "median", "n_features": 20, "n_items": 1}},
            "description of an imputation",
        ),
        (
            {"format": 3, "missing": {"name": "zero", "n_features": 21, "n_items": 1}},
            "what fills 20 features, for 20",
        ),
        (
            {"format": 3, "missing": {"name": "zero", "n_features": 19, "n_items": 1}},
            "what fills 19 features, for 20",
        ),
        (
            {"format": 3, "missing": {"name": "mean", "n_features": 20, "n_items": 1}},
            "no array 'missing.means'",
        ),
        (
            {"format": 3, "missing": {"name": "zero", "n_features": 2**40, "n_items": 1}},
            "expected 2.147.* or less",
        ),
        (
            {"missing": {"name": "zero", "n_features": 20, "n_items": 1}},
            "format 1 with a policy for missing values",
        ),
        ({"keep_margin": 10**400}, "number 1000.* is too large"),
        ({"keep_margin": True}, "keep_margin: found true, expected a number"),
        ({"keep_margin": "0.5"}, "keep_margin: found '0.5', expected a number"),
        ({"keep_margin": math.nan}, "number NaN is not finite"),
        ({"keep_margin": -math.inf}, "number -Infinity is not finite"),
        ({"feature_names": [1] * 20}, "feature_names: found 1, expected text"),
        ({"feature_names": ["\ud800"] * 20}, "half of a character"),
        ({"feature_names": "x" * 20}, "feature_names: found 'xxx"),
        ({"format": True}, "something else, or a damaged file"),
        ({"format": "1"}, "something else, or a damaged file"),
        ({"more": 1}, "more is unknown"),
    ],
)
def test_metadata_of_the_wrong_type_is_refused(change, message, tmp_path):
    refused(rewritten("uneven-margin", tmp_path / "m", lambda meta: meta.update(change)), message)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a":' * 100_000, "meta.json: found damaged data"),
        (b"[" * 900 + b"]" * 900, "meta.json: found damaged data .values that are nested too deeply"),
        (b'{"format": 1, "format": 1}', "a key twice in one object"),
        (b'{"format": 1e999}', "number 1e999 is not finite"),
        (b'{"format": ' + b"9" * 5000 + b"}", "is too large"),
        (b"", "meta.json: found damaged data"),
        (b"null", "something else, or a damaged file"),
    ],
)
def test_json_that_is_no_metadata_is_refused(text, message, tmp_path):
    refused(packed([("meta.json", text), ("weights.npy", npy(np.zeros(1)))], tmp_path / "m"), message)


HEADERS = {
    "object": (b"'<f8'", b"'|O'"),
    "code": (b"{'descr'", b"{'descr' + __import__('os').system('x')"),
    "token": (b"(20,)", b"(20,("),
    "huge": (b"(20,)", b"(99999999999,)"),
    "negative": (b"(20,)", b"(-20,)"),
    "fortran": (b"False", b"True"),
    "float32": (b"'<f8'", b"'<f4'"),
    "two": (b"(20,)", b"(20, 1)"),
}


@pytest.mark.parametrize("what", HEADERS)
def test_an_array_header_is_matched_and_compared(what, tmp_path):
    members = parts("uneven-margin")
    members["weights.npy"] = npy(np.ones(20), change=HEADERS[what])
    refused(packed(members.items(), tmp_path / "m"), "m: weights.npy: found ")


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("name", "member"),
    [
        ("uneven-margin", "weights"),
        ("uneven-margin", "labels"),
        ("perceptron-voted", "vectors"),
        ("perceptron-voted", "survived"),
        ("perceptron-best", "scaling.shift"),
    ],
)
def test_numbers_that_are_not_finite_are_refused(name, member, wrong, tmp_path):
    members = parts(name)
    array = np.load(io.BytesIO(members[f"{member}.npy"]))
    array.reshape(-1)[0] = wrong
    members[f"{member}.npy"] = npy(array)
    refused(packed(members.items(), tmp_path / "m"), "a damaged model")


@pytest.mark.parametrize(
    ("name", "member", "array"),
    [
        ("uneven-margin", "thresholds", np.array([np.nan, 0.0])),
        ("random", "seed", np.array([-1])),
        ("perceptron-best", "scaling.divisor", np.zeros(20)),
        ("perceptron-best", "scaling.divisor", np.full(20, np.nan)),
    ],
)
def test_numbers_that_no_learner_gives_are_refused(name, member, array, tmp_path):
    members = parts(name)
    members[f"{member}.npy"] = npy(array)
    refused(packed(members.items(), tmp_path / "m"), "a damaged model")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ([("other.npy", npy(np.zeros(2)))], "other.npy: found a member that is not this model's"),
        ([("/etc/passwd", b"x")], "/etc/passwd: found a member that is not"),
        ([("../up.npy", b"x")], r"\.\./up.npy: found a member that is not"),
        ([("a\nb\x1b[2J", b"x")], r"a\\nb\\x1b\[2J: found a member that is not"),
        ([(f"{k}.npy", b"") for k in range(80)], "more than 64 members"),
    ],
)
def test_members_that_are_not_the_models_are_refused(more, message, tmp_path):
    refused(packed([*parts("pro").items(), *more], tmp_path / "m"), message)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_name_given_twice_is_refused(tmp_path):
    members = [*parts("pro").items(), ("weights.npy", npy(np.zeros(3)))]
    refused(packed(members, tmp_path / "m"), "weights.npy: found the name twice")


def test_another_compression_is_refused_and_blamed_on_the_model(tmp_path):
    path = packed(parts("pro").items(), tmp_path / "m", compress_type=zipfile.ZIP_BZIP2)
    refused(path, "meta.json: found compression 12")


@pytest.mark.parametrize("flag", [1, 1 << 5, 1 << 6])
def test_encrypted_and_patched_members_are_refused(flag, tmp_path):
    data = bytearray((FOLDER / "pro.model").read_bytes())
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = data.index(signature)
        data[start + at] |= flag
    (tmp_path / "m").write_bytes(data)
    refused(tmp_path / "m", "meta.json: found ")


def test_a_later_version_of_zip_is_refused(tmp_path):
    data = bytearray((FOLDER / "pro.model").read_bytes())
    data[data.index(b"PK\x01\x02") + 6] = 99
    (tmp_path / "m").write_bytes(data)
    refused(tmp_path / "m", "found something else, or a damaged file .zip file version")


def test_a_damaged_member_is_named(tmp_path):
    data = bytearray((FOLDER / "pro.model").read_bytes())
    at = data.index(b"weights.npy") + len("weights.npy")
    data[at + 5 : at + 9] = b"\xff\xff\xff\xff"
    (tmp_path / "m").write_bytes(data)
    refused(tmp_path / "m", "m: weights.npy: found damaged data")


def test_a_damaged_bzip2_file_is_blamed_on_the_file(tmp_path):
    data = bytearray(bz2.compress((FOLDER / "pro.model").read_bytes()))
    data[60] ^= 0xFF
    (tmp_path / "m.bz2").write_bytes(data)
    refused(tmp_path / "m.bz2", "found damaged bzip2 data")


@pytest.mark.parametrize("more", [b"\0", b"\0" * 100_000])
def test_data_after_an_array_is_refused_before_it_is_inflated(more, tmp_path):
    members = parts("uneven-margin")
    members["weights.npy"] += more
    refused(
        packed(members.items(), tmp_path / "m"), "weights.npy: found .* bytes, but its header says <f8 of"
    )


@pytest.mark.parametrize("name", ["meta.json", "vectors.npy"])
def test_an_archive_that_inflates_without_end_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "_FREE", 1 << 10)
    members = parts("perceptron-voted")
    n = len(json.loads(members["meta.json"])["feature_names"])
    if name == "meta.json":
        members[name] += b" " * (1 << 20)
    else:
        members[name] = npy(np.zeros((10_000, n)))
        members["survived.npy"] = npy(np.ones(10_000))
    refused(packed(members.items(), tmp_path / "m", compresslevel=9), f"{name}: found .* that inflate to")


def test_memory_is_checked_before_an_array_is_made(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(archives, "require", lambda n, what, help="": asked.append((n, what)))
    path = str(FOLDER / "uneven-margin.model")
    load_model(path)
    assert (160, f"weights.npy of {path}") in asked


@pytest.mark.parametrize("margin", [None, 0.0, 1.5, math.inf])
def test_a_keep_margin_survives_saving(margin, tmp_path):
    model = LinearModel(["a", "b"], np.array([1.0, 2.0]))
    model.keep_margin = margin
    assert saved(model, tmp_path).keep_margin == margin


@pytest.mark.skipif("RERANK_BUILD" in os.environ, reason="sanitizers reserve terabytes of addresses")
def test_a_bomb_is_refused_within_little_memory(tmp_path):
    """In a process of its own, with room for the package and not for what the archive would inflate to."""
    members = parts("pro")
    n = len(json.loads(members["meta.json"])["feature_names"])
    members["weights.npy"] = npy(np.zeros(n)) + bytes(1 << 26)
    path = packed(members.items(), tmp_path / "m", compresslevel=9)
    code = (
        "import resource, sys\n"
        "from rerank import load_model\n"
        "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 25),) * 2)\n"
        "try: load_model(sys.argv[1])\n"
        "except Exception as error: print(type(error).__name__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True, check=False)
    assert done.stdout == "FormatError\n", done.stderr
