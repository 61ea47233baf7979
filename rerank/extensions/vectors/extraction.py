"""Features of vectors as a fitted step: where vectors come from, and their similarities."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct
from msgspec.structs import replace

from rerank.core.errors import ConfigError, DataError
from rerank.core.records import Record, fact
from rerank.core.text import count
from rerank.core.types import AnyArray, Floats
from rerank.data.columns.strings import StringColumn
from rerank.data.lists import CandidateLists
from rerank.data.npy import ArrayForm
from rerank.data.reading import Reading
from rerank.extensions.vectors.similarities import IN_LIST, TO_QUERY, similarities
from rerank.models.feature_sources import SOURCES, FeatureSource, columns_of, kept_columns, with_columns

PREFIX = "vector_"
CROSS = "cross_encoder"

Origin = Literal["file", "model", "none"]
Role = Literal["encoder", "cross_encoder"]
_ROLES: tuple[Role, ...] = ("encoder", "cross_encoder")


class _Meta(Record):
    """The part of meta.json about features of vectors."""

    kind: str
    n_features: int
    names: tuple[str, ...]
    n_dims: int = fact(ge=0, lt=1 << 31)
    items: Literal["file", "model", "none"]
    questions: Literal["file", "model", "none"]
    max_tokens: int | None = fact(None, ge=2)
    pooling: Literal["auto", "mean", "cls"] = "auto"
    query_prefix: str = ""
    text_prefix: str = ""
    query: str | None = None
    text: str | tuple[str, ...] | None = None
    encoder: str | None = None
    encoder_content: str | None = None
    cross_encoder: str | None = None
    cross_encoder_content: str | None = None


class LocalModel(Struct, frozen=True):
    """A local model of texts that a model keeps: its folder, and a hash of its content."""

    role: Role
    folder: str
    content: str
    max_tokens: int | None = None
    pooling: Literal["auto", "mean", "cls"] = "auto"

    def opened(self) -> Any:
        """Return the encoder; ConfigError if its content is another one than in training."""
        from rerank.extensions.vectors.encoders import open_encoder

        found = open_encoder(self.folder, self.role, self.max_tokens, self.pooling)
        if found.content != self.content:
            there = f"another model ({found.content[:12]}...)"
            expected = f"the one of the training ({self.content[:12]}...)"
            raise ConfigError(f"{self.folder}: found {there}, expected {expected}")
        return found


@SOURCES.register("vectors")
class VectorFeatures(FeatureSource, frozen=True, eq=False, kw_only=True):
    """Similarities of the vectors of items and questions, and scores of pairs by a cross-encoder.

    Attributes
    ----------
    n_dims : the length of the vectors, 0 = there are none.
    items, questions : where their vectors come from: a file, the local model, or nowhere.
    encoder, cross_encoder : local models of texts.
    query_prefix, text_prefix : what the encoder sees before each question and each text.
    query, text : the columns of files that have them, None = those with the usual names.
    cache : folder that keeps what local models make in training; no model file names it.
    """

    kind: ClassVar[str] = "vectors"

    n_dims: int
    items: Origin
    questions: Origin
    encoder: LocalModel | None = None
    cross_encoder: LocalModel | None = None
    query_prefix: str = ""
    text_prefix: str = ""
    query: str | None = None
    text: tuple[str, ...] = ()
    cache: str | None = None

    @classmethod
    def check_settings(cls, settings: Any) -> None:
        used = settings.encoder is not None or settings.cross_encoder is not None
        for name in ("vector_cache", "max_tokens"):
            if getattr(settings, name) is not None and not used:
                raise ConfigError(f"{name}: not used without encoder or cross_encoder")
        for name in ("query_prefix", "text_prefix", "pooling"):
            if name in settings.settings_given and settings.encoder is None:
                raise ConfigError(f"{name}: not used without encoder")

    @classmethod
    def check_lists(cls, lists: CandidateLists, settings: Any) -> None:
        if settings.encoder is None and settings.cross_encoder is None:
            _vectors(lists, "items")

    @classmethod
    def fit(
        cls, lists: CandidateLists, settings: Any, query: str | None = None, text: tuple[str, ...] = ()
    ) -> VectorFeatures:
        """Return what computes the features of vectors that lists have, or that local models make of texts.

        Raises
        ------
        RerankError
            If there are no vectors and no model for them, a model is not used, or cannot be read.
        """
        cls.check_lists(lists, settings)
        models: dict[str, Any] = {}
        n_dims = 0 if lists.vectors is None else lists.vectors.shape[1]
        for role in _ROLES:
            models[role] = None
            if (folder := getattr(settings, role)) is None:
                continue
            from rerank.extensions.vectors.encoders import open_encoder

            how: tuple[Any, ...] = (settings.max_tokens, settings.pooling if role == "encoder" else "auto")
            found = open_encoder(folder, role, *how)
            models[role] = LocalModel(role, folder, found.content, *how)
            if role == "encoder":
                n_dims = n_dims or found.n_dims
                if n_dims != found.n_dims:
                    expected = f"{found.n_dims}, as the encoder makes"
                    found_there = f"vectors of {count(n_dims, 'number')}"
                    raise DataError(f"{lists.source}: found {found_there}, expected {expected}")
        made = models["encoder"] is not None
        if made and lists.vectors is not None and lists.query_vectors is not None:
            raise ConfigError("encoder: not used, items and questions have vectors; leave one of them out")
        origins = [
            "file" if one is not None else "model" if made else "none"
            for one in (lists.vectors, lists.query_vectors)
        ]
        return cls(
            n_features=lists.n_features,
            n_dims=n_dims,
            items=origins[0],  # type: ignore[arg-type]
            questions=origins[1],  # type: ignore[arg-type]
            query_prefix=settings.query_prefix,
            text_prefix=settings.text_prefix,
            query=query,
            text=text,
            cache=settings.vector_cache,
            **models,
        )

    @property
    def names(self) -> list[str]:
        names = () if self.items == "none" else IN_LIST if self.questions == "none" else (*TO_QUERY, *IN_LIST)
        return [f"{PREFIX}{name}" for name in (*names, *([CROSS] if self.cross_encoder else []))]

    def columns(self, lists: CandidateLists) -> Mapping[str, Floats]:
        out: dict[str, Floats] = {}
        if self.items != "none":
            items = self._of(lists, "items", self.items)
            queries = None if self.questions == "none" else self._of(lists, "questions", self.questions)
            found = similarities(lists, items, queries)
            out |= {f"{PREFIX}{name}": values for name, values in found.items()}
        if self.cross_encoder is not None:
            from rerank.extensions.vectors.cache import encoded

            questions, texts = list(_strings(lists, "questions")), _strings(lists, "items")
            pairs = [(questions[i], text) for i, text in zip(lists.list_index.tolist(), texts, strict=True)]
            scores = encoded(self.cross_encoder.opened(), pairs, "pairs", self.cache)
            out[f"{PREFIX}{CROSS}"] = scores[:, 0].astype("f8")
        return out

    def _of(self, lists: CandidateLists, what: str, origin: Origin) -> AnyArray:
        """The vectors of items or questions, from where they come."""
        if origin == "file":
            found = _vectors(lists, what)
            if found.shape[1] != self.n_dims:
                there = f"vectors of {count(found.shape[1], 'number')}"
                expected = f"{self.n_dims}, as those of the training lists"
                raise DataError(f"{lists.source}: found {there}, expected {expected}")
            return found
        if getattr(lists, _COLUMNS[what][0]) is not None:
            advice = f"leave --{_COLUMNS[what][0].replace('_', '-')} out"
            raise DataError(
                f"{lists.source}: found vectors of {what}, which the model's encoder makes; {advice}"
            )
        from rerank.extensions.vectors.cache import encoded

        assert self.encoder is not None  # it makes vectors
        prefix = self.text_prefix if what == "items" else self.query_prefix
        texts = [f"{prefix}{text}" for text in _strings(lists, what)]
        return encoded(self.encoder.opened(), texts, "texts" if what == "items" else what, self.cache)

    def located(self, places: Mapping[str, str]) -> Self | None:
        models = {role: one for role in _ROLES if (one := getattr(self, role)) is not None}
        if not models:
            return None
        for role in _ROLES:
            if role in places and role not in models:
                raise ConfigError(f"--{role.replace('_', '-')}: not used by this model, which has none")
        moved = {role: replace(one, folder=places.get(role, one.folder)) for role, one in models.items()}
        return replace(self, cache=places.get("vector_cache", self.cache), **moved)

    def reading(self, reading: Reading) -> Reading:
        """Return reading of the columns of the training lists, if local models read texts."""
        if self.encoder is None and self.cross_encoder is None:
            return reading
        return with_columns(reading, self.query, self.text)

    def to_meta(self) -> dict[str, Any]:
        out: dict[str, Any] = {"n_dims": self.n_dims, "items": self.items, "questions": self.questions}
        for one in (self.encoder, self.cross_encoder):
            if one is not None:
                out |= {
                    one.role: one.folder,
                    f"{one.role}_content": one.content,
                    "max_tokens": one.max_tokens,
                }
        if self.encoder is not None:
            out |= {"pooling": self.encoder.pooling, "query_prefix": self.query_prefix}
            out |= {"text_prefix": self.text_prefix}
        return out | {"query": self.query, "text": kept_columns(self.text)}

    def arrays(self) -> dict[str, AnyArray]:
        return {}

    @classmethod
    def forms(cls, meta: Mapping[str, Any]) -> dict[str, ArrayForm]:
        return {}

    @classmethod
    def restore(cls, n_features: int, meta: Mapping[str, Any], arrays: Mapping[str, AnyArray]) -> Self:
        known = _Meta.from_json(dict(meta))
        made = known.encoder is not None
        there = known.items != "none"
        if ("model" in (known.items, known.questions)) != made or (known.n_dims > 0) != there:
            raise DataError("vectors without a file or a model that makes them")
        models: dict[str, Any] = {}
        for role in _ROLES:
            folder, content = getattr(known, role), getattr(known, f"{role}_content")
            if (folder is None) != (content is None):
                raise DataError(f"{role} without its folder or content")
            pooling = known.pooling if role == "encoder" else "auto"
            models[role] = folder and LocalModel(role, folder, content, known.max_tokens, pooling)
        return cls(
            n_features=n_features,
            n_dims=known.n_dims,
            items=known.items,
            questions=known.questions,
            query_prefix=known.query_prefix,
            text_prefix=known.text_prefix,
            query=known.query,
            text=columns_of(known.text),
            **models,
        )

    def summary(self) -> str:
        names = ", ".join(name.removeprefix(PREFIX) for name in self.names)
        whose = {"file": "from a file", "model": "by the encoder", "none": "none"}
        parts = [names]
        if self.items != "none":
            where = f"items {whose[self.items]}, of questions {whose[self.questions]}"
            parts.append(f"vectors of {where}, {count(self.n_dims, 'number')} each")
        for one in (self.encoder, self.cross_encoder):
            if one is not None:
                parts.append(f"{one.role.replace('_', '-')} {one.folder} ({one.content[:12]})")
        return "; ".join(parts)


# What vectors are of -> the column of them, of the texts, and advice for each.
_COLUMNS = {
    "items": ("vectors", "texts", "--text names their column, --collection FILE has them by the item's id"),
    "questions": ("query_vectors", "prompts", "--query names their column, --queries FILE has them by list"),
}


def _vectors(lists: CandidateLists, what: str) -> AnyArray:
    """The vectors of items or questions; DataError if there are none."""
    column = _COLUMNS[what][0]
    found: AnyArray | None = getattr(lists, column)
    if found is None:
        flag = f"--{column.replace('_', '-')} FILE has them"
        more = ", --encoder DIR makes them of texts" if what == "items" else ""
        raise DataError(f"{lists.source}: found no vectors of {what}; {flag}{more}")
    return found


def _strings(lists: CandidateLists, what: str) -> StringColumn:
    """The texts of items or questions; DataError if there are none."""
    _, column, advice = _COLUMNS[what]
    found: StringColumn | None = getattr(lists, column)
    if found is None:
        there = "texts" if what == "items" else "questions"
        raise DataError(f"{lists.source}: found no {there}, which the local model reads; {advice}")
    return found
