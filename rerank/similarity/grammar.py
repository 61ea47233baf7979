"""Expressions of kernels as text: sums of products of numbers, kernels and sums in parentheses.

    ptk(question) + 0.5 * ptk(passage, decay=0.3) * (1 + linear('bm25*', normalise=true))

Nothing is evaluated by Python. An expression's text parses back to an equal expression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rerank.core.errors import ConfigError
from rerank.core.registry import did_you_mean
from rerank.core.text import number
from rerank.similarity.base import ITEM_KERNELS, PlainKernel

DEEPEST = 50  # parentheses within each other

_BLANKS = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_NUMBER = re.compile(r"[0-9.](?:[eE][-+][0-9]|[A-Za-z0-9_.])*")
_ARGUMENT = re.compile(
    r"\s*(?:(?P<key>[A-Za-z_][A-Za-z0-9_]*)\s*=\s*)?"
    r"""(?:'(?P<single>(?:[^']|'')*)'|"(?P<double>(?:[^"]|"")*)"|(?P<raw>[^,()='"]*))\s*(?P<end>[,)])"""
)
_QUOTED = re.compile(r"[,()='\"]|^\s|\s$|^$")
_OPERAND = "a kernel, a number above 0 or ("


@dataclass(frozen=True)
class Leaf:
    """One kernel, and what it compares: arguments without a name."""

    kernel: PlainKernel
    of: tuple[str, ...] = ()

    def __str__(self) -> str:
        named = [f"{key}={value}" for key, value in self.kernel.changed().items()]
        arguments = [*map(_argument, self.of), *named]
        return self.kernel.name + f"({', '.join(arguments)})" * bool(arguments)


@dataclass(frozen=True)
class Product:
    """A weight above 0 times kernels and sums; without any it is a constant."""

    weight: float
    factors: tuple[Leaf | Sum, ...]

    def __str__(self) -> str:
        factors = [f"({one})" if isinstance(one, Sum) else str(one) for one in self.factors]
        weight = [] if self.weight == 1 and factors else [repr(self.weight).removesuffix(".0")]
        return " * ".join([*weight, *factors])


@dataclass(frozen=True)
class Sum:
    """The sum of some products."""

    terms: tuple[Product, ...]

    def __str__(self) -> str:
        return " + ".join(map(str, self.terms))

    def leaves(self) -> Iterator[Leaf]:
        """Yield the kernels from left to right, each as often as it occurs."""
        for term in self.terms:
            for factor in term.factors:
                if isinstance(factor, Leaf):
                    yield factor
                else:
                    yield from factor.leaves()


def _argument(text: str) -> str:
    """An argument without a name as an expression has it."""
    return "'" + text.replace("'", "''") + "'" if _QUOTED.search(text) else text


class _Frame:
    """A sum that is being read: its terms, and the product after the last +."""

    def __init__(self) -> None:
        self.terms: list[Product] = []
        self.weight, self.factors = 1.0, list[Leaf | Sum]()

    def end_product(self) -> None:
        """Add the product to the terms; a sum that stands alone adds its own terms."""
        only = self.factors[0] if self.weight == 1 and len(self.factors) == 1 else None
        self.terms += only.terms if isinstance(only, Sum) else [Product(self.weight, tuple(self.factors))]
        self.weight, self.factors = 1.0, []

    def multiply(self, inner: Sum) -> None:
        """Multiply the product by a sum in parentheses."""
        if len(inner.terms) > 1:
            self.factors.append(inner)
        else:
            self.weight *= inner.terms[0].weight
            self.factors += inner.terms[0].factors


