"""What tables of many fits share: cells on disk that are run once, and rows with intervals and tests."""
