"""The tables of the papers: published values, and ours beside them."""
