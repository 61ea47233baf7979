"""Questions and passages as trees that are linked to each other, and how much their words overlap."""
