"""Training over the shards of a sharded store, wherever they are."""
