"""Parquet files, by pyarrow."""
