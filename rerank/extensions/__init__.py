"""A subject each: its formats, metrics, learners, models, features and kernels in one folder.

Nothing but verbs and the names of ``rerank`` imports an extension: registries find its entries by name.
"""
