import numpy as np

from rerank.data.judge import PreparedMetric, SelectingJudge, corpus_value


class Accuracy:
    """The share of lists whose best item is labelled 1."""

    name, signature, better = "accuracy", "accuracy", 1

    def per_list(self, scores):
        return np.array([[1.0, 1.0], [0.0, 1.0], [1.0, 1.0]]) + 0 * scores[:3, None]

    def score_from_sums(self, sums):
        return sums[..., 0] / sums[..., 1]


class PerItem(Accuracy):
    per_item = np.ones((9, 2))
    sum_form = None


def test_the_corpus_value_is_that_of_the_summed_statistics():
    judge = Accuracy()
    assert corpus_value(judge, judge.per_list(np.zeros(9))) == 2 / 3


def test_judges_are_recognised_by_their_attributes():
    assert isinstance(Accuracy(), PreparedMetric)
    assert isinstance(PerItem(), SelectingJudge)
    assert not isinstance(Accuracy(), SelectingJudge)
    assert not isinstance(object(), PreparedMetric)
