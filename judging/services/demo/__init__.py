"""The demo project: rendered videos, simulated annotators, and work left for the person who tries it."""

from judging.services.demo.progress import demo_advance, demo_render
from judging.services.demo.seeding import demo_seed

__all__ = ["demo_advance", "demo_render", "demo_seed"]
