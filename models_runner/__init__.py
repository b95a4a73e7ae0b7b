"""Retrieval models: trained and scored, started by an admin."""
