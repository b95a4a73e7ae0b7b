"""Files in storage, whatever other tests left there, and copies of a video that are files of their own."""

from django.core.files.storage import default_storage


def names_in(folder: str) -> set[str]:
    """Files of a folder; none where nobody has stored anything yet."""
    return set(default_storage.listdir(folder)[1]) if default_storage.exists(folder) else set()


def padded(clip: bytes, number: int) -> bytes:
    """Return the MP4 as another file that shows the same: with a box at its end that players skip."""
    return clip + (12).to_bytes(4, "big") + b"free" + number.to_bytes(4, "big")
