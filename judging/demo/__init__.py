"""The demo project: rendered videos, simulated annotators, and work left for the person who tries it."""
