"""N-best lists of text for scripts: the sets, and what is seen of them round by round."""
