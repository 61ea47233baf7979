"""One table type and its renderers."""
