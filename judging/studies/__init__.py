"""Coverage studies and pools from runs: what else would have to be judged."""
