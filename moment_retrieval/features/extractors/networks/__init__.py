"""Networks that transformers does not have, one a file, with parameters called as in the published checkpoints."""
