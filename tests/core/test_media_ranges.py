"""The part of a file that a Range header asks for."""

import pytest

from core.files import requested_bytes

SERVED = {  # of a file of 100 bytes: first and last, both served
    "0-": (0, 99), "0-0": (0, 0), "0-1": (0, 1), "10-19": (10, 19), "99-": (99, 99), "99-99": (99, 99),
    "50-100": (50, 99), "0-999999999999999999": (0, 99), "-1": (99, 99), "-100": (0, 99), "-500": (0, 99),
}  # fmt: skip
# nothing is a range; one of ours begins with "bytes=" and holds HTTP's digits, of which \u0661 is none
WHOLE = ["", "bytes", "bytes=", "bytes=-", "bytes=19-10", "bytes=0-1,5-6", "bytes=0-1,", "bytes=a-b", "bytes=-1-2"]
WHOLE += ["bytes=0x1-2", "bytes=1.5-2", "bytes=\u0661-2", "bytes=0-1\n", "items=0-1", "0-1", f"bytes=0-{'9' * 5000}"]


@pytest.mark.parametrize("byte_range", SERVED)
def test_a_range_is_served(byte_range: str) -> None:
    for unit in ("bytes", "Bytes"):
        part = requested_bytes(f"{unit}={byte_range}", 100)
        assert part and (part[0], part[-1]) == SERVED[byte_range]


@pytest.mark.parametrize("header", WHOLE, ids=lambda header: repr(header)[:24])
def test_what_is_no_range_gets_the_whole_file(header: str) -> None:
    assert requested_bytes(header, 100) is None


@pytest.mark.parametrize("beyond", ["100-", "100-200", "-0"])
def test_a_range_beyond_the_file_gets_nothing(beyond: str) -> None:
    part = requested_bytes(f"bytes={beyond}", 100)
    assert part is not None and not part
