"""One C header: tables and a static function, C99 or C++, without a library."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from rerank._version import __version__
from rerank.core.errors import ConfigError
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat, ExportOptions
from rerank.models.exchange.portable import Portable
from rerank.models.exchange.python import ALL
from rerank.models.exchange.trees import TINY

_SPECIAL = {"nan": "NAN", "inf": "HUGE_VAL", "-inf": "-HUGE_VAL"}
_HEAD = """/* Scores of a rerank model of kind {kind}, exported by rerank {version}; larger is better.
 *
 * double {name}_score(const double *x{base_type})
 * x has {upper}_FEATURES values, in the order of {name}_names.
 * NAN is a missing value. The result is NAN if a value is missing and the model has no rule for that.
 * A feature that an item lacks altogether {absent}.
 *
 * C99 or C++. Do not compile with -ffast-math, which drops NAN. With -ffp-contract=off (or without fused
 * multiply-add) all bits are those of rerank.
 */
#ifndef {upper}_H
#define {upper}_H

#if defined(__FAST_MATH__)
#error "{name}: -ffast-math would take missing values for numbers"
#endif

#define {upper}_FEATURES {n}
"""

_LINEAR = """
    {{
        int i;
        for (i = 0; i < {n_terms}; i++) {{
            const double v = x[{name}_term_source[i]];
            if (v != v)
                total += {name}_term_missing[i];
            else if ({name}_term_computed[i])
                total += (v - {name}_term_shift[i]) / {name}_term_divisor[i] * {name}_term_weight[i];
            else
                total += {name}_term_present[i];
        }}
    }}
"""

_COUNTED = """
    {{
        int i, n = 0;
        for (i = 0; i < {upper}_FEATURES; i++)
            n += x[i] == x[i];
        total *= n;
    }}
"""

_STEPS = """
    {{
        int i;
        for (i = 0; i < {n_steps}; i++) {{
            const double v = x[{name}_step_source[i]];
            int low = {name}_step_first[i], high = {name}_step_first[i + 1];
            if (v != v) {{
                if ({name}_step_apart[i])
                    gone += {name}_step_missing[i];
                else
                    part += {name}_step_missing[i];
                continue;
            }}
            while (low < high) {{
                const int middle = low + (high - low) / 2;
                if (v >= {name}_step_at[middle])
                    low = middle + 1;
                else
                    high = middle;
            }}
            part += {name}_step_value[low + i];
        }}
    }}
"""

_TREES = """
    {{
        int t;
        for (t = 0; t < {n_trees}; t++) {{
            int node = {name}_tree_root[t];
            while (node >= 0) {{
                const double v = x[{name}_split_feature[node]];
                const unsigned char kind = {name}_split_kind[node];
                int left = v <= {name}_split_threshold[node];
                if (v != v || ((kind & 2) && v <= {tiny} && v >= -{tiny}))
                    left = kind & 1;
                node = left ? {name}_split_left[node] : {name}_split_right[node];
            }}
            part += {name}_leaf[-1 - node];
        }}
    }}
