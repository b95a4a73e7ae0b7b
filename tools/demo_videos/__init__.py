"""Draws the videos of the demo. ``python -m tools.demo_videos --seed 7 --videos 6`` draws those of another seed."""
