"""Trees and features of questions and passages, from files to files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rerank.core.errors import ConfigError
from rerank.data.reading import Reading
from rerank.experiment.outputs import Written, checked_format, written
from rerank.experiment.sources import Data, check_inputs, read_lists
from rerank.features.qa.features import QALists, QASettings, qa_features
from rerank.formats.results import read_results


@dataclass(frozen=True, eq=False)
class QAFile:
    """The lists that were written, what was linked, and the settings."""

    written: Written
    made: QALists
    settings: QASettings


def qa_file(
    data: Data,
    out: str,
    to: str | None = None,
    *,
    questions: str | None = None,
    passages: str | None = None,
    settings: Mapping[str, Any] | None = None,
    reading: Reading | None = None,
) -> QAFile:
    """Write lists with trees and features of their questions and passages; see ``rerank.features.qa``.

    Parameters
    ----------
    data : a file of lists with questions (prompts) and passages (texts), or CandidateLists; with
    ``questions``
        a file of results, see ``rerank.formats.results``.
    out : the file to write, "-" = standard output.
    to : name of the format to write; None = by the suffix of ``out``.
    questions, passages : files of texts, ``id<TAB>text`` on each line.
    settings : of ``rerank.features.qa.features.QASettings``, such as ``{"trees": "box"}``.
    reading : how the file of lists is read.

    Raises
    ------
    RerankError
        If a setting, a file or a token is wrong, or a package is not installed.
    """
    checked = QASettings.checked(settings or {}, "features qa")
    if (questions is None) != (passages is None):
        raise ConfigError("--questions and --passages: found one of them, expected both or none")
    files = [path for path in (questions, passages) if path is not None]
    target = checked_format(out, to, data, reading, *files)
    if questions is None or passages is None:
        lists = read_lists(data, reading)
    else:
        changed = [] if reading is None else sorted(name for name in reading.model_fields_set)
        if changed or not isinstance(data, str):
            found = f"--{changed[0].replace('_', '-')}" if changed else "lists"
            raise ConfigError(
                f"--questions: found {found}, expected a file of results and no option of reading"
            )
        check_inputs([data, *files])
        lists = read_results(data, questions, passages)
    made = qa_features(lists, checked)
    return QAFile(written(made.lists, out, target), made, checked)
