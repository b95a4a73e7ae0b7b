"""The lead decides which queries get a second batch."""
