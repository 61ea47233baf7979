"""``rerank eval --detail``: what metrics of texts are made of."""

from __future__ import annotations

from typing import Any

from rerank.cli.frame import TESTS
from rerank.core.settings import Settings, setting


class Detailed(Settings):
    """Option to judge the parts of metrics too."""

    detail: bool = setting(
        False,
        "also the parts of the metrics [BLEU]: precisions, brevity penalty and lengths of BLEU, "
        "substitutions, insertions and deletions of WER and CER, with shifts of TER",
        group=TESTS,
    )

    def detailed(self, judging: dict[str, Any]) -> dict[str, Any]:
        """Return the options of judging, with the parts of metrics if they are asked for."""
        if not self.detail:
            return judging
        from rerank.metrics.detail import with_parts

        return judging | {"metrics": with_parts(judging.get("metrics", ()))}
