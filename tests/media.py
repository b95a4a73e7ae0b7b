"""Files in storage, whatever other tests left there."""

from django.core.files.storage import default_storage


def names_in(folder: str) -> set[str]:
    """Files of a folder; none where nobody has stored anything yet."""
    return set(default_storage.listdir(folder)[1]) if default_storage.exists(folder) else set()
