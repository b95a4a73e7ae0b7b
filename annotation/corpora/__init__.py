"""Corpora: videos, moments, descriptions, subtitles; imported from files, checked, confirmed."""
