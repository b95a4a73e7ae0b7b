"""Statistics of texts and of collections, as the papers' tables have them."""
