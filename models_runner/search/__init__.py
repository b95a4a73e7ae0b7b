"""Searching: typed words against a trained model, ranked moments, and why."""
