"""Refusals of the database, one file per area; ``test_constraints`` tries every entry and misses none.

A new constraint is an entry of REFUSED: how a row that breaks it comes to be written. A new trigger is named in
TRIGGERS, and what it refuses is an entry of MORE, under words of its message; so is a second way to break a constraint.
A new area is a file here.
"""
