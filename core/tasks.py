"""Modules whose services are tasks (``core.jobs.durable``) or are called by one: imported by every worker."""

from core import jobs, media_files

__all__ = ["jobs", "media_files"]
