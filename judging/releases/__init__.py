"""Releases in the published file forms: the contract with models_runner and with the world.

The forms are those of TVR-Ranking (July 2024) and some of ours; docs/data-formats.md lists every column.
"""
