"""A whole evaluation of text, as it is printed."""

import pytest

NBEST = """\
0 ||| das haus ist klein ||| lm= -4 tm= -2 ||| -6
0 ||| das haus ist sehr klein ||| lm= -5 tm= -1 ||| -6.5
0 ||| ein haus ||| lm= -3 tm= -5 ||| -8
1 ||| es regnet in der stadt ||| lm= -7 tm= -3 ||| -10
1 ||| es regnet in stadt ||| lm= -8 tm= -2.5 ||| -10.5
2 ||| ja gewiss ||| lm= -1 tm= -1 ||| -2
2 |||  ||| lm= 0 tm= -9 ||| -9
3 ||| wer kommt denn da ||| lm= -3 tm= -3 ||| -6
"""
REFS = "das haus ist sehr klein\nes regnet in der stadt\nja sicher\nwer kommt da\n"


@pytest.fixture
def scored(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.nbest").write_text(NBEST)
    (tmp_path / "t.ref").write_text(REFS)
    (tmp_path / "tm").write_text("-2\n-1\n-5\n-3\n-2.5\n-1\n-9\n-3\n")
    (tmp_path / "lm").write_text("-4\n-5\n-3\n-7\n-8\n-1\n0\n-3\n")
    return tmp_path


def test_eval_of_text(rerank, scored, golden):
    metrics = ["BLEU", "sBLEU", "WER", "CER", "PER", "TER", "oracle2.WER"]
    asked = ["eval", "t.nbest", "tm", "lm", "-f", "moses", "--refs", "t.ref", "--samples", 200]
    for metric in metrics:
        asked += ["-m", metric]
    golden("eval-text.txt", rerank(*asked).out)


def test_validate_of_text(rerank, scored, golden):
    golden("validate-text.txt", rerank("validate", "t.nbest", "-f", "moses", "--refs", "t.ref").out)


def test_errors_are_low_when_the_right_system_is_asked(rerank, scored):
    import json

    asked = ("eval", "t.nbest", "tm", "-f", "moses", "--refs", "t.ref", "-m", "WER", "--as", "json")
    found = json.loads(rerank(*asked).out)
    # 0 + 1 + 1 + 1 edits over 5 + 5 + 2 + 3 reference words
    assert found["systems"][0]["metrics"]["WER"]["value"] == pytest.approx(100 * 3 / 15)
