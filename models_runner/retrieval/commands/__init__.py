"""What ``python -m models_runner.retrieval`` can do; each module has ``add_arguments`` and ``output``."""
