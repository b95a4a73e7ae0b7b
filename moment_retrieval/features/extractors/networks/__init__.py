"""Networks that transformers does not have, one a file; their parameters are called as in the checkpoints that are published."""
