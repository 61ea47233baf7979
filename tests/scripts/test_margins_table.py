"""The table of margins: signs, values of each margin, and Holm's correction over all data sets."""

import margins_table


def report(name, metric, *pairs):
    """A data set of a report, of pairs (a, b, value of a, value of b, p)."""
    made = [
        {
            "a": a,
            "b": b,
            "value_a": x,
            "value_b": y,
            "difference": x - y,
            "ci": [x - y - 1.0, x - y + 2.0],
            "p_bootstrap": p,
        }
        for a, b, x, y, p in pairs
    ]
    return {"name": name, "metrics": {metric: {"pairs": made}, "other": {"pairs": []}}}


def test_differences_are_uneven_less_even_whatever_their_order():
    one = report("x", "BLEU", ("svm all even", "svm all uneven", 10.0, 12.0, 0.5))
    other = report("x", "BLEU", ("svm all uneven", "svm all even", 12.0, 10.0, 0.5))
    for found, ci in ((one, [0.0, 3.0]), (other, [1.0, 4.0])):
        cell = margins_table.differences(found)["svm", "all"]
        assert (cell["even"], cell["uneven"], cell["difference"]) == (10.0, 12.0, 2.0)
        assert cell["ci"] == ci


def test_other_pairs_are_left_out_and_stars_are_of_the_whole_table():
    rows = [
        ("svm all even", "svm all uneven", 0.5, 0.7, 0.03),
        ("svm all even", "svm all label", 0.5, 0.7, 0.001),
        ("svm all even", "boosting best uneven", 0.5, 0.7, 0.001),
    ]
    first, second = (
        report("a", "AP", *rows),
        report("b", "BLEU", ("svm all even", "svm all uneven", 9, 9, 0.001)),
    )
    lines = margins_table.table({one["name"]: margins_table.differences(one) for one in (first, second)})
    assert (
        lines[2]
        == "| svm | all | 0.500, 0.700 (+0.200 [-1.800, +1.200])* | 9.00, 9.00 (+0.00 [-2.00, +1.00])* |"
    )
    assert lines[-1] == "2 tests, smallest corrected p 0.002"
    second = report("b", "BLEU", ("svm all even", "svm all uneven", 9, 9, 0.04))
    lines = margins_table.table({one["name"]: margins_table.differences(one) for one in (first, second)})
    assert "*" not in lines[2]  # 0.03 * 2
