"""Options of reading: one declaration for ``ReadOptions``, the YAML keys of ``data:`` and the flags."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Annotated, Any, ClassVar, Literal

from rerank.core.errors import ConfigError
from rerank.core.files.read import is_file
from rerank.core.settings import Settings, setting
from rerank.core.text import patterns_of
from rerank.data.text_reading import TEXT_COLUMN, DevVectors, TextReading
from rerank.data.text_reading import Sources as Sources


def _one(given: Any) -> Any:
    """A path as text; anything else is left to the check of its type."""
    return os.fspath(given) if isinstance(given, os.PathLike) else given


def _several(given: Any) -> Any:
    """None, one value or several, as a tuple."""
    if isinstance(given, str | os.PathLike):
        return (_one(given),)
    return tuple(_one(value) for value in given or ()) if isinstance(given, list | tuple | None) else given


def _patterns(given: Any) -> Any:
    """Items of a selection of features as a tuple, checked; a number stands for itself."""
    values = given if isinstance(given, list | tuple) else (given,)
    texts = tuple(str(value) if type(value) is int else value for value in values)
    if not all(isinstance(text, str) for text in texts):
        return given
    try:
        patterns_of(texts)
    except ValueError as error:
        raise ValueError(f"features: {error}") from None
    return texts


def checked_patterns(texts: Sequence[str] | None) -> tuple[str, ...]:
    """Return items of a selection of features that are no setting; ConfigError if one is empty or falls."""
    try:
        patterns_of(texts or ())
    except ValueError as error:
        raise ConfigError(f"--features: {error}") from None
    return tuple(texts or ())


OptionalPath = Annotated[str | None, _one]
Paths = Annotated[tuple[str, ...], _several]
Patterns = Annotated[tuple[str, ...], _patterns]
Part = Literal["train", "dev", "unlabelled"]
BASE = "base"  # instead of a file of initial weights
Missing = Literal["error", "nan", "zero", "mean", "list-mean", "list-min", "indicator"]
Stripped = Annotated[tuple[Literal["traces", "functions"], ...], _several]


FITTED = ("mean", "list-mean", "list-min", "indicator")  # policies for missing values that only training has


def read_as(policy: Missing | None) -> Missing | None:
    """Return how files are read for a policy: as missing (nan), unless it is zero or none is chosen."""
    return policy if policy in (None, "zero") else "nan"


class ReadOptions(TextReading):
    """Options for reading; a format raises an error for an option that it does not honour.

    The fields are declared once, here: keyword arguments of ``rerank.load``, keys of ``data:`` in a YAML
    file and flags of every verb that reads lists are generated from them. An option marked ``per_part`` is
    applies to one file, so development lists have their own (``dev_refs`` in addition to ``refs``).
    """

    help_group: ClassVar[str] = "Reading"

    refs: Paths = setting(
        (),
        "references, one per line; several files are several references",
        flags=("--refs", "-R"),
        path=True,
        per_part=True,
    )
    merge: Paths = setting(
        (), "further files of this format, or runs of any format, whose lists are joined by id", path=True
    )
    distinct: bool = setting(False, "keep only the first of a list's items that have the same text")
    n_best: int = setting(
        0, "items of each list (plain text, NeMo's beams); 0 = as many as fit the references", ge=0
    )
    qrels: OptionalPath = setting(
        None,
        "judgements that become labels: of TREC or BEIR, or JSON; svmtk: a line of list, item, label",
        path=True,
    )
    subtopics: OptionalPath = setting(None, "judgements of documents by subtopic, as for ndeval", path=True)
    subset: str | None = setting(
        None, "part of an MTEB file that has several: a subset, a split, or subset/split"
    )
    strip: Stripped = setting((), "parts of labels to remove from trees (parses)")
    ids: OptionalPath = setting(
        None, "ids of the lists, one per line (parses, svmtk: one per example)", path=True, per_part=True
    )
    classes: bool = setting(
        False,
        "the labels are classes: names or numbers, several separated by commas; each line is an example",
    )
    list_column: str | None = setting(None, "column of list ids")
    label_column: str | None = setting(None, "column of labels")
    id_column: str | None = setting(None, "column of item ids")
    text_column: Paths = setting((), TEXT_COLUMN, flags=("--text-column", "--text"), metavar="COLUMN")
    answer_column: str | None = setting(None, "column of final answers, for votes")
    categorical: Paths = setting(
        (),
        "columns of categories: each value becomes a feature COLUMN=VALUE of 0 and 1",
        metavar="COLUMN",
    )
    answer_pattern: str | None = setting(
        None,
        "regular expression whose last match in a text is its answer (its first group, if any); boxed = "
        "what the last \\boxed{} holds",
        metavar="REGEX|boxed",
    )
    answer_match: Literal["exact"] | None = setting(
        None, "label unjudged samples by whether their answer is the expected one"
    )
    filter: str | None = setting(None, "filter of lm-evaluation-harness")
    structures: OptionalPath = setting(
        None,
        "structures of the items, joined by the ids of list and item: a folder of models (PDB, mmCIF), a "
        "folder for each list, or archives of such folders",
        path=True,
        per_part=True,
    )
    native: OptionalPath = setting(
        None,
        "native structures beside models: the file of the only list's native, or a folder with a file for "
        "each list, named by its id",
        path=True,
        per_part=True,
    )
    residues: str | None = setting(
        None,
        "residues of the natives that count, such as A:12-90,A:110-150, or a file with such ranges for each "
        "list; without natives residues of the models",
        metavar="RANGES|FILE",
    )
    match: Literal["number", "sequence"] = setting(
        "number", "how residues of models and natives are matched: by number, or by aligning their sequences"
    )
    feature_names: OptionalPath = setting(
        None, "names of the features, one per line or as index<TAB>name", path=True
    )
    missing: Missing | None = setting(
        None,
        "absent feature values: an error, kept as NaN, or 0; training can also fit the mean, the mean of the "
        "list, the smallest value of the list after scaling, or the mean with columns that indicate absence; "
        "none = as the format has it, and list-min of merged runs in training; of eval and compare: what "
        "replaces a score that a system lacks",
    )
    zero_based: bool = setting(False, "feature indices count from 0")
    layout: Literal["auto", "dense", "sparse"] = setting("auto", "how features are kept in memory")
    dtype: Literal["float64", "float32"] = setting("float64", "type of dense features")
    threads: int = setting(0, "threads for reading; 0 = one per core, 4 at most", ge=0)
    strict: bool = setting(False, "raise an error instead of repairing the input with a note")

    def changed(self) -> list[str]:
        """Return the names of the options that are not at their default, except ``threads``."""
        fields = ReadOptions.settings.items()
        return [name for name, field in fields if name != "threads" and getattr(self, name) != field.default]

    def files(self) -> list[str]:
        """Return the paths of all files that the options name."""
        paths: list[str] = []
        for name in paths_of(type(self)):
            value = getattr(self, name)
            paths += [value] if isinstance(value, str) else value or ()
        return [*paths, *self.residue_files()]

    def residue_files(self) -> list[str]:
        """Return the path of the file with ranges of residues, if ``residues`` names one."""
        return [self.residues] if self.residues is not None and is_file(self.residues) else []

    def n_threads(self) -> int:
        """Return ``threads``, or the number of cores this process may use, 4 at most."""
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        return self.threads or min(4, cores)


class Reading(ReadOptions):
    """Options of reading one file of lists: its format, the first stage's order and the format's options."""

    format: str | None = setting(
        None, "format of the data; none = by name or content", flags=("--format", "-f")
    )
    first_best: str | None = setting(
        None,
        "the first stage's order: the order of the input, or a feature (larger first)",
        metavar="input|FEATURE",
    )
    features: Patterns = setting(
        (),
        "only these features: names, numbers, ranges such as 1-10, globs, separated by commas; a leading - "
        "excludes; items apply from left to right, and if the first one excludes, from all features",
        metavar="ITEMS",
    )


PER_PART = [name for name, field in Reading.settings.items() if field.per_part]
# What unlabelled lists are read without.
OF_JUDGED = {*PER_PART, "merge", "qrels", "subtopics", "first_best", "residues", "match"}


class DataSection(Reading, DevVectors):
    """Paths of the lists and the options of reading them."""

    help_group: ClassVar[str] = "Training lists"

    train: Paths = setting(
        (),
        "training lists; several files are joined, features by name",
        flags=("--data", "-d"),
        path=True,
        group="",
    )
    dev: Paths = setting(
        (), "development lists, watched by the metric; several files are joined", path=True, group=""
    )
    unlabelled: Paths = setting(
        (),
        "the lists to be ranked, for learners that learn from them (list-iw); their labels are not used; "
        "several files are joined",
        path=True,
    )
    list_weights: OptionalPath = setting(
        None, "weights of the training lists by list id, as 'rerank weigh-lists' writes them", path=True
    )
    dev_refs: Paths = setting((), "references of the development lists", path=True)
    dev_ids: OptionalPath = setting(None, "ids of the development lists", path=True)
    dev_structures: OptionalPath = setting(None, "structures of the development lists", path=True)
    dev_native: OptionalPath = setting(None, "native structures of the development lists", path=True)
    init: OptionalPath = setting(
        None,
        "weights to start from: a linear model or a weight file; base = those that reproduce the first "
        "stage's scores, as init=base among the learner's settings",
        metavar="FILE|base",
        path=True,
    )
    label: str | None = setting(
        None, "metric that makes the labels from references, such as sBLEU", metavar="METRIC"
    )
    quantise: str | None = setting(
        None,
        "quantised training labels (those of the development lists stay): best, above=T, model=FILE, "
        "top=P%, kmeans=K, list-kmeans=K",
        metavar="HOW",
    )

    unjudged: Literal["skip", "negative", "error"] = setting(
        "skip",
        "unjudged items of judged lists: left out of learning, learnt from as not relevant, or refused",
    )

    def check_values(self) -> None:
        for name in (f"dev_{name}" for name in PER_PART):
            if getattr(self, name) and not self.dev:
                raise ConfigError(f"data.{name}: not used without development lists (data.dev)")

    def reading(self, part: Part) -> Reading:
        """Return how one part is read; further files (``merge``) are joined to the training lists only.

        Unlabelled lists are read without references, ids and judgements.
        """
        values = {name: getattr(self, name) for name in Reading.settings}
        if part == "dev":
            values |= {name: getattr(self, f"dev_{name}") for name in PER_PART} | {"merge": ()}
            if self.dev_native is None:
                values["match"] = "number"
        if part == "unlabelled":
            values = {name: value for name, value in values.items() if name not in OF_JUDGED}
        missing = self.policy() if values.get("merge") else self.missing
        return Reading(**values | {"missing": read_as(missing)})

    def policy(self, accepts_nan: bool = False) -> Missing | None:
        """Return the policy for missing values that is chosen, or that for merged runs and such a learner."""
        default: Missing = "nan" if accepts_nan else "list-min"
        return self.missing or (default if self.merge else None)

    def files(self) -> list[str]:
        """Return the paths of all input files, also that of a model whose choices become labels."""
        scheme, _, path = (self.quantise or "").partition("=")
        own = self.with_settings(init=self.initial_file)
        return [*super(DataSection, own).files(), *([path] if scheme == "model" else [])]

    @property
    def initial_file(self) -> str | None:
        """The file that ``init`` names, None if it names none."""
        return None if self.init == BASE else self.init


def paths_of(owner: type[Settings]) -> list[str]:
    """Return the names of the settings that are paths."""
    return [name for name, field in owner.settings.items() if field.path]
