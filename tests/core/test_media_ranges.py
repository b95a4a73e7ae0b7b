"""The part of a file that a Range header asks for."""

import pytest

from core.files import requested_bytes

WHOLE, NOTHING = None, "nothing"
RANGES = {  # of a file of 100 bytes: first and last, both served
    "bytes=0-": (0, 99),
    "bytes=0-0": (0, 0),
    "bytes=0-1": (0, 1),
    "bytes=10-19": (10, 19),
    "bytes=99-": (99, 99),
    "bytes=99-99": (99, 99),
    "bytes=50-100": (50, 99),
    "bytes=0-999999999999999999": (0, 99),
    "bytes=-1": (99, 99),
    "bytes=-100": (0, 99),
    "bytes=-500": (0, 99),
    "Bytes=5-6": (5, 6),
    "bytes=100-": NOTHING,
    "bytes=100-200": NOTHING,
    "bytes=-0": NOTHING,
    "": WHOLE,
    "bytes": WHOLE,
    "bytes=": WHOLE,
    "bytes=-": WHOLE,
    "bytes=19-10": WHOLE,
    "bytes=0-1,5-6": WHOLE,
    "bytes=0-1,": WHOLE,
    "bytes=a-b": WHOLE,
    "bytes=-1-2": WHOLE,
    "bytes=0x1-2": WHOLE,
    "bytes=1.5-2": WHOLE,
    "bytes=\u0661-2": WHOLE,  # a digit, but none of HTTP's
    "bytes=0-1\n": WHOLE,
    "items=0-1": WHOLE,
    "0-1": WHOLE,
    f"bytes=0-{'9' * 5000}": WHOLE,
}


@pytest.mark.parametrize(("header", "correct_range"), RANGES.items(), ids=lambda value: repr(value)[:24])
def test_bytes_requested(header: str, correct_range: tuple[int, int] | str | None) -> None:
    part = requested_bytes(header, 100)
    if correct_range is WHOLE:
        assert part is None
    elif part is None or not part:
        assert part is not None and correct_range == NOTHING
    else:
        assert (part[0], part[-1]) == correct_range
