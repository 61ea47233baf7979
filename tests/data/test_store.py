import json
import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from make import LAYOUTS, full_lists, same

from rerank.core.errors import FormatError
from rerank.data.columns.strings import StringColumn
from rerank.data.store import is_store, read_store, write_store


@pytest.fixture(scope="module")
def shared_store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s"
    write_store(full_lists(), path)
    return path


def tree(path):
    return {name: (path / name).read_bytes() for name in sorted(os.listdir(path))}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_column_comes_back(layout, tmp_path):
    lists = full_lists(layout)
    write_store(lists, tmp_path / "s")
    back = read_store(tmp_path / "s")
    assert same(back, lists)
    assert type(back.features) is type(lists.features)
    assert back.fingerprint() == lists.fingerprint()
    assert back.counts.keys() == lists.counts.keys()
    assert back.source == str(tmp_path / "s")
    assert back.feature_names == lists.feature_names
    assert os.listdir(tmp_path) == ["s"]


def test_features_are_mapped_and_read_only(tmp_path):
    write_store(full_lists(), str(tmp_path / "s"))
    values = read_store(str(tmp_path / "s")).features.values
    assert not values.flags.writeable
    base = values
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


def test_the_same_lists_give_the_same_bytes(tmp_path):
    lists = full_lists()
    turned = replace(
        lists,
        counts=dict(reversed(lists.counts.items())),
        feature_names=StringColumn.from_strings(lists.feature_names),
        source="elsewhere",
    )
    write_store(lists, tmp_path / "a")
    write_store(turned, tmp_path / "b")
    write_store(read_store(tmp_path / "a"), tmp_path / "c")
    assert tree(tmp_path / "a") == tree(tmp_path / "b") == tree(tmp_path / "c")


def test_a_store_replaces_a_store_also_the_one_it_reads_from(tmp_path):
    path = tmp_path / "s"
    write_store(full_lists("sparse"), path)
    old = read_store(path)
    write_store(old.subset([0, 2]), path)
    assert same(read_store(path), full_lists("sparse").subset([0, 2]))
    assert same(old, full_lists("sparse"))  # what is open stays readable
    assert os.listdir(tmp_path) == ["s"]


