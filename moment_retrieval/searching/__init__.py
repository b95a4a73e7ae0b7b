"""One query of typed words against the corpus of a finished training, with what each hit was found by.

``queries`` needs no torch; the others are for the process that keeps models in memory.
"""
