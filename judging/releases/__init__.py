"""Writes and reads releases in the published file forms: the contract with models_runner and with the world.

The forms are those of TVR-Ranking (July 2024) and some of ours; docs/data-formats.md lists every column.
"""

from judging.releases.forms import JUDGED_SPLITS, MANIFEST
from judging.releases.scope import Scope, finished_queries, scope_of

__all__ = ["JUDGED_SPLITS", "MANIFEST", "Scope", "finished_queries", "scope_of"]