"""


@EXCHANGE.register("c")
class Header(ExchangeFormat):
    """A C header."""

    name = "c"
    summary = "one header with a static function, C99 or C++"
    holds = ALL
    writes = True
    honours = frozenset({"name"})

    def text(self, scorer: Portable, options: ExportOptions) -> str:
        name = options.name or "rerank"
        if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name, re.ASCII):
            raise ConfigError(f"--name: found {name!r}, expected letters, digits and _, a letter first")
        upper, based = name.upper(), scorer.base_weight is not None
        words = {"name": name, "upper": upper, "tiny": repr(TINY)}
        parts = [
            _HEAD.format(
                kind=scorer.kind,
                version=__version__,
                base_type=", double base" if based else "",
                absent="is NAN" if np.isnan(scorer.absent) else "is 0",
                n=len(scorer.inputs),
                **words,
            )
        ]
        body = []

        def table(kind: str, what: str, values: Iterable[Any]) -> None:
            cells = list(map(_number if kind == "double" else _whole, values))
            rows = [", ".join(cells[i : i + 8]) for i in range(0, len(cells), 8)] or ["0"]
            lines = ",\n    ".join(rows)
            parts.append(f"static const {kind} {name}_{what}[] = {{\n    {lines}\n}};\n")

        texts = ",\n    ".join(map(_string, scorer.inputs)) or "0"
        parts.append(f"static const char *const {name}_names[] = {{\n    {texts}\n}};\n")
        if scorer.terms:
            terms = scorer.terms
            table("int", "term_source", (t.source for t in terms))
            table("unsigned char", "term_computed", (t.present is None for t in terms))
            table("double", "term_weight", (t.weight for t in terms))
            table("double", "term_shift", (t.shift for t in terms))
            table("double", "term_divisor", (1.0 if np.isinf(t.divisor) else t.divisor for t in terms))
            table("double", "term_missing", (t.missing for t in terms))
            table("double", "term_present", (0.0 if t.present is None else t.present for t in terms))
            body.append(_LINEAR.format(n_terms=len(terms), **words))
        if scorer.counted:
            body.append(_COUNTED.format(**words))
        if scorer.steps:
            steps = scorer.steps
            first = np.cumsum([0, *(len(s.at) for s in steps)]).tolist()
            table("int", "step_source", (s.source for s in steps))
            table("int", "step_first", first)
            table("double", "step_at", (v for s in steps for v in s.at.tolist()))
            table("double", "step_value", (v for s in steps for v in s.values.tolist()))
            table("unsigned char", "step_apart", (s.apart for s in steps))
            table("double", "step_missing", (float(s.missing) for s in steps))
            body.append(_STEPS.format(n_steps=len(steps), **words))
        if scorer.trees:
            self._tree_tables(scorer, table)
            body.append(_TREES.format(n_trees=len(scorer.trees), **words))
        if any(word in text for text in parts[1:] for word in ("NAN", "HUGE_VAL")):
            parts.insert(1, "#include <math.h> /* NAN and HUGE_VAL, no function */\n")
        arguments = "const double *x" + (", double base" if based else "")
        end = f" + {_number(scorer.base_weight)} * base" if scorer.base_weight is not None else ""
        parts.append(
            f"static inline double {name}_score({arguments})\n{{\n"
            "    double total = 0.0, part = 0.0, gone = 0.0;"
            + "".join(body)
            + f"    (void)x;\n    (void){name}_names;\n    return total + part + gone{end};\n}}\n"
        )
        parts += self._choices(scorer, name)
        return "\n".join([*parts, "#endif\n"])

    @staticmethod
    def _tree_tables(scorer: Portable, table: object) -> None:
        """Write the tables of trees, whose splits and leaves are numbered through."""
        assert callable(table)
        trees = scorer.trees
        splits = np.cumsum([0, *(len(t.feature) for t in trees)]).tolist()
        leaves = np.cumsum([0, *(len(t.leaf) for t in trees)]).tolist()

        def links(side: str) -> list[int]:
            return [
                child + splits[k] if child >= 0 else child - leaves[k]
                for k, tree in enumerate(trees)
                for child in getattr(tree, side).tolist()
            ]

        table(
            "int", "tree_root", (splits[k] if len(t.feature) else -1 - leaves[k] for k, t in enumerate(trees))
        )
        table("int", "split_feature", (v for t in trees for v in t.feature.tolist()))
        table("double", "split_threshold", (v for t in trees for v in t.threshold.tolist()))
        table(
            "unsigned char",
            "split_kind",
            (v for t in trees for v in (t.nan_left + 2 * t.zero_missing.astype(np.int64)).tolist()),
        )
        table("int", "split_left", links("left"))
        table("int", "split_right", links("right"))
        table("double", "leaf", (v for t in trees for v in t.leaf.tolist()))

    @staticmethod
    def _choices(scorer: Portable, name: str) -> list[str]:
        """The functions of grades and of the keep margin."""
        found = []
        if scorer.thresholds is not None and scorer.labels is not None:
            cases = "".join(
                f"    if (score >= {_number(t)})\n        grade = {_number(label)};\n"
                for t, label in zip(scorer.thresholds.tolist(), scorer.labels.tolist()[1:], strict=True)
            )
            first = _number(scorer.labels.tolist()[0])
            found.append(
                f"static inline double {name}_grade(double score)\n{{\n    double grade = {first};\n{cases}"
                "    (void)score;\n    return grade;\n}\n"
            )
        if scorer.keep_margin is not None:
            lead = (
                "0"
                if np.isinf(scorer.keep_margin)
                else f"scores[best] - scores[first] > {scorer.keep_margin!r}"
            )
            found.append(
                "/* The chosen item of a list; the first stage's choice stays unless another leads it\n"
                " * by more than the keep margin. */\n"
                f"static inline int {name}_choose(const double *scores, int n, int first)\n{{\n"
                "    int i, best = 0;\n    for (i = 1; i < n; i++)\n        if (scores[i] > scores[best])\n"
                f"            best = i;\n    return {lead} ? best : first;\n}}\n"
            )
        return found


def _number(value: float) -> str:
    """A double as a C constant, which reads back to the same bits."""
    return repr(float(value)) if math.isfinite(value) else _SPECIAL[repr(float(value))]


def _whole(value: int) -> str:
    return repr(int(value))


def _string(text: str) -> str:
    """A C string of UTF-8; every character that is not plain is an octal escape."""
    plain = re.compile(rb"[A-Za-z0-9 _.,:;+*/()\[\]{}<>=!@#$&|~^-]")
    return (
        '"'
        + "".join(
            chr(b) if plain.match(bytes([b])) else f"\\{b:03o}"
            for b in text.encode("utf-8", "surrogateescape")
        )
        + '"'
    )
