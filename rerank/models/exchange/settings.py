"""Options of the verbs that bring models from and to other programs."""

from __future__ import annotations

from rerank.core.settings import Settings, setting


def _out(what: str, metavar: str) -> str:
    found: str = setting(..., what, flags=("--out", "-o"), metavar=metavar)
    return found


class ExportModel(Settings):
    """Options of ``rerank export``."""

    model: str = setting(..., "a model file written by 'rerank train'", argument=True, metavar="MODEL")
    to: str = setting(
        ..., "format to write; 'rerank help exchange' lists them", flags=("--to", "-t"), metavar="FORMAT"
    )
    out: str = _out("file to write; - is standard output", "FILE")
    names: str | None = setting(None, "other names for features: lines OLD<TAB>NEW", metavar="NAMES")
    name: str | None = setting(None, "name of the function, or of the model on a server", metavar="NAME")
    dialect: str | None = setting(None, "dialect of --to sql [sqlite]", metavar="sqlite|duckdb|postgresql")
    ini: str | None = setting(None, "a moses.ini whose other content is kept (moses-ini)", metavar="OLD.ini")
    feature_names: str | None = setting(None, "file with the id of each feature (bllip)", metavar="FILE")


class ImportModel(Settings):
    """Options of ``rerank import``."""

    path: str = setting(
        ..., "a model of another program; - is standard input", argument=True, metavar="FILE", key="file"
    )
    format: str | None = setting(
        None, "its format; default: by content", flags=("--from", "-f"), metavar="FORMAT", key="from"
    )
    out: str = _out("model file to write", "MODEL")
    names: str | None = setting(None, "other names for features: lines OLD<TAB>NEW", metavar="NAMES")
    first_column: int | None = setting(
        None,
        "number of the first column of LightGBM or XGBoost without names: 0 after training on an SVMlight "
        "file [1]",
        metavar="0|1",
    )
    feature_names: str | None = setting(None, "file with the id of each feature (bllip)", metavar="FILE")
    tree_names: str = setting(
        "",
        "names of an item's trees, in order (svmtk); default: tree, or tree1,tree2,...",
        metavar="NAME,...",
    )
