"""Length-controlled win rates of AlpacaEval's annotations, beside those of its leaderboard.

    python scripts/published_alpaca.py FOLDER

FOLDER holds preferences.tsv.gz: one judge's preferences of 40 systems against one baseline. Published are the
columns win_rate and length_controlled_winrate of AlpacaEval 2's leaderboard
(weighted_alpaca_eval_gpt4_turbo); two systems are not in it. AlpacaEval fits each system by itself, also by
how difficult prompts are and to annotations of the baseline told to be brief or verbose, which the file does
not have.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

import rerank

BASELINE = "gpt4_1106_preview"
PUBLISHED = {
    "OpenHermes-2.5-Mistral-7B": (10.340, 16.249),
    "Qwen-14B-Chat": (7.502, 12.379),
    "alpaca-7b_concise": (1.991, 4.467),
    "alpaca-7b_verbose": (2.933, 6.816),
    "alpaca-farm-ppo-human": (4.100, 6.419),
    "baize-v2-13b": (4.591, 7.012),
    "chatglm2-6b": (2.762, 4.359),
    "claude": (16.985, 27.290),
    "claude-2": (17.188, 28.155),
    "claude-2.1": (15.734, 25.252),
    "claude-2.1_concise": (9.227, 18.208),
    "falcon-40b-instruct": (3.343, 5.608),
    "falcon-7b-instruct": (2.147, 4.037),
    "gemma-7b-it": (6.937, 10.426),
    "gpt-3.5-turbo-1106_verbose": (12.763, 22.001),
    "gpt35_turbo_instruct": (8.462, 17.728),
    "gpt4_0613_concise": (9.400, 21.578),
    "humpback-llama2-70b": (10.122, 16.249),
    "minichat-3b": (3.007, 5.729),
    "minotaur-13b": (5.739, 11.465),
    "oasst-rlhf-llama-33b": (6.296, 7.971),
    "oasst-sft-llama-33b": (4.770, 9.866),
    "oasst-sft-pythia-12b": (1.790, 3.270),
    "openbuddy-llama-30b-v7.1": (6.130, 10.214),
    "openbuddy-llama2-13b-v11.1": (6.175, 9.159),
    "openbuddy-llama2-70b-v10.1": (8.096, 12.572),
    "phi-2": (2.350, 4.399),
    "phi-2-sft": (3.978, 5.854),
    "pythia-12b-mix-sft": (2.578, 4.221),
    "text_davinci_001": (2.764, 9.026),
    "ultralm-13b": (5.075, 7.108),
    "vicuna-13b": (5.831, 9.222),
    "vicuna-7b": (4.163, 6.277),
    "vicuna-7b-v1.3": (4.643, 7.156),
    "vicuna-7b-v1.5": (4.797, 7.617),
    "wizardlm-13b": (5.878, 9.828),
}


def ranks(values: np.ndarray) -> np.ndarray:
    """Return ranks from 0; no two values are equal."""
    return np.argsort(np.argsort(values))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    path = str(parser.parse_args().folder / "preferences.tsv.gz")
    plain, controlled = np.array(list(PUBLISHED.values())).T
    print("win rates               against    mean difference  largest  rank correlation")
    for length, name, published in (
        ("none", "win_rate", plain),
        ("none", "length_controlled", controlled),
        ("shared", "length_controlled", controlled),
        ("each", "length_controlled", controlled),
    ):
        found = rerank.rate(path, reference=BASELINE, length=length, intervals="none")  # type: ignore[arg-type]
        rates = dict(zip(found.items, (100 * found.win_rates).tolist(), strict=True))
        own = np.array([rates[system] for system in PUBLISHED])
        rho = np.corrcoef(ranks(own), ranks(published))[0, 1]
        gaps = own - published
        print(f"--length {length:14} {name:17} {gaps.mean():+9.3f} {np.abs(gaps).max():8.3f} {rho:17.3f}")


if __name__ == "__main__":
    main()
