"""Dumps of samples in the shapes of the tools that write them: what is read, what is refused and why."""

import json
import warnings
from pathlib import Path

import pytest

from rerank.core.errors import ConfigError, DataError, DataNote, FormatError
from rerank.data.lists import CandidateLists
from rerank.formats import load
from rerank.formats.base import save

pytestmark = pytest.mark.filterwarnings("ignore:.*read as .* .by content.:rerank.core.errors.DataNote")


def write(path: Path, *rows: object) -> str:
    """A file of rows, one per line."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


def lm_eval(doc_id: int, responses: list, filtered: list, target: str = "4", **more: object) -> dict:
    """A row as lm_eval/evaluator.py and evaluation_tracker.py of 0.4.9 write it."""
    return {
        "doc_id": doc_id,
        "doc": {"question": "2+2?", "answer": "#### 4"},
        "target": target,
        "arguments": {"gen_args_0": {"arg_0": f"Q{doc_id}", "arg_1": {"until": ["Q:"]}}},
        "resps": [responses],
        "filtered_resps": filtered,
        "filter": "strict-match",
        "metrics": ["exact_match"],
        "doc_hash": "a",
        "exact_match": 1.0,
        **more,
    }


def batch(name: str, *contents: object, **more: object) -> dict:
    """A row of OpenAI's batch output."""
    choices = [
        {"index": i, "message": {"role": "assistant", "content": content}, "logprobs": None}
        for i, content in enumerate(contents)
    ]
    body = {"object": "chat.completion", "choices": choices, "usage": {}}
    response = {"status_code": 200, "request_id": "r", "body": body}
    return {"id": "batch_req_1", "custom_id": name, "response": response, "error": None, **more}


def nemo(answer: str | None, right: bool, problem: str = "p", **more: object) -> dict:
    """A row of NeMo-Skills after the evaluation."""
    return {
        "num_generated_tokens": 7,
        "generation_start_time": 1752883422.5,
        "generation": f"so {answer}",
        "problem": problem,
        "expected_answer": "4",
        "predicted_answer": answer,
        "symbolic_correct": right,
        "reward_model_score": 0.5,
        **more,
    }


SAL = {
    "problem": "1/2?",
    "answer": "\\frac{1}{2}",
    "unique_id": "test/1.json",
    "completions": ["so \\boxed{\\frac{1}{2}}", "\\boxed{1} no \\boxed{3}", "cut \\boxed{\\frac{1}{"],
    "scores": [[0.5, 0.25], [1.0], [0.5, 0.5, 0.2]],
    "pred": "so",
    "completion_tokens": [4, 5, 6],
    "agg_scores": [0.25, 1.0, 0.2],
}
QWEN = {
    "idx": 3,
    "question": "q",
    "gt": "4",
    "answer": "4",
    "code": ["a", "b"],
    "pred": ["4", ""],
    "report": [None, None],
    "score": [True, False],
    "pred_score": [[3.5], [-1.25]],
}


def rows_of(lists: CandidateLists) -> list[tuple]:
    """List, text, answer and label of each sample."""
    labels = [None] * lists.n_items if lists.labels is None else lists.labels.tolist()
    answers = [None] * lists.n_items if lists.answers is None else list(lists.answers)
    ids = [lists.list_id(i) for i in lists.list_index.tolist()]
    return list(zip(ids, lists.texts, answers, labels, strict=True))


def test_lm_eval_takes_the_rows_of_one_filter(tmp_path: Path) -> None:
    rows = [lm_eval(0, ["is 4"], ["4"]), lm_eval(1, ["is"], ["[invalid]"], exact_match=0.0)]
    path = write(tmp_path / "samples_gsm8k_2026.jsonl", *rows)
    assert rows_of(load(path)) == [("0", "is 4", "4", 1.0), ("1", "is", "", 0.0)]
    assert list(load(path).prompts) == ["Q0", "Q1"]
    twice = write(tmp_path / "two.jsonl", *rows, *({**row, "filter": "flexible"} for row in rows))
    with pytest.raises(
        DataError, match=r"rows of the filters strict-match, flexible; choose one by --filter"
    ):
        load(twice)
    assert rows_of(load(twice, filter="flexible")) == rows_of(load(path))
    with pytest.raises(DataError, match="no rows of the filter 'x', found strict-match, flexible"):
        load(twice, filter="x")
    older = {**lm_eval(0, ["is 4"], ["4"], arguments=[["Q", {}]]), "acc": 0.0}
    assert rows_of(load(write(tmp_path / "old.jsonl", older), label_column="acc"))[0][3] == 0.0


@pytest.mark.parametrize("arguments", [7, True, None, "q", [], [7], [[]], {}, {"gen_args_0": 7}, [[7]]])
def test_lm_eval_needs_no_prompt(tmp_path: Path, arguments: object) -> None:
    lists = load(write(tmp_path / "a.jsonl", lm_eval(0, ["is 4"], ["4"], arguments=arguments)))
    assert list(lists.answers) == ["4"]


