"""Runs: uploaded or made, read, scored on releases, compared; and how participants take part."""
