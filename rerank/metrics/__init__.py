"""Families of metrics, one file each; see ``base`` for what a metric is and how one is added."""
