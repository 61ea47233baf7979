"""What lines of JSON hold, learnt from those read so far, as the tree that a kernel reads others by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from rerank.data.columns.schema import TREE
from rerank.formats.jsonl.columns import Columns
from rerank.formats.jsonl.keys import PROMPTS, REFERENCES
from rerank.formats.jsonl.trees import TREES
from rerank.native.formats._jsonl import KINDS, NODES

NO_VALUE, NULL, FALSE, TRUE, WHOLE, REAL, STRING, NESTED = (1 << k for k in range(len(KINDS)))
_NUMBER = FALSE | TRUE | WHOLE | REAL
_ANY = NULL | _NUMBER | STRING | NESTED | NO_VALUE
_OBJECT, _ARRAY, _SCALAR, _FEATURES, _LOGPROBS, _SKIPPED = range(len(NODES))
LOGPROBS = ("logprob_sum", "n_tokens", "logprob_mean", "logprob_min")
Node = tuple[int, int, int, int, tuple[tuple[bytes, int], ...]]


class UnplannedError(Exception):
    """Lines that only Python can read."""


@dataclass
class Plan:
    """A tree of nodes, see ``native.formats._jsonl.Shredder``, and what they are for.

    Parameters
    ----------
    nodes : node 0 is a line.
    of : the nodes of roles of candidates and lists; no entry = no such key.
    extra : the keys of candidates that are features, with their nodes.
    ignored : the keys that are counted, with their nodes; lists and candidates may have the same one.
    forbidden : names that no object of features may have.
    lists : as ``ignored``, for keys that count only at the first line of a list.
    """

    nodes: list[Node] = field(default_factory=list)
    of: dict[str, int] = field(default_factory=dict)
    extra: dict[str, int] = field(default_factory=dict)
    ignored: list[tuple[str, int]] = field(default_factory=list)
    forbidden: tuple[str, ...] = ()
    lists: list[tuple[str, int]] = field(default_factory=list)

    def add(self, kind: int, allowed: int, size: int = 0, element: int = -1) -> int:
        """Add a node and return its number; ``size`` and ``element`` are as in the kernel."""
        self.nodes.append((kind, allowed, size, element, ()))
        return len(self.nodes) - 1

    def scalar(self, allowed: int, spelt: bool = False) -> int:
        """Add a node for one value."""
        return self.add(_SCALAR, allowed, spelt)

    def skip(self, columns: Columns, key: str, allowed: int, into: list[tuple[str, int]]) -> int:
        """Add a node for what is counted as ignored; raises UnplannedError if it was not yet."""
        if key not in columns.ignored:
            raise UnplannedError(key)
        into.append((key, self.add(_SKIPPED, allowed)))
        return into[-1][1]


def plan_of_lists(
    columns: Columns, candidates: str, list_key: str | None, lines: Mapping[str, Any], items: Iterable[str]
) -> Plan:
    """Return the plan of lines that hold a list each.

    Parameters
    ----------
    columns : what has been read.
    candidates, list_key : the keys of the array and of the list's id.
    lines : the keys that lines had, with the last value of each.
    items : the keys that candidates had.

    Raises
    ------
    UnplannedError
        If Python must read all lines.
    """
    plan = Plan()
    plan.add(_OBJECT, 0, -1)
    keys = []
    for key, value in lines.items():
        if key == candidates:
            nodes, bare = _item_nodes(plan, columns, items)
            item = plan.add(_OBJECT, 0, bare)
            plan.nodes[item] = (*plan.nodes[item][:4], tuple(nodes))
            node = plan.of["candidates"] = plan.add(_ARRAY, NESTED, 0, item)
        elif key == list_key:
            node = _name_node(plan, key)
        elif key in (*REFERENCES, *PROMPTS):
            node = _list_node(plan, columns, key, value, lines)
        else:
            node = plan.skip(columns, key, _ANY, plan.ignored)
        keys.append((key.encode(), node))
    plan.nodes[0] = (*plan.nodes[0][:4], tuple(keys))
    return plan


def plan_of_items(columns: Columns, list_key: str, lines: Mapping[str, Any]) -> Plan:
    """Return the plan of lines that hold a candidate each; see ``plan_of_lists``."""
    plan = Plan()
    plan.add(_OBJECT, 0, -1)
    of_list = {list_key, *REFERENCES, *PROMPTS}
    nodes, _ = _item_nodes(plan, columns, (key for key in lines if key not in of_list))
    for key, value in lines.items():
        if key == list_key:
            nodes.append((key.encode(), _name_node(plan, key)))
        elif key in of_list:
            nodes.append((key.encode(), _list_node(plan, columns, key, value, lines)))
    order = {key.encode(): place for place, key in enumerate(lines)}
    plan.nodes[0] = (*plan.nodes[0][:4], tuple(sorted(nodes, key=lambda pair: order[pair[0]])))
    return plan


def _name_node(plan: Plan, key: str) -> int:
    """Return the node of the list's id."""
    if key in (*REFERENCES, *PROMPTS):
        raise UnplannedError(key)  # the id of a list, and something else too
    plan.of["list"] = plan.scalar(STRING | WHOLE, spelt=True)
    return plan.of["list"]


