"""Metrics over runs and judged moments: numpy and plain Python, no torch, no Django."""
