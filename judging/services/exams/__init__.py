"""Exams: opened, closed, and what they say of the people who sat them."""

from judging.services.exams.closing import exam_close
from judging.services.exams.opening import exam_create, exam_prepare, exams_sweep
from judging.services.exams.reports import exam_report, sitting_report

__all__ = ["exam_close", "exam_create", "exam_prepare", "exam_report", "exams_sweep", "sitting_report"]
