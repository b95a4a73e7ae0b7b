"""Judging itself: a batch is taken, its pairs are graded, it is finished, its pairs are decided."""
