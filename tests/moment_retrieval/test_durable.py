"""A full disk is told from other errors, in the words of whichever library met it."""

import errno
import os

import numpy as np
import pytest
from safetensors import SafetensorError

from moment_retrieval.jsonfiles import is_out_of_room

SERIALIZING = "Error while serializing: I/O error: {} (os error {})"


def of_system(number: int) -> OSError:
    return OSError(number, os.strerror(number))


def of_safetensors(number: int) -> SafetensorError:
    return SafetensorError(SERIALIZING.format(os.strerror(number), number))


@pytest.mark.parametrize(
    ("error", "is_full_disk"),
    [
        (of_system(errno.ENOSPC), True),
        (of_system(errno.EDQUOT), True),
        (OSError(errno.ENOSPC, "full"), True),
        (of_safetensors(errno.ENOSPC), True),
        (of_safetensors(errno.EDQUOT), True),
        (OSError("123 requested and 45 written"), True),
        (of_system(errno.EIO), False),
        (of_safetensors(errno.EIO), False),
        (OSError(errno.EIO, "123 requested and 45 written"), False),
        (OSError("123 pages requested and 45 written off"), False),
        (ValueError("123 requested and 45 written"), False),
        (MemoryError(), False),
    ],
)
def test_a_full_disk_is_distinguished_from_other_errors(error: Exception, is_full_disk: bool) -> None:
    assert is_out_of_room(error) is is_full_disk


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the device that is always full")
@pytest.mark.parametrize("buffering", [0, -1])
def test_numpy_says_it_as_we_know_it(buffering: int) -> None:
    with pytest.raises(OSError) as caught, open("/dev/full", "wb", buffering=buffering) as file:
        np.zeros(100_000).tofile(file)
    assert is_out_of_room(caught.value)
