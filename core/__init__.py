"""Foundations of every app, about none of them. Imports none of them."""
