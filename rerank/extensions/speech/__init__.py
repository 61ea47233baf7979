"""Speech: N-best lists of recognisers, references by utterance, normalisers of texts, grids of scales."""
