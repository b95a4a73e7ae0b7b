"""Who takes part: invitations, standing, and what is kept of a person."""
