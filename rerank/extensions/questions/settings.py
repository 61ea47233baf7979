"""Settings of the trees and features of questions and passages."""

from __future__ import annotations

import re
from typing import Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting

_SUFFIX = re.compile(r"[A-Za-z0-9_-]+")
Reduction = Literal["stem", "lemma", "form"]


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
    focus: Literal["plain", "typed"] | None = setting(
        None,
        "link what the question asks for to words whose type fits (persons, places, dates, numbers); "
        "the mark is REL-FOCUS (plain) or has the question's class (typed)",
    )
    entities: str | None = setting(
        None,
        "tokens carry the type of their entity after the tag and SEP, such as # in Rome_NNP#GPE",
        metavar="SEP",
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
        if self.entities is not None and self.tagged is None:
            raise ConfigError("entities: not used without tags of tokens (tagged)")
        if self.entities is not None and (
            not self.entities or self.entities != "".join(self.entities.split())
        ):
            raise ConfigError(
                f"entities: found {self.entities!r}, expected a separator without blanks, such as #"
            )
        if self.entities is not None and self.entities == self.tagged:
            raise ConfigError(f"entities: found {self.entities!r}, expected another separator than tagged")
        if self.focus is not None and not (self.links or self.overlap):
            raise ConfigError("focus: not used without links (rel) or features (overlap)")
        if self.focus is not None and self.tagged is None and self.tagger is None:
            raise ConfigError("focus: needs tags: give --tagged SEP if tokens carry them, or --tagger hanta")
        if self.tagged is not None and self.tagger is not None:
            raise ConfigError("tagger: not used if tokens carry tags (tagged)")
        used = self.needs_tags or self.focus is not None or "lemma" in self.reductions
        if self.tagger is not None and not used:
            raise ConfigError("tagger: not used without chunk trees, focus or lemmas")
        if self.needs_tags and self.tagged is None and self.tagger is None:
            raise ConfigError(
                "trees: chunk trees need tags: give --tagged SEP if tokens carry them, --tagger hanta"
                " (pip install 'rerank[qa]'), or --trees box"
            )

    @property
    def needs_tags(self) -> bool:
        """Return whether trees have tags."""
        return self.trees in ("chunks", "both")

    @property
    def names(self) -> list[str]:
        """The names of the trees that are made."""
        kinds = [""] * self.needs_tags + ["_box"] * (self.trees in ("box", "both"))
        return [f"{text}{kind}{self.suffix}" for text in ("question", "passage") for kind in kinds]

    @property
    def links(self) -> bool:
        """Return whether trees have marks."""
        return self.trees != "none" and self.rel is not False

    @property
    def reductions(self) -> set[str]:
        """Reductions of words, for leaves or for comparing."""
        leaves = {self.leaves or "stem"} if self.trees != "none" else set()
        return leaves | ({self.match or "stem"} if self.links or self.overlap else set())
