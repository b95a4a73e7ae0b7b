"""The way to judging: screening test, tutorial, exam, warm-ups; who passes."""