class _Reader:
    """A place in the text of an expression."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0
        self.stack = [_Frame()]

    def fault(self, message: str, at: int | None = None) -> ConfigError:
        """The error about the character at the place."""
        return ConfigError(
            f"kernel {self.text!r}: character {(self.at if at is None else at) + 1}: {message}"
        )

    def unexpected(self, expected: str) -> ConfigError:
        """The error for the text at the place."""
        rest = self.text[self.at :]
        found = repr(rest if len(rest) <= 20 else f"{rest[:20]}...") if rest else "the end"
        return self.fault(f"found {found}, expected {expected}")

    def sign(self) -> str:
        """The character after blanks, "" at the end."""
        found = _BLANKS.match(self.text, self.at)
        assert found is not None  # it matches nothing as well
        self.at = found.end()
        return self.text[self.at : self.at + 1]

    def read(self) -> Sum:
        """The whole expression."""
        while True:
            self.operand()
            sign = self.sign()
            while sign == ")" and len(self.stack) > 1:
                self.close()
                sign = self.sign()
            if sign == "+":
                self.end_product()
            elif sign == "" and len(self.stack) == 1:
                self.end_product()
                return Sum(tuple(self.stack[0].terms))
            elif sign != "*":
                raise self.unexpected("+, * or )" if len(self.stack) > 1 else "+, * or the end")
            self.at += 1

    def operand(self) -> None:
        """Read a number or a kernel, with the parentheses that open before it."""
        while self.sign() == "(":
            if len(self.stack) > DEEPEST:
                raise self.fault(f"found more than {DEEPEST} parentheses within each other")
            self.stack.append(_Frame())
            self.at += 1
        frame = self.stack[-1]
        if _NAME.match(self.text, self.at):
            frame.factors.append(self.kernel())
            return
        found = _NUMBER.match(self.text, self.at)
        if found is None:
            advice = "; negative kernels are not positive semi-definite" if self.sign() == "-" else ""
            raise self.unexpected(_OPERAND + advice)
        weight = number(found[0])
        if weight is None or weight <= 0:
            raise self.fault(f"found {found[0]!r}, expected a finite number above 0")
        self.at = found.end()
        frame.weight *= weight

    def close(self) -> None:
        """Read a closing parenthesis."""
        self.end_product()
        inner = Sum(tuple(self.stack.pop().terms))
        self.stack[-1].multiply(inner)
        self.at += 1

    def end_product(self) -> None:
        """End the product; its weight must be a number above 0."""
        if not 0 < self.stack[-1].weight < float("inf"):
            raise self.fault("found a product of numbers that is too large or too small", self.at - 1)
        self.stack[-1].end_product()

    def kernel(self) -> Leaf:
        """Read the name of a kernel and its arguments."""
        start = self.at
        found = _NAME.match(self.text, self.at)
        assert found is not None  # the caller has seen it
        name, self.at = found[0], found.end()
        known = ITEM_KERNELS.names()
        if name not in known:
            raise self.fault(f"unknown kernel of items {name!r}; {did_you_mean(name, known)}", start)
        of, settings = self.arguments() if self.sign() == "(" else ([], {})
        try:
            return made(name, tuple(of), settings)
        except ConfigError as error:
            raise self.fault(f"{name}: {error}", start) from None

    def arguments(self) -> tuple[list[str], dict[str, str]]:
        """Read arguments in parentheses: those without a name, and those with one."""
        of: list[str] = []
        settings: dict[str, str] = {}
        self.at += 1
        if self.sign() == ")":
            self.at += 1
            return of, settings
        while True:
            found = _ARGUMENT.match(self.text, self.at)
            if found is None:
                raise self.unexpected("arguments such as NAME or KEY=VALUE, separated by commas, and )")
            key, text = found["key"], _unquoted(found)
            if key in settings:
                raise self.fault(f"found {key} twice")
            if not text and found["raw"] is not None:
                raise self.unexpected("an argument")
            if key is None:
                of.append(text)
            else:
                settings[key] = text
            self.at = found.end()
            if found["end"] == ")":
                return of, settings


def _unquoted(found: re.Match[str]) -> str:
    """The text of an argument; a doubled quote within quotes is one."""
    if found["single"] is not None:
        return found["single"].replace("''", "'")
    if found["double"] is not None:
        return found["double"].replace('""', '"')
    return found["raw"].strip()


def made(name: str, of: tuple[str, ...], settings: dict[str, object] | dict[str, str]) -> Leaf:
    """Return a kernel by its name and arguments; raise ConfigError if one is wrong."""
    kernel = ITEM_KERNELS.get(name)(**settings)
    kernel.check(of)
    return Leaf(kernel, of)


def parse(text: str) -> Sum:
    """Return the expression that ``text`` spells.

    Raises
    ------
    ConfigError
        If it is not one, with the place of the fault: a kernel or a setting is unknown (the nearest name is
        given), a weight is not above 0, or parentheses are too many or too few.
    """
    found = _Reader(text).read()
    if not any(True for _ in found.leaves()):
        raise ConfigError(
            f"kernel {text!r}: found no kernel, expected one of {', '.join(ITEM_KERNELS.names())}"
        )
    return found
