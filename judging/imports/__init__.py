"""Judgments brought from elsewhere: Label Studio, historic files, a release of another site."""
