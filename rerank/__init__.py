"""N-best reranking and learning to rank.

>>> import rerank
>>> features = [[0.0], [1.0], [3.0], [2.0], [5.0]]
>>> lists = rerank.CandidateLists.from_arrays(features, [0, 1, 2, 0, 1], group=[2, 3])
>>> model = rerank.train(lists, learner="perceptron", epochs=10)
>>> rerank.evaluate(lists, model.score(lists), ["RR", "P@1"])
{'RR': 1.0, 'P@1': 1.0}

``rerank.load`` reads such lists from files. ``evaluate``, ``compare``, ``label`` and ``save`` take plain
sequences as well. What each verb of the command line does is one call.

``dir(rerank)`` lists the names. Each is imported when it is first used, so that ``import rerank`` and the
command line start quickly; ``__init__.pyi`` says where they are.
"""

from __future__ import annotations

from rerank._version import __version__ as __version__
from rerank.core.lazy_imports import attach_stub

attach_stub(__name__)
