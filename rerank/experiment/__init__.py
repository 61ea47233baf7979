"""Experiments: the steps joined, from files to lists, a model, scores and numbers.

The only package that sees all others. Each verb of the command line, and each public Python function, is one
call of this package. Names are imported when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rerank.core.lazy_imports import attach

if TYPE_CHECKING:
    from rerank.experiment.calls import append, predict, split, validate
    from rerank.experiment.converting import (
        append_file,
        convert_file,
        export_weights,
        import_weights,
        label_file,
        save,
        split_file,
    )
    from rerank.experiment.derive import label
    from rerank.experiment.evaluating import (
        compare,
        compare_files,
        default_metrics,
        evaluate,
        evaluate_files,
    )
    from rerank.experiment.features import consensus_file, parse_files
    from rerank.experiment.importance import permutation_importance, standardised_weights
    from rerank.experiment.predicting import count_pairs, predict_file, validate_file
    from rerank.experiment.questions import qa_file
    from rerank.experiments.config import ExperimentConfig, read_experiment
    from rerank.experiments.folder import RunFolder, read_run
    from rerank.experiments.list_weights import weigh_lists, weigh_lists_files
    from rerank.experiments.overview import Overview
    from rerank.experiments.reporting import report
    from rerank.experiments.results import results_of
    from rerank.experiments.run import RunSummary, run
    from rerank.experiments.similarity import similarity, similarity_files
    from rerank.training.ablation import ablation, ablation_files
    from rerank.training.options import Plan
    from rerank.training.train import (
        TrainResult,
        fit,
        learner_of,
        make_learner,
        train,
        train_files,
        train_from,
    )

__all__ = [
    "ExperimentConfig",
    "Overview",
    "Plan",
    "RunFolder",
    "RunSummary",
    "TrainResult",
    "ablation",
    "ablation_files",
    "append",
    "append_file",
    "compare",
    "compare_files",
    "consensus_file",
    "convert_file",
    "count_pairs",
    "default_metrics",
    "evaluate",
    "evaluate_files",
    "export_weights",
    "fit",
    "import_weights",
    "label",
    "label_file",
    "learner_of",
    "make_learner",
    "parse_files",
    "permutation_importance",
    "predict",
    "predict_file",
    "qa_file",
    "read_experiment",
    "read_run",
    "report",
    "results_of",
    "run",
    "save",
    "similarity",
    "similarity_files",
    "split",
    "split_file",
    "standardised_weights",
    "train",
    "train_files",
    "train_from",
    "validate",
    "validate_file",
    "weigh_lists",
    "weigh_lists_files",
]

attach(
    __name__,
    {
        "ablation": "ablation ablation_files",
        "calls": "append predict split validate",
        "converting": "append_file convert_file export_weights import_weights label_file save split_file",
        "derive": "label",
        "evaluating": "compare compare_files default_metrics evaluate evaluate_files",
        "features": "consensus_file parse_files",
        "importance": "permutation_importance standardised_weights",
        "list_weights": "weigh_lists weigh_lists_files",
        "plans": "Plan",
        "predicting": "count_pairs predict_file validate_file",
        "questions": "qa_file",
        "reporting": "report",
        "running.config": "ExperimentConfig read_experiment",
        "running.folder": "RunFolder read_run",
        "running.overview": "Overview",
        "running.results": "results_of",
        "running.run": "RunSummary run",
        "similarity": "similarity similarity_files",
        "training": "TrainResult fit learner_of make_learner train train_files train_from",
    },
)
