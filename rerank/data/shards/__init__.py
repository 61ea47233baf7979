"""Sets of lists larger than memory: a sharded store is a folder of stores and a manifest."""
