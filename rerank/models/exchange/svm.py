"""Linear models of SVM-light and SVM-rank, LIBLINEAR and LIBSVM, which are only read.

Their constants change no order and are left out. Scores rise with the larger of two labels.
"""

from __future__ import annotations

from collections.abc import Iterable

from rerank.core.errors import DataError
from rerank.models.base import Model
from rerank.models.exchange.base import EXCHANGE, ExchangeFormat, note
from rerank.models.exchange.reading import linear_model, real, weights_by_number, whole_number

_MOST = 1 << 26  # features of a LIBLINEAR model


@EXCHANGE.register("svm-rank")
class SvmRank(ExchangeFormat):
    """Models of svm_rank_learn and svm_learn with the linear kernel."""

    name = "svm-rank"
    summary = "SVM-rank and SVM-light, linear kernel"
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.startswith(b"SVM-light Version") and b"TK" not in content.split(b"\n", 1)[0]

    def model(self, content: bytes, source: str) -> Model:
        lines = _lines(content)
        if not lines or not lines[0].startswith("SVM-light Version"):
            raise DataError("line 1: no model of SVM-light or SVM-rank")
        head: dict[str, str] = {}
        at = 1
        while at < len(lines) and "#" in lines[at] and "number of support vectors" not in lines[at]:
            value, _, what = lines[at].partition("#")
            head[what.strip()] = value.strip()
            at += 1
        if head.get("kernel type") != "0":
            raise DataError(f"kernel type {head.get('kernel type', 'absent')[:40]}, expected 0 (linear)")
        if at + 1 >= len(lines) or "# threshold b" not in lines[at + 1]:
            raise DataError("no number of support vectors and threshold b after the head")
        n = whole_number(lines[at].partition("#")[0].strip(), "number of support vectors") - 1
        constant = real(lines[at + 1].partition("#")[0], "threshold b")
        vectors = lines[at + 2 :]
        if len(vectors) != n:
            raise DataError(f"{len(vectors)} support vectors, but the head says {n}")
        if constant:
            note(f"{source}: its threshold {constant:.6g}, which changes no order, is left out")
        return weights_by_number(_summed(vectors, at + 3))


@EXCHANGE.register("libsvm")
class LibSvm(ExchangeFormat):
    """Models of LIBSVM with the linear kernel, and of LIBLINEAR."""

    name = "libsvm"
    summary = "LIBLINEAR, and LIBSVM with the linear kernel"
    reads = True

    @classmethod
    def recognises(cls, content: bytes) -> bool:
        return content.startswith((b"svm_type ", b"solver_type "))

    def model(self, content: bytes, source: str) -> Model:
        lines = _lines(content)
        head: dict[str, list[str]] = {}
        at = 0
        while at < len(lines) and lines[at].strip() not in ("w", "SV"):
            words = lines[at].split()
            if not words or words[0] in head:
                raise DataError(f"line {at + 1}: found {lines[at][:40]!r}, expected a key and its values")
            head[words[0]] = words[1:]
            at += 1
        if at == len(lines) or not ("solver_type" in head or "svm_type" in head):
            raise DataError("no model of LIBLINEAR or LIBSVM (no line 'w' or 'SV')")
        classes = whole_number(" ".join(head.get("nr_class", [])), "nr_class")
        if classes > 2:
            raise DataError(f"{classes} classes, not one score")
        sign = _sign(head.get("label", []))
        rows = lines[at + 1 :]
        if "solver_type" in head:
            return self._liblinear(head, rows, sign, source)
        if head.get("kernel_type") != ["linear"]:
            raise DataError(f"kernel_type {' '.join(head.get('kernel_type', []))[:40]}, expected linear")
        n = whole_number(" ".join(head.get("total_sv", [])), "total_sv")
        if len(rows) != n:
            raise DataError(f"{len(rows)} support vectors, but total_sv says {n}")
        rho = real(" ".join(head.get("rho", [])), "rho")
        if rho:
            note(f"{source}: its constant {-sign * rho:.6g}, which changes no order, is left out")
        return weights_by_number({j: sign * w for j, w in _summed(rows, at + 2).items()})

    @staticmethod
    def _liblinear(head: dict[str, list[str]], rows: list[str], sign: float, source: str) -> Model:
        n = whole_number(" ".join(head.get("nr_feature", [])), "nr_feature")
        bias = real(" ".join(head.get("bias", ["-1"])), "bias")
        if n > _MOST or len(rows) != n + (bias >= 0):
            raise DataError(f"{len(rows)} weights, but nr_feature says {n} and bias {bias:g}")
        weights = [sign * real(row, f"weight {j}") for j, row in enumerate(rows, 1)]
        if bias >= 0:
            constant = weights.pop() * bias
            note(f"{source}: its constant {constant:.6g}, which changes no order, is left out")
        return linear_model([str(j) for j in range(1, n + 1)], weights)


def _lines(content: bytes) -> list[str]:
    """The lines that are not empty."""
    text = content.decode("utf-8", "replace").replace("\r\n", "\n")
    return [line for line in text.split("\n") if line.strip()]


def _sign(labels: list[str]) -> float:
    """1, or -1 if decisions rise with the smaller label: they are for the first one."""
    if not labels:
        return 1.0
    values = [real(label, "label") for label in labels]
    if len(values) != 2 or values[0] == values[1]:
        raise DataError(f"{len(values)} labels, expected two different ones")
    return 1.0 if values[0] > values[1] else -1.0


def _summed(vectors: Iterable[str], first: int) -> dict[int, float]:
    """The sum of vectors times their coefficients, the first number of each line."""
    weights: dict[int, float] = {}
    for number, line in enumerate(vectors, first):
        cells = line.partition("#")[0].split()
        factor = real(cells.pop(0) if cells else "", f"line {number}")
        for cell in cells:
            index, colon, value = cell.partition(":")
            if not colon:
                raise DataError(f"line {number}: found {cell[:40]!r}, expected INDEX:VALUE")
            if index == "qid":
                continue
            j = whole_number(index, f"line {number}")
            weights[j] = weights.get(j, 0.0) + factor * real(value, f"line {number}")
    return {j: real(w, f"weight {j}") for j, w in weights.items()}
