"""What every package stands on: errors, settings, registries, files, workers and tables."""