def test_lm_eval_labels_repeats_only_by_their_answers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.jsonl", lm_eval(0, ["is 4", "is 5"], [["4", "5"]]))
    with pytest.warns(DataNote, match="no sample is judged; --answer-match exact compares"):
        assert rows_of(load(path)) == [("0", "is 4", "4", None), ("0", "is 5", "5", None)]
    with pytest.warns(DataNote, match="answer_match=exact labels 2 samples, 1 of them right"):
        assert rows_of(load(path, answer_match="exact"))[1] == ("0", "is 5", "5", 0.0)
    voted = write(tmp_path / "b.jsonl", lm_eval(0, ["is 4", "is 5"], ["4"], target="so #### is 4"))
    with pytest.warns(DataNote) as notes:
        assert rows_of(load(voted))[0] == ("0", "is 4", None, None)
    assert "strict-match keeps fewer responses than there are (1 rows); no answers" in str(notes[-2].message)
    with pytest.warns(DataNote, match="1 of them right"):
        found = load(voted, answer_match="exact", answer_pattern=r"is (\d)")
    assert [row[2:] for row in rows_of(found)] == [("4", 1.0), ("5", 0.0)]
    odd = write(tmp_path / "c.jsonl", lm_eval(0, ["is 4", "is 5"], ["4"], target="four"))
    with pytest.raises(DataError) as caught:
        load(odd, answer_match="exact", answer_pattern=r"is (\d)")
    assert str(caught.value).endswith("finds no right answer among 2, such as '4' for 'four'")


def test_batch_output_leaves_out_what_failed(tmp_path: Path) -> None:
    failed = batch("q", response=None, error={"code": "batch_expired", "message": "late"})
    busy = {**batch("r"), "response": {"status_code": 429, "body": {}}}
    swapped = batch("p", "\\boxed{5}", None)
    choices = swapped["response"]["body"]["choices"]
    for i, choice in enumerate(choices):
        choice |= {"index": 1 - i, "logprobs": {"content": [{"token": "a", "logprob": -0.5 - i}]}}
    path = write(tmp_path / "out.jsonl", swapped, failed, busy)
    with pytest.warns(DataNote, match="2 requests that failed left out, the first is q: batch_expired"):
        lists = load(path, answer_pattern="boxed")
    assert rows_of(lists) == [("p", "", "", None), ("p", "\\boxed{5}", "5", None)]
    assert lists.features.column(lists.column_of("logprob_sum")).tolist() == [-1.5, -0.5]
    with pytest.raises(FormatError, match=r":2: found a request that failed \(batch_expired\)"):
        load(path, strict=True)
    with pytest.raises(DataError, match="all 1 requests failed, the first is r: status 429"):
        load(write(tmp_path / "none.jsonl", busy))
    text = {"custom_id": "p", "response": {"body": {"choices": [{"text": "a"}, {"text": "b"}]}}}
    assert [row[1] for row in rows_of(load(write(tmp_path / "completions.jsonl", text)))] == ["a", "b"]


def test_nemo_skills_joins_the_files_of_seeds(tmp_path: Path) -> None:
    first = write(tmp_path / "output-rs0.jsonl", nemo("4", True), nemo(None, False, "r"))
    second = write(tmp_path / "output-rs1.jsonl", nemo("5", False), nemo("4", True, "r"))
    lists = load(first, merge=[second])
    assert rows_of(lists) == [
        ("1", "so 4", "4", 1.0),
        ("1", "so 5", "5", 0.0),
        ("2", "so None", "", 0.0),
        ("2", "so 4", "4", 1.0),
    ]
    assert lists.names() == ["num_generated_tokens", "reward_model_score"]
    other = write(tmp_path / "other.jsonl", nemo("5", False), nemo("4", True, "s"))
    with pytest.raises(
        FormatError, match=r"other.jsonl:2: found another problem, expected the same as in line 2"
    ):
        load(first, merge=[other])
    short = write(tmp_path / "short.jsonl", nemo("5", False))
    with pytest.raises(FormatError, match=r"short.jsonl: found the end of the file, expected line 2"):
        load(first, merge=[short])


def test_search_and_learn_makes_features_of_steps(tmp_path: Path) -> None:
    path = write(tmp_path / "best_of_n_completions.jsonl", SAL)
    with pytest.warns(DataNote) as notes:
        lists = load(path, answer_match="exact")
    assert "answers are what the last \\boxed{} of each text holds" in str(notes[-2].message)
    assert [row[2:] for row in rows_of(lists)] == [("\\frac{1}{2}", 1.0), ("3", 0.0), ("", 0.0)]
    rows = {name: lists.features.column(j).tolist() for j, name in enumerate(lists.names())}
    assert rows == {
        "score_min": [0.25, 1.0, 0.2],
        "score_prod": [0.125, 1.0, 0.05],
        "score_last": [0.25, 1.0, 0.2],
        "score_mean": [0.375, 1.0, pytest.approx(0.4)],
        "n_steps": [2, 1, 3],
        "completion_tokens": [4, 5, 6],
    }


