"""The one data type of the package, CandidateLists, and what it is made of."""
