"""What make_spelling.py and make_tiny.py share: features of a pair of words, and sets of lists.

Standard library only, so that the tiny set can be made, and checked, without the extra ``demo``.
"""
