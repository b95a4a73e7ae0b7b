"""One query of typed words against the corpus of a finished training, with what each hit was found by.

``answers`` and ``held`` need no torch; ``searchers`` is for the process that keeps models in memory.
"""