def _list_node(plan: Plan, columns: Columns, key: str, value: Any, lines: Mapping[str, Any]) -> int:
    """Return the node of a prompt or of references."""
    if key in PROMPTS:
        if key == PROMPTS[1] and PROMPTS[0] in lines:
            return plan.skip(columns, key, _ANY, plan.lists)
        if key in columns.ignored:
            return plan.skip(columns, key, _ANY & ~(STRING | NULL | NO_VALUE), plan.lists)
        plan.of["prompt"] = plan.scalar(STRING | NULL)
        return plan.of["prompt"]
    if all(name in lines for name in REFERENCES):
        raise UnplannedError(key)
    if columns.references is None:
        return plan.add(_SKIPPED, NULL | NO_VALUE)
    plan.of["references"] = plan.scalar(STRING)
    if not isinstance(value, list):
        return plan.of["references"]
    return plan.add(_ARRAY, NESTED, len(columns.references), plan.of["references"])


def _item_nodes(plan: Plan, columns: Columns, keys: Iterable[str]) -> tuple[list[tuple[bytes, int]], int]:
    """Return the nodes of a candidate's keys, and the place of the key "text" if a string stands for it."""
    of = columns.roles.of
    keys = list(keys)
    roles = {key: of.get(key) for key in keys}
    nodes = []
    bare = -1
    for place, (key, role) in enumerate(roles.items()):
        if role is None:
            node = _other_node(plan, columns, key)
        elif role == "spare":
            node = plan.skip(columns, key, _ANY, plan.ignored)
        elif role == "logprobs":
            node = _logprobs_node(plan, columns, key)
        elif role in (TREE, TREES):
            raise UnplannedError(key)
        else:
            node = plan.of[role] = _role_node(plan, columns, role, "features" in roles.values())
        nodes.append((key.encode(), node))
        if role == key == "text":
            bare = place
    plan.forbidden = (*plan.extra, *(LOGPROBS if "logprobs" in plan.of else ()))
    if len(set(plan.forbidden)) < len(plan.forbidden):
        raise UnplannedError(", ".join(LOGPROBS))
    return nodes, bare


def _role_node(plan: Plan, columns: Columns, role: str, with_features: bool) -> int:
    if role == "text":
        return plan.scalar(STRING)
    if role == "id":
        return plan.scalar(STRING | WHOLE, spelt=True) if len(columns.ids) else plan.scalar(NULL | NO_VALUE)
    if role == "answer":
        return plan.scalar(_ANY & ~NESTED, spelt=True)
    if role == "features":
        return plan.add(_FEATURES, NESTED)
    if role == "score" and not with_features and "score" not in columns.numeric:
        return plan.scalar(NULL | NO_VALUE)
    if role in ("label", "score"):
        return plan.scalar(_NUMBER | NULL | NO_VALUE)
    raise UnplannedError(role)


def _other_node(plan: Plan, columns: Columns, key: str) -> int:
    """Return the node of a key without a role, which is a feature or ignored."""
    null = NULL if key in columns.ignored else 0
    if key not in columns.numeric:
        return plan.skip(columns, key, NULL | STRING | NESTED | NO_VALUE, plan.ignored)
    plan.extra[key] = plan.scalar(_NUMBER | null | NO_VALUE)
    return plan.extra[key]


def _logprobs_node(plan: Plan, columns: Columns, key: str) -> int:
    if key in columns.numeric:
        return _other_node(plan, columns, key)
    if columns.numeric.issuperset(LOGPROBS):
        plan.of["logprobs"] = plan.add(_LOGPROBS, NESTED | NO_VALUE)
        return plan.of["logprobs"]
    return plan.skip(columns, key, NULL | STRING | NO_VALUE, plan.ignored)
