"""Features of texts in experiments: settings of all rows and of each, and what decides a cell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from rerank.core.errors import ConfigError
from rerank.core.settings import Settings, setting
from rerank.data.reading import DataSection, Part, Reading, Sources
from rerank.training.text_options import SourceSettings

COLUMNS = ("query_column", "text_column")
Rows = Mapping[str, Mapping[str, Any] | None]


class TextRows(Settings):
    """Settings of the features that rows of an experiment compute."""

    features_from: Sources = setting((), "what rows compute features from, see train; fitted in each cell")
    texts: SourceSettings = setting(SourceSettings(), "how features are computed from texts")

    def check_texts(self, rows: Rows) -> None:
        """Raise ConfigError if no row uses the settings of texts."""
        if self.texts.settings_given and not any(self.sources_of(entry) for entry in rows.values()):
            raise ConfigError("texts: not used by any row without features_from: text")

    def sources_of(self, entry: Mapping[str, Any] | None) -> Any:
        """Return the sources of a row's features: its own, or those of all rows."""
        return (entry or {}).get("features_from", self.features_from)

    def of_row(self, entry: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of a training for a row, whose section of texts is ``own``."""
        sources = self.sources_of(entry)
        given = {key: getattr(self.texts, key) for key in self.texts.settings_given}
        shared = self.texts.of_sources(given, (sources,) if isinstance(sources, str) else sources)
        return {"features_from": sources, "texts": shared | dict(own)}


class StoredData(DataSection):
    """Stores of parts, which the files with these columns became."""

    @classmethod
    def of(cls, given: DataSection, **changes: Any) -> Self:
        """Return the section of stores that became of files with the columns of ``given``."""
        return cls(**{name: getattr(given, name) for name in COLUMNS} | changes)

    def reading(self, part: Part) -> Reading:
        return super().reading(part).with_settings(query_column=None, text_column=())
