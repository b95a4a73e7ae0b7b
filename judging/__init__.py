"""Who judges, and what it means."""
