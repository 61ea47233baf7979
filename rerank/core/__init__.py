"""The base of all packages: errors, settings, registries, files, workers and tables."""
