"""Methods of fusion that need no judgements: by scores, by ranks, by votes."""

from __future__ import annotations

from typing import ClassVar

from rerank.core.settings import setting
from rerank.data.lists import CandidateLists
from rerank.extensions.fusion.model import FusionOfRuns
from rerank.learners.base import LEARNERS, FitInputs
from rerank.models.base import Model


class Unsupervised(FusionOfRuns):
    """Base of what fuses runs without judgements: every run has the weight 1."""

    def _fit(self, lists: CandidateLists, inputs: FitInputs) -> Model:
        return self.fused(lists)


class Combination(Unsupervised):
    """Base of what combines the scaled scores of the runs that returned an item."""

    source: ClassVar[str] = "Fox & Shaw 1994"
    default_scaling: ClassVar[str] = "list-minmax"


@LEARNERS.register("combanz", "anz", "comb_anz")
class CombAnz(Combination):
    """The mean of the scaled scores of the runs that returned an item.

    References
    ----------
    Fox & Shaw: Combination of multiple searches. TREC-2, 1994.
    """

    name = "combanz"
    summary = "mean of the scaled features that are not missing"


@LEARNERS.register("combmed", "med", "comb_med")
class CombMed(Combination):
    """The median of the scaled scores of the runs that returned an item.

    References
    ----------
    Fox & Shaw: Combination of multiple searches. TREC-2, 1994.
    """

    name = "combmed"
    summary = "median of the scaled features that are not missing"


@LEARNERS.register("combmin", "min", "comb_min")
class CombMin(Combination):
    """The smallest scaled score of the runs that returned an item.

    References
    ----------
    Fox & Shaw: Combination of multiple searches. TREC-2, 1994.
    """

    name = "combmin"
    summary = "smallest of the scaled features that are not missing"


@LEARNERS.register("combmax", "max", "comb_max")
class CombMax(Combination):
    """The largest scaled score of the runs that returned an item.

    References
    ----------
    Fox & Shaw: Combination of multiple searches. TREC-2, 1994.
    """

    name = "combmax"
    summary = "largest of the scaled features that are not missing"


@LEARNERS.register("combgmnz", "gmnz", "comb_gmnz")
class CombGmnz(Combination):
    """The sum of the scaled scores, times a power of the number of runs that returned the item.

    ``gamma`` 0 is combsum, 1 is combmnz.

    References
    ----------
    Lee: Analyses of multiple evidence combination. SIGIR 1997.
    """

    name = "combgmnz"
    summary = "sum of the scaled features, times a power of the number of those that are not missing"
    source = "Lee 1997"
    parameter = "gamma"

    gamma: float = setting(0.5, "power of the number of runs", ge=0)


class ByRank(Unsupervised):
    """Base of what looks at the order of scores in each run only."""

    scale_invariant: ClassVar[bool] = True


@LEARNERS.register("isr")
class InverseSquareRank(ByRank):
    """The sum over runs of 1 / rank squared, times the number of runs that returned the item.

    References
    ----------
    Mourão, Martins & Magalhães: Multimodal medical information retrieval with unsupervised rank fusion.
    Computerized Medical Imaging and Graphics 39, 2015.
    """

    name = "isr"
    summary = "inverse square ranks: sum of 1 / rank^2, times the number of runs with the item"
    source = "Mourão et al. 2015"


@LEARNERS.register("log_isr", "log-isr")
class LogInverseSquareRank(ByRank):
    """The sum over runs of 1 / rank squared, times the logarithm of the number of runs with the item.

    What one run alone returned gets 0, whatever its rank there is.

    References
    ----------
    Mourão, Martins & Magalhães: Multimodal medical information retrieval with unsupervised rank fusion.
    Computerized Medical Imaging and Graphics 39, 2015.
    """

    name = "log_isr"
    summary = "inverse square ranks, times the logarithm of the number of runs with the item"
    source = "Mourão et al. 2015"


@LEARNERS.register("logn_isr", "logn-isr")
class LogNInverseSquareRank(ByRank):
    """As log_isr, with the logarithm of the number plus ``sigma``, which is not 0 for one run.

    References
    ----------
    Mourão, Martins & Magalhães: Multimodal medical information retrieval with unsupervised rank fusion.
    Computerized Medical Imaging and Graphics 39, 2015.
    """

    name = "logn_isr"
    summary = "inverse square ranks, times the logarithm of the number of runs with the item plus sigma"
    source = "Mourão et al. 2015"
    parameter = "sigma"

    sigma: float = setting(0.01, "added to the number of runs", ge=0, le=1)


@LEARNERS.register("rbc")
class RankBiasedCentroid(ByRank):
    """The sum over runs of (1 - phi) phi^(rank - 1), the weights of rank-biased precision.

    References
    ----------
    Bailey, Moffat, Scholer & Thomas: Retrieval consistency in the presence of query variations. SIGIR 2017.
    """

    name = "rbc"
    summary = "rank-biased centroid: sum over features of (1 - phi) phi^(rank - 1)"
    source = "Bailey et al. 2017"
    parameter = "phi"

    phi: float = setting(0.9, "persistence; the larger, the more lower ranks count", gt=0, lt=1)


@LEARNERS.register("bordafuse", "borda")
class BordaFuse(ByRank):
    """Borda's count: of n candidates a run's best one gets n points, the next n - 1, and so on.

    Candidates that a run did not return share its remaining points evenly.

    References
    ----------
    Aslam & Montague: Models for metasearch. SIGIR 2001.
    """

    name = "bordafuse"
    summary = "Borda count: points for each candidate that a run ranks below"
    source = "Aslam & Montague 2001"


@LEARNERS.register("condorcet")
class Condorcet(ByRank):
    """Items sorted by the majority of the runs, which the better of two has for it.

    Cycles are resolved by the order of bordafuse, from which a merge sort starts.

    References
    ----------
    Montague & Aslam: Condorcet fusion for improved retrieval. CIKM 2002.
    """

    name = "condorcet"
    summary = "majority of the runs on each two items, by a merge sort of Borda's order"
    source = "Montague & Aslam 2002"
