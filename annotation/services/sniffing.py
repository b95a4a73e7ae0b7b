"""What an upload is, by its first bytes: its name and the type that a browser gives it are anybody's to choose."""

from typing import IO

from django.core.exceptions import ValidationError

HEAD = 512
PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"PK\x05\x06")  # gzip, zip
MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")  # of texts in UTF-8, UTF-16
SPACES = frozenset(b"\t\n\r\f")
REFUSED = "This is neither a text nor a .gz or .zip of one."


def text_or_packed(upload: IO[bytes]) -> None:
    """Pass what may be a text, plain or packed; readers look closer.

    Raises:
        ValidationError: it is a picture, a program, a document, or anything else that is no text.
    """
    upload.seek(0)
    head = upload.read(HEAD)
    upload.seek(0)
    if not head.startswith((*PACKED, *MARKS)) and (head.startswith(b"%PDF") or holds_control(head)):
        raise ValidationError(REFUSED, code="no_text")


def holds_control(head: bytes) -> bool:
    return any(byte < 32 and byte not in SPACES for byte in head)
