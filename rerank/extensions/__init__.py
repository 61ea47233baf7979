"""A subject each: its formats, metrics, learners, models, features and kernels in one folder.

Nothing outside imports an extension: the registries find what it has by name.
"""
