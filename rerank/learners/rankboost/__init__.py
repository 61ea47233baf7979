"""RankBoost: boosting of weak rankers over pairs."""
