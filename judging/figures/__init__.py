"""Figures of the judging: each a page, an SVG and a CSV of its numbers."""
