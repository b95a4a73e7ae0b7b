"""Every task run twice, late, for rows that are gone, and in the wrong order: as if run once."""
