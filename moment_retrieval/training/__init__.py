"""Training of the baselines: a folder with a plan in, events, checkpoints and predictions out (docs/training.md).

``plan``, ``events`` and ``curves`` need no torch; everything else does.
"""
