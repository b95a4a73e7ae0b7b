"""Features of clips and words: ordered or named by their file, made by a task that can be killed, checked, removed."""
