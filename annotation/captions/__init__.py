"""Captions: descriptions rewritten so that they name nobody, checked, and reviewed by people."""
