"""Pooling from runs: chosen by a lead, read, and passed down as plain rows."""
