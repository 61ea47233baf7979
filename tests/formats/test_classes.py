"""Files of examples with classes: SVMlight as LIBSVM's multilabel sets, CSV and TSV."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError, RerankError
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.formats import load
from rerank.formats.base import save

pytestmark = pytest.mark.filterwarnings("ignore::rerank.core.errors.DataNote")


def read(tmp_path, text, name="set.svm", **options):
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return load(tmp_path / name, **{"classes": True, **options})


def twin(text):
    """(classes, features by index) of each line of SVMlight, one line after the other."""
    out = []
    for line in text.split("\n"):
        tokens = line.partition("#")[0].split()
        if tokens:
            label = "" if ":" in tokens[0] else tokens.pop(0)
            names = [name for name in label.split(",") if name]
            out.append((",".join(names), {int(i): float(v) for i, v in (t.split(":") for t in tokens)}))
    return out


LABELS = st.sampled_from(["", "1", "1,3", "+1", "-1", "2.5", "setosa", "a,b,c", "é", ","])
LINES = st.tuples(
    st.sampled_from(["", " ", "\t "]),
    LABELS,
    st.lists(st.sampled_from(["1:0.5", "2:-1e3", "3:1", "7:0"]), unique=True).map(sorted),
    st.sampled_from(["", " ", " # note", "\r"]),
)


@given(st.lists(LINES, min_size=1, max_size=6))
def test_svmlight_is_read_as_by_the_twin(tmp_path_factory, lines):
    tmp_path = tmp_path_factory.mktemp("svm")
    text = "\n".join(f"{blank}{label} {' '.join(values)}{end}" for blank, label, values, end in lines)
    expected = twin(text)
    if not expected:
        with pytest.raises(FormatError, match=r"no item line|empty file|carriage"):
            read(tmp_path, text)
        return
    lists = read(tmp_path, text)
    assert list(lists.classes) == [classes for classes, _ in expected]
    assert lists.n_lists == lists.n_items == len(expected)
    assert lists.labels is None
    X = lists.features.to_dense()
    for row, (_, values) in zip(X, expected, strict=True):
        assert {j + 1: v for j, v in enumerate(row) if v} == {i: v for i, v in values.items() if v}


def test_a_multilabel_file(tmp_path):
    text = b"\xef\xbb\xbf# head\r\n1,3 1:0.5 # a\r\n 2:1\n2:4 # c\n+2 1:1\nx\n"
    lists = read(tmp_path, text)
    assert list(lists.classes) == ["1,3", "", "", "+2", "x"]
    assert list(lists.item_ids) == ["a", "", "c", "", ""]
    assert lists.list_ids is None


def test_qids_group_examples(tmp_path):
    lists = read(tmp_path, "a qid:1 1:1\nqid:2 1:2\nb,c qid:1 1:3\n")
    assert list(lists.classes) == ["a", "b,c", ""]
    assert lists.features.to_dense()[:, 0].tolist() == [1, 3, 2]
    assert list(lists.list_ids) == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 1:1\n# x\n1,1 1:1\n", ":3: found class '1' twice in '1,1', expected different class names"),
        ("1 1:1\n\n1,,2 1:1\n", ":3: found an empty class name in '1,,2'"),
        ("1, 3 1:1\n", ":1: found '3', expected index:value"),
        ("1 1:1\nREJECT 1:1\n", ":2: found a class 'REJECT'"),
        ("1 1:1\n2 1:x\n", ":2: found value of feature 1: 'x', expected a number"),
        ("1 1:1\n2 3\n", ":2: found '3', expected index:value"),
        ("a:b 1:1\n", ":1: found index 'a', expected a whole number"),
    ],
)
def test_faults_of_svmlight_name_their_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, text)


def test_blank_lines_are_reported(tmp_path):
    with pytest.warns(DataNote, match=r"set.svm: blank lines \(the first is 2\) are skipped"):
        assert read(tmp_path, "1 1:1\n\n2 1:1\n \n").n_items == 2


@pytest.mark.parametrize(
    ("classes", "values", "message"),
    [
        (["a b"], [[1.0]], "cannot hold the class 'a b'"),
        (["a:b"], [[1.0]], "cannot hold the class 'a:b'"),
        (["a#"], [[1.0]], "cannot hold the class 'a#'"),
        (["", "x"], [[np.nan], [1.0]], "cannot hold an example without classes and features"),
        ([""], np.empty((1, 0)), "cannot hold an example without classes and features"),
        (["a,,b"], [[1.0]], "item 1: found an empty class name"),
    ],
)
def test_svmlight_refuses_what_would_read_back_otherwise(tmp_path, classes, values, message):
    lists = CandidateLists.from_arrays(np.array(values), classes=["x"] * len(classes))
    lists = replace(lists, classes=StringColumn.from_strings(classes))
    with pytest.raises(DataError, match=message):
        save(lists, str(tmp_path / "out.svm"))


def test_blanks_around_names_are_not_written(tmp_path):
    lists = CandidateLists.from_arrays(np.ones((2, 1)), classes=["a , b", " c"])
    assert list(lists.classes) == ["a,b", "c"]
    lists = replace(lists, classes=StringColumn.from_strings(["a , b", " c"]))
    save(lists, str(tmp_path / "out.svm"))
    assert (tmp_path / "out.svm").read_text() == "a,b 1:1\nc 1:1\n"


CSV = 'species,petal,sepal\nsetosa,1,2\n"a , b",3,4\n,5,6\n'


def test_a_table_without_a_column_of_lists(tmp_path):
    lists = read(tmp_path, CSV, "set.csv", label_column="species")
    assert list(lists.classes) == ["setosa", "a,b", ""]
    assert lists.offsets.tolist() == [0, 1, 2, 3]
    assert lists.names() == ["petal", "sepal"]
    assert lists.list_ids is None
    assert lists.labels is None


@pytest.mark.parametrize("name", ["label", "class", "target"])
def test_the_column_of_classes_is_found_by_its_name(tmp_path, name):
    with pytest.warns(DataNote, match=f"label_column={name}"):
        lists = read(tmp_path, CSV.replace("species", name), "set.csv")
    assert lists.classes[0] == "setosa"


def test_a_table_with_lists(tmp_path):
    lists = read(tmp_path, "qid,class,x\n1,a,1\n2,b,2\n1,c,3\n", "set.csv")
    assert list(lists.classes) == ["a", "c", "b"]
    assert list(lists.list_ids) == ["1", "2"]


def test_a_table_without_classes_is_read_for_prediction(tmp_path):
    lists = read(tmp_path, "x,y\n1,2\n3,4\n", "set.csv")
    assert lists.classes is None
    assert lists.n_lists == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('class,x\na,1\n"b\nc",2\n', ":3: found a class name with a control character"),
        ('class,x\n"a,a",1\n', ":2: found class 'a' twice"),
        ("class,x\na,1\nb,\n", ":3: found an empty cell in column 'x'"),
        ("class,x\n", "a header alone"),
    ],
)
def test_faults_of_tables_name_their_line(tmp_path, text, message):
    with pytest.raises(FormatError, match=message):
        read(tmp_path, text, "set.csv")


def test_without_the_option_classes_of_a_table_are_no_labels(tmp_path):
    with pytest.raises(RerankError, match="no column named qid"):
        read(tmp_path, CSV, "set.csv", classes=False, label_column="species")


def test_a_table_keeps_features_named_as_classes_apart(tmp_path):
    lists = CandidateLists.from_arrays(np.ones((1, 1)), classes=["a"], feature_names=["target"])
    with pytest.raises(DataError, match="a table has a meaning for a column 'target'"):
        save(lists, str(tmp_path / "out.csv"))
    lists = CandidateLists.from_arrays(np.empty((2, 0)), classes=["a", ()])
    save(lists, str(tmp_path / "out.csv"))
    assert list(load(tmp_path / "out.csv", classes=True).classes) == ["a", ""]


def test_other_separators_are_reported(tmp_path):
    with pytest.warns(
        DataNote, match="'a;b' is the name of one class; several classes are separated by commas"
    ):
        lists = read(tmp_path, "a;b 1:1\n")
    assert list(lists.classes) == ["a;b"]


def test_words_among_numbers_are_reported(tmp_path):
    with pytest.warns(DataNote, match="'NA' of 4 classes are no numbers, so that all are compared as text"):
        read(tmp_path, "1 1:1\n2 1:2\nNA 1:3\n3 1:1\n")


def test_a_store_of_labels_has_no_classes(tmp_path):
    lists = CandidateLists.from_arrays(np.ones((2, 1)), [1, 2])
    save(lists, str(tmp_path / "s.store"))
    assert load(tmp_path / "s.store", classes=True).classes is None
    assert load(tmp_path / "s.store", classes=True).labels is None
    (tmp_path / "set.jsonl").write_text("{}")
    with pytest.raises(ConfigError, match="jsonl cannot honour classes"):
        load(tmp_path / "set.jsonl", classes=True)


def test_a_set_with_labels_and_classes_keeps_the_labels(tmp_path):
    lists = CandidateLists.from_arrays(np.ones((2, 1)), classes=[1, 2]).replace_labels(np.array([5.0, 6.0]))
    for name in ("out.svm", "out.csv"):
        with pytest.warns(DataNote, match="holds no classes; left out"):
            save(lists, str(tmp_path / name))
        assert load(tmp_path / name).labels.tolist() == [5, 6]
