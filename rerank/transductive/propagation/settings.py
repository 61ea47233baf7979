"""The settings of ranker propagation, which its model needs as well as its learner."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from rerank.core.errors import ConfigError
from rerank.core.settings import setting, value_text
from rerank.learners.base import Learner
from rerank.learners.meta_learner import Base, MetaLearner
from rerank.similarity.base import KERNELS, Kernel
from rerank.transductive.propagation.rankers import Norm, why_no_rankers

_OF_KERNELS = ("components", "ridge")
_OF_GRAPH = ("kernel", *_OF_KERNELS, "neighbours", "graph", "drop_below", "form", "merge")


def _no_truth_value(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"neighbours: found {value_text(value)}, expected all or a number of at least 1")
    return value


class PropagationSettings(MetaLearner):
    """What ``propagate`` is given; a setting that the others make useless is refused."""

    watches: ClassVar[bool] = False
    accepts_nan: ClassVar[bool] = False

    base: Base = setting(
        "ranksvm", "learner of the rankers: a name, or its name and settings; base.C is one of them"
    )
    normalise: Norm = setting(
        "l2", "divide the weights of each ranker by their norm, so that every list counts as much"
    )
    kernel: str = setting("list", "similarity of lists, a name of 'rerank list kernels'")
    components: int = setting(5, "principal axes of each list; not for kernel=bhattacharyya", ge=1)
    ridge: float = setting(0.01, "kernel=bhattacharyya: added to the variance of each feature", gt=0)
    neighbours: Literal["all"] | int = setting(
        10,
        "each list has edges to so many nearest lists, or to all; form=inductive: rankers that are merged",
        parse=_no_truth_value,
    )
    graph: Literal["union", "mutual"] = setting(
        "union", "edge between two lists if one is a neighbour of the other, or (mutual) both of each other"
    )
    drop_below: float = setting(
        0.0,
        "leave features out of the kernel whose weight in a ranking SVM of all training lists is smaller, in "
        "magnitude",
        ge=0,
    )
    form: Literal["transductive", "inductive"] = setting(
        "transductive",
        "solve for the rankers of all lists of a file together, or merge the rankings by the rankers of the "
        "nearest training lists, for each list alone",
    )
    merge: Literal["borda", "mean", "kemeny"] = setting(
        "borda", "form=inductive: how rankings are merged: by places, by scores, or with least disagreement"
    )
    control: Literal["none", "random", "mean", "global", "oracle"] = setting(
        "none",
        "rank without a graph: by the ranker of a random training list, the mean of these rankers, the "
        "ranker of all lists, or one trained on the labels of the list itself (oracle: uses test labels)",
    )
    seed: int = setting(1, "seed of control=random, and of the base learner unless it has its own", ge=0)

    def check_values(self) -> None:
        super().check_values()
        if self.neighbours != "all" and self.neighbours < 1:
            raise ConfigError(f"neighbours: found {self.neighbours}, expected all or a number of at least 1")
        own = KERNELS.get(self.kernel).settings
        if self.control != "none":
            self._refuse(_OF_GRAPH, f"control={self.control} uses no graph")
        others = [name for name in _OF_KERNELS if name not in own]
        self._refuse(others, f"kernel={self.kernel} has no such setting")
        if self.form == "transductive":
            self._refuse(["merge"], "only form=inductive merges rankings")
        if self.neighbours == "all":
            self._refuse(["graph"], "neighbours=all has all edges")

    def _refuse(self, names: Sequence[str], why: str) -> None:
        """Raise ConfigError if one of the settings has another value than its default."""
        for name in names:
            value = getattr(self, name)
            if value != type(self).settings[name].default:
                raise ConfigError(f"{name}={value_text(value)} would have no effect: {why}")

    @property
    def uses_test_labels(self) -> bool:
        return self.control == "oracle"

    @property
    def list_kernel(self) -> Kernel:
        """The kernel with its settings."""
        kind = KERNELS.get(self.kernel)
        return kind(**{name: getattr(self, name) for name in _OF_KERNELS if name in kind.settings})

    def _why_no_base(self, base: Learner) -> str:
        return super()._why_no_base(base) or why_no_rankers(base)
