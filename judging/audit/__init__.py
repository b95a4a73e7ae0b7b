"""Who decided what, found again by leads and admins."""
