"""Queries: which captions are searched for, in which split, in which named set."""
