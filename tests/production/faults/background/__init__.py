"""Servers are killed in the middle of work in the background: it is done afterwards, once, and wholly."""
