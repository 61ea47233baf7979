"""``rerank features qa``: questions and passages to trees, and the errors of wrong usage."""

import json

import pytest

from rerank.data.store import read_store

LISTS = [
    {
        "id": "a",
        "question": "Who_WP feeds_VBZ dogs_NNS",
        "candidates": [
            {"text": "Keepers_NNS feed_VBP dogs_NNS", "label": 1, "score": 0.5},
            {"text": "Cats_NNS sleep_VBP", "label": 0, "score": 0.25},
        ],
    }
]
FORMS = ("--match", "form", "--leaves", "form")


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(one) + "\n" for one in LISTS))
    (tmp_path / "q.txt").write_text("7\tWho feeds dogs?\n")
    (tmp_path / "p.txt").write_text("7\tKeepers feed dogs.\n9\tCats sleep.\n")
    (tmp_path / "r.txt").write_text("7 9 2\n7 7 1\n")
    monkeypatch.chdir(tmp_path)


def test_lists_to_a_store(rerank):
    result = rerank("features", "qa", "a.jsonl", "--tagged", "_", "--overlap", *FORMS, "--out", "a.store")
    assert result.err.splitlines() == [
        "rerank: shared: 25.0% of the questions' content words, 20.0% of the passages'",
        "rerank: without a shared content word: 1 passage, 0 lists",
        "rerank: 1 list, 2 items to a.store (store)",
    ]
    lists = read_store("a.store")
    assert lists.tree_names() == ["question", "passage"]
    assert lists.forest("passage")[0] == "(S (NP (NNS Keepers)) (VP (VBP feed)) (REL-NP (REL-NNS dogs)))"
    assert lists.names()[:2] == ["score", "overlap_count"]


def test_results_with_files_of_texts(rerank):
    files = ("r.txt", "--questions", "q.txt", "--passages", "p.txt")
    rerank("features", "qa", *files, "--trees", "box", "--most", 1, *FORMS, "--out", "b.jsonl")
    with open("b.jsonl") as file:
        (entry,) = map(json.loads, file)
    assert entry["prompt"] == "Who feeds dogs?"
    (candidate,) = entry["candidates"]
    assert candidate["trees"] == {
        "question_box": "(BOX Who feeds dogs ?)",
        "passage_box": "(BOX Cats sleep .)",
    }
    assert (candidate["label"], candidate["features"]) == (0, {"engine": 2})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.jsonl",), "chunk trees need tags: give --tagged SEP"),
        (("a.jsonl", "--tagged", "/"), "question of list 'a': found the token 'Who_WP', expected word/TAG"),
        (("a.jsonl", "--trees", "bag"), "trees: found 'bag', expected 'chunks', 'box', 'both' or 'none'"),
        (("r.txt", "--trees", "box", "--questions", "q.txt"), "found one of them, expected both or none"),
        (
            ("r.txt", "--trees", "box", "--questions", "p.txt", "--passages", "q.txt"),
            "r.txt:1: found passage '9' (are p.txt and q.txt swapped?), expected an id of q.txt",
        ),
        (
            ("r.txt", "--trees", "box", "--questions", "q.txt", "--passages", "p.txt", "--strict"),
            "found --strict, expected a file of results and no option of reading",
        ),
        (("r.txt", "--trees", "box", "--questions", "q.txt", "--passages", "absent.txt"), "absent.txt"),
    ],
)
def test_wrong_usage(rerank, arguments, message):
    tags = () if "--tagged" in arguments or len(arguments) == 1 else FORMS
    result = rerank("features", "qa", *arguments, *tags, "--out", "out.store", code=2)
    (line,) = result.err.splitlines()
    assert message in line


def test_an_output_is_no_input(rerank):
    files = ("r.txt", "--questions", "q.txt", "--passages", "p.txt")
    result = rerank(
        "features", "qa", *files, "--trees", "box", *FORMS, "--out", "p.txt", "--to", "jsonl", code=2
    )
    assert "p.txt is one of the input files" in result.err