def test_qwen_math_is_read_as_judged(tmp_path: Path) -> None:
    lists = load(write(tmp_path / "a.jsonl", QWEN))
    assert rows_of(lists) == [("3", "a", "4", 1.0), ("3", "b", "", 0.0)]
    assert lists.features.column(lists.column_of("pred_score")).tolist() == [3.5, -1.25]
    with pytest.raises(DataError, match="answer_match=exact has nothing to do: every sample has a label"):
        load(write(tmp_path / "a.jsonl", QWEN), answer_match="exact")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (SAL | {"scores": [[1.0]]}, "found an array of 1 at scores, expected 3, as completions has"),
        (
            SAL | {"scores": [[1], [], [1]]},
            r"found an empty array at scores\[1\], expected a score for each step",
        ),
        (SAL | {"scores": [[1], ["x"], [1]]}, r"found the string 'x' at scores\[1\]\[0\], expected a number"),
        (QWEN | {"pred": ["4"]}, "found an array of 1 at pred, expected 2, as code has"),
        (QWEN | {"pred_score": [[1, 2], [3]]}, r"found an array of 2 at pred_score\[0\], expected one score"),
        (QWEN | {"score": ["yes", "no"]}, r"found the string 'yes' at score\[0\], expected true or false"),
        (lm_eval(0, ["a"], ["4"], resps=[[["-1", "True"]]]), "expected a generated text .a task of log-lik"),
        (lm_eval(0, ["a"], ["4"], resps=[["a"], ["b"]]), "found 2 requests at resps"),
        (lm_eval(0, ["a"], ["4"], metrics=7), "found the number 7 at metrics, expected the names of metrics"),
        (lm_eval(0, ["a"], ["4"], metrics=[["f1"]]), r"found an array of 1 at metrics\[0\], expected a text"),
        (
            lm_eval(0, ["a"], ["4"], exact_match=["4"]),
            "found an array of 1 at exact_match, expected a number",
        ),
        (
            lm_eval(0, ["a", "b"], [["4", 5]]),
            r"found the number 5 at filtered_resps\[0\]\[1\], expected a filt",
        ),
        (batch("p", ["a"]) | {"error": True}, "found true at error, expected an object, a text, or null"),
        (
            lm_eval(0, ["a"], ["4"], metrics=["f1", "acc"], f1=1, acc=0),
            "found f1, acc at metrics, expected one",
        ),
        (
            batch("p", ["parts"]),
            r"found an array of 1 at response.body.choices\[0\].message.content, expected",
        ),
        (batch("p"), "found an array of 0 at response.body, expected the choices"),
        (nemo("4", "yes"), "found the string 'yes' at symbolic_correct, expected true or false"),  # type: ignore[arg-type]
    ],
)
def test_a_changed_shape_is_one_line(tmp_path: Path, row: dict, message: str) -> None:
    path = write(tmp_path / "a.jsonl", row)
    with pytest.raises(FormatError, match=rf"a.jsonl:1: .*{message}"):
        load(path)


def test_generic_json_lines_stay_so(tmp_path: Path) -> None:
    plain = {"problem": "p", "completions": ["a", "b"], "solution": "s"}
    with pytest.warns(DataNote, match="ignored keys"):
        assert load(write(tmp_path / "a.jsonl", plain)).n_items == 2
    answers = {"id": 1, "candidates": [{"text": "so \\fbox{4}"}, {"text": "none"}]}
    path = write(tmp_path / "b.jsonl", answers)
    assert list(load(path, answer_pattern="boxed").answers) == ["4", ""]
    with pytest.raises(DataError, match=r"answer_pattern 'zz' matches none of 2 texts"):
        load(path, answer_pattern="zz")
    with pytest.raises(ConfigError, match="is no regular expression"):
        load(path, answer_pattern="(")
    with pytest.raises(ConfigError, match="format jsonl cannot honour answer_match='exact'"):
        load(path, answer_match="exact")


def test_every_format_of_named_columns_finds_answers_in_texts(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    row = {"id": "1", "candidates": [{"text": "so 4", "x": 1.0}, {"text": "none", "x": 2.0}]}
    lists = load(write(tmp_path / "a.jsonl", row))
    for name in ("a.jsonl", "a.csv", "a.parquet"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNote)
            if name != "a.jsonl":
                save(lists, str(tmp_path / name))
            assert list(load(tmp_path / name, answer_pattern=r"\d+").answers) == ["4", ""]
