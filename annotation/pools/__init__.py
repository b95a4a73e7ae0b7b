"""Pools: which moments may be judged for a query, and in what order."""
