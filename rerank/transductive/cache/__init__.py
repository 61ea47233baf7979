"""Rankers that were made for lists, stored so that they can be used again (Duh 2009, section 9.3.1)."""
