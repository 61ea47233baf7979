"""What is made of questions and passages, and how their words are compared."""

from __future__ import annotations

import re
from typing import Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting

Reduction = Literal["stem", "lemma", "form"]
_SUFFIX = re.compile(r"[A-Za-z0-9_-]+")


class QASettings(Settings):
    """Settings of the trees and features of questions and passages. A setting without effect is refused."""

    trees: Literal["chunks", "box", "both", "none"] = setting(
        "chunks", "trees of phrases over tags, which need tags, or (BOX word word ...)"
    )
    tagged: str | None = setting(
        None, "tokens carry Penn tags after the last SEP, such as _ in dogs_NNS", metavar="SEP"
    )
    tagger: Literal["hanta"] | None = setting(None, "tagger of plain text, for English (extra rerank[qa])")
    rel: bool | None = setting(
        None, "mark linked words and their phrases in the trees [rel]", flags=("--rel/--no-rel",)
    )
    match: Reduction | None = setting(
        None, "what linked words share; stem and lemma need the extra rerank[qa] [stem]"
    )
    leaves: Reduction | None = setting(None, "what the leaves of trees are; forms keep their capitals [stem]")
    stemmer: Literal["english", "porter"] | None = setting(
        None, "english is Porter2; the lab's files have porter [english]"
    )
    suffix: str = setting(
        "",
        "end of the names of the trees, so that several kinds can be made one after another",
        metavar="TEXT",
    )
    overlap: bool = setting(False, "add features of what words a question and a passage share")
    most: int | None = setting(None, "keep only the first N candidates of each list", metavar="N", ge=1)

    def check_values(self) -> None:
        for name, used, needed in (
            ("rel", self.trees != "none", "trees"),
            ("leaves", self.trees != "none", "trees"),
            ("match", self.links or self.overlap, "links (rel) or features (overlap)"),
            ("stemmer", "stem" in self.reductions, "stems"),
        ):
            if getattr(self, name) is not None and not used:
                raise ConfigError(f"{name}: not used without {needed}")
        if self.suffix and self.trees == "none":
            raise ConfigError("suffix: not used without trees")
        if self.suffix and not _SUFFIX.fullmatch(self.suffix):
            raise ConfigError(f"suffix: found {self.suffix!r}, expected letters, digits, _ and -")
        if self.trees == "none" and not self.overlap:
            raise ConfigError("trees: found none, expected trees or features (overlap)")
        if self.tagged is not None and (not self.tagged or self.tagged != "".join(self.tagged.split())):
            raise ConfigError(
                f"tagged: found {self.tagged!r}, expected a separator without blanks, such as _"
            )
        if self.tagged is not None and self.tagger is not None:
            raise ConfigError("tagger: not used if tokens carry tags (tagged)")
        if self.tagger is not None and not self.needs_tags and "lemma" not in self.reductions:
            raise ConfigError("tagger: not used without chunk trees or lemmas")
        if self.needs_tags and self.tagged is None and self.tagger is None:
            raise ConfigError(
                "trees: chunk trees need tags: give --tagged SEP if tokens carry them, --tagger hanta"
                " (pip install 'rerank[qa]'), or --trees box"
            )

    @property
    def needs_tags(self) -> bool:
        """Whether trees have tags."""
        return self.trees in ("chunks", "both")

    @property
    def names(self) -> list[str]:
        """The names of the trees that are made."""
        kinds = [""] * self.needs_tags + ["_box"] * (self.trees in ("box", "both"))
        return [f"{text}{kind}{self.suffix}" for text in ("question", "passage") for kind in kinds]

    @property
    def links(self) -> bool:
        """Whether trees have marks."""
        return self.trees != "none" and self.rel is not False

    @property
    def reductions(self) -> set[str]:
        """What words are reduced to, for leaves or for comparing."""
        leaves = {self.leaves or "stem"} if self.trees != "none" else set()
        return leaves | ({self.match or "stem"} if self.links or self.overlap else set())
