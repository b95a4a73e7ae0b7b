"""Exports of Label Studio: which field says what, and reading them piece by piece. Pure."""
