"""Files with damage in them, the same ones every time."""

import os
import random
from collections.abc import Iterator, Sequence

SEED = 18
NUMBERS = [0, 1, -1, 0x7F, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**40, 2**63 - 1, 2**63]
PIECES = [
    b"\0", b"NaN", b"Infinity", b"-1", b"1e999", b"\\ud800", b"\\u0000", b"9" * 400, b"9" * 5000, b"[" * 2000,
    b'{"a":' * 2000, b"\xff\xfe", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"null", b'""', b"{}", b"[]", b",", b"\r", b"\n\n",
    b'"', b";", b"-->", b"99:99:99,999", b"9223372036854775808", b"1_0", b"\xd9\xa3", b"../", b"a" * 6000,
]  # fmt: skip


def mutated(seeds: Sequence[bytes], count: int, *, text: bool = False) -> Iterator[bytes]:
    """``count`` files made of ``seeds`` by one to eight changes each; of texts, often by what readers trip over.

    MUTATIONS=100 in the environment makes a hundred times as many.
    """
    for number in range(count * int(os.environ.get("MUTATIONS", "1"))):
        generator = random.Random(f"{SEED} {number}")
        content = bytearray(generator.choice(seeds))
        for _ in range(generator.choice([1, 1, 1, 2, 2, 3, 5, 8])):
            _change(content, generator, text)
        yield bytes(content)


def _change(content: bytearray, generator: random.Random, text: bool) -> None:
    position = generator.randrange(len(content) + 1)
    length = generator.choice([1, 2, 4, 8, 16, 64, 512])
    change = generator.randrange(5 if text else 7)
    if text and change < 2:
        content[position : position + generator.choice([0, 1, 5])] = generator.choice(PIECES)
    elif change == 2:
        del content[position : position + length]
    elif change == 3:
        content[position:position] = content[position : position + length]
    elif change == 4:
        content[position : position + 1] = bytes([generator.randrange(256)])
    elif change == 5:
        del content[position:]
    else:
        width = generator.choice([1, 2, 4, 8])
        number = generator.choice(NUMBERS) & ((1 << 8 * width) - 1)
        content[position : position + width] = number.to_bytes(width, generator.choice(["little", "big"]))
