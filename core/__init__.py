"""What every app stands on and no app is about. Imports none of them."""
