"""A project: its policy and settings, its overview, its queries."""