def test_a_link_to_a_store_stays_a_link(tmp_path):
    write_store(full_lists(), tmp_path / "s")
    (tmp_path / "link").symlink_to("s")
    write_store(full_lists(seed=1), tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert same(read_store(tmp_path / "s"), full_lists(seed=1))


@pytest.mark.parametrize(
    "content", [None, {}, {"notes.txt": "mine"}, {"meta.json": "{}"}, {"meta.json": "["}]
)
def test_anything_but_a_store_is_not_replaced(content, tmp_path):
    path = tmp_path / "s"
    if content is None:
        path.write_text("a file")
    else:
        path.mkdir()
        for name, text in content.items():
            (path / name).write_text(text)
    with pytest.raises(FormatError, match=r"found a (file|directory) that is not a store, expected a store"):
        write_store(full_lists(), path)
    assert os.listdir(tmp_path) == ["s"]
    assert not is_store(path)
    assert path.read_text() == "a file" if content is None else sorted(content) == os.listdir(path)


def test_a_store_with_a_foreign_file_is_not_replaced(tmp_path):
    write_store(full_lists(), tmp_path / "s")
    (tmp_path / "s" / "notes.txt").write_text("mine")
    with pytest.raises(FormatError, match=r"found 'notes.txt' inside the store"):
        write_store(full_lists(), tmp_path / "s")
    assert same(read_store(tmp_path / "s"), full_lists())


def test_a_broken_store_can_be_replaced(tmp_path):
    write_store(full_lists(), tmp_path / "s")
    (tmp_path / "s" / "labels.npy").unlink()
    write_store(full_lists(), tmp_path / "s")
    assert same(read_store(tmp_path / "s"), full_lists())


def edit_meta(path, **changes):
    meta = json.loads((path / "meta.json").read_text())
    meta.update(changes)
    (path / "meta.json").write_text(json.dumps(meta))


def cut(path, name, size, more=b""):
    file = path / f"{name}.npy"
    file.write_bytes(file.read_bytes()[:size] + more)


def put(path, name, array):
    np.save(path / f"{name}.npy", array, allow_pickle=True)


def forget(path, name):
    meta = json.loads((path / "meta.json").read_text())
    del meta["arrays"][name]
    (path / "meta.json").write_text(json.dumps(meta))


def claim(path, name, array):
    """Another array, which meta.json describes: only the fit with the others is wrong."""
    put(path, name, array)
    meta = json.loads((path / "meta.json").read_text())
    meta["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
    (path / "meta.json").write_text(json.dumps(meta))


FAULTS = {
    "version": (lambda p: edit_meta(p, version=2), "meta.json: found version 2, expected version 1"),
    "format": (lambda p: edit_meta(p, format="x"), "meta.json: found format 'x', expected 'rerank-store'"),
    "size": (lambda p: edit_meta(p, n_items="9"), "meta.json: found n_items '9', expected a whole number"),
    "negative": (lambda p: edit_meta(p, n_lists=-1), "found n_lists -1"),
    "other size": (lambda p: edit_meta(p, n_items=9), r"labels.npy|features.npy: found shape \(10,"),
    "references": (lambda p: edit_meta(p, references=3), "meta.json: found no array references.2"),
    "counts": (lambda p: edit_meta(p, counts=3), "meta.json: found counts 3, expected a list of names"),
    "more counts": (lambda p: edit_meta(p, counts=["a", "b", "c"]), "counts.2.npy: found no such file"),
    "arrays": (lambda p: edit_meta(p, arrays=[]), "offsets.npy: found <i8 of shape .*, expected as in meta"),
    "no object": (lambda p: (p / "meta.json").write_text("[]"), "meta.json: found a JSON list"),
    "no JSON": (lambda p: (p / "meta.json").write_text('{\n"a": }'), "meta.json:2: found no JSON"),
    "no ASCII": (lambda p: (p / "meta.json").write_bytes(b"\xff"), "meta.json: found no JSON"),
    "deep": (lambda p: (p / "meta.json").write_text("[" * 200000), "meta.json: found no JSON"),
    "no meta": (lambda p: (p / "meta.json").unlink(), "s: found no meta.json, expected a store"),
    "absent": (lambda p: (p / "texts.bytes.npy").unlink(), "texts.bytes.npy: found no such file"),
    "cut data": (
        lambda p: cut(p, "labels", -8),
        "labels.npy: found 72 bytes of data, but its header says 80",
    ),
    "longer": (lambda p: cut(p, "rows", None, b"x"), "rows.npy: found 81 bytes of data"),
    "cut header": (lambda p: cut(p, "labels", 40), "labels.npy: found .*, expected a whole .npy file"),
    "empty file": (lambda p: cut(p, "labels", 0), "labels.npy: found .*, expected a whole .npy file"),
    "no npy": (lambda p: (p / "labels.npy").write_bytes(b"PK" * 99), "labels.npy: found .*a whole .npy"),
    "dtype": (lambda p: put(p, "labels", np.ones(10, np.float32)), "labels.npy: found dtype <f4, expected"),
    "endian": (lambda p: put(p, "labels", np.ones(10, ">f8")), "labels.npy: found dtype >f8"),
    "objects": (lambda p: put(p, "labels", np.array([{}] * 10)), "labels.npy: found no header"),
    "shape": (lambda p: put(p, "labels", np.ones((5, 2))), r"labels.npy: found shape \(5, 2\), expected"),
    "fortran": (lambda p: put(p, "counts.0", np.ones((10, 10), order="F")), "counts.0.npy: found .*Fortran"),
    "changed": (lambda p: put(p, "counts.0", np.ones((10, 3))), "counts.0.npy: found <f8 .*as in meta"),
    "half a column": (lambda p: forget(p, "texts.offsets"), "texts.offsets.npy: found <i8"),
    "half a forest": (lambda p: forget(p, "trees.sizes"), "trees.sizes.npy: found <i4"),
    "no vocabulary": (
        lambda p: [forget(p, f"gold.vocabulary.{kind}") for kind in ("bytes", "offsets")],
        "meta.json: found no array gold.vocabulary.bytes, expected the symbols of gold",
    ),
    "symbols": (
        lambda p: claim(p, "gold.symbols", np.full(12, 99, np.int32)),
        "s: found trees: the nodes of tree 0 are not a tree, expected columns that fit",
    ),
    "value": (lambda p: claim(p, "labels", np.full(10, np.inf)), "s: found labels holds an infinite value"),
    "lists": (lambda p: claim(p, "offsets", np.array([0, 3, 3, 8, 10])), "s: found list 1 is empty"),
    "strings": (
        lambda p: claim(p, "texts.offsets", np.arange(11)),
        "s: found string column: offsets must rise .*, expected columns that fit",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_store_is_one_line_that_names_the_file(fault, tmp_path):
    path = tmp_path / "s"
    write_store(full_lists(), path)
    spoil, message = FAULTS[fault]
    spoil(path)
    with pytest.raises(FormatError, match=message) as caught:
        read_store(path)
    assert str(caught.value).startswith(str(path))
    assert "\n" not in str(caught.value)


@given(st.integers(0, 127), st.integers(0, 255))
def test_any_byte_of_a_header_changed_is_a_format_error(shared_store, at, byte):
    file = shared_store / "offsets.npy"
    whole = file.read_bytes()
    file.write_bytes(whole[:at] + bytes([byte]) + whole[at + 1 :])
    try:
        if file.read_bytes() == whole:
            assert same(read_store(shared_store), full_lists())
        else:
            with pytest.raises(FormatError, match=r"^.*offsets.npy: found .*$"):
                read_store(shared_store)
    finally:
        file.write_bytes(whole)


@pytest.mark.parametrize("name", ["indptr", "indices", "data"])
def test_a_broken_sparse_store_is_refused(name, tmp_path):
    path = tmp_path / "s"
    write_store(full_lists("sparse"), path)
    cut(path, name, -4)
    with pytest.raises(FormatError, match=f"{name}.npy: found"):
        read_store(path)
    (path / f"{name}.npy").unlink()
    with pytest.raises(FormatError, match=f"{name}.npy: found no such file"):
        read_store(path)


def test_a_path_without_a_store_is_refused(tmp_path):
    with pytest.raises(FormatError, match="nowhere: found no such directory, expected a store"):
        read_store(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    with pytest.raises(FormatError, match="file: found a file, expected a store"):
        read_store(tmp_path / "file")


def test_a_copied_store_is_a_store(tmp_path):
    write_store(full_lists(), tmp_path / "s")
    shutil.copytree(tmp_path / "s", tmp_path / "t")
    assert is_store(tmp_path / "t")
    assert same(read_store(tmp_path / "t"), full_lists())
