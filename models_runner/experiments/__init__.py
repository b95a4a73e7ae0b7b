"""Trainings: ordered, carried out by a child process, watched, resumed, deleted."""
