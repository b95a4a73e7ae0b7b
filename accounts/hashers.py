"""How passwords are kept: argon2, at a price that a web process can pay for many log-ins at once."""

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore

from django.contrib.auth.hashers import Argon2PasswordHasher

from core.exceptions import Busy

AT_ONCE = 1  # check of one process, which takes memory_cost KiB while it lasts; processes are as many as cores
WAIT_S = 10.0  # a check takes some hundredths of a second, so who waits longer waits behind a flood
M_MMAP_THRESHOLD, LARGE = -3, 1 << 20  # of malloc.h
turns = BoundedSemaphore(AT_ONCE)


class Argon2(Argon2PasswordHasher):
    """Django's, at OWASP's second choice: its own takes 100 MiB of memory for each check, for whoever asks.

    Hashes made at another price are verified, and made anew when their person logs in.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with turn():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with turn():
            return super().verify(password, encoded)


@contextmanager
def turn() -> Iterator[None]:
    """Take one of the few turns to compute; Busy where none was free for too long."""
    if not turns.acquire(timeout=WAIT_S):
        raise Busy("Very many people are logging in just now. Wait half a minute, then try again.")
    try:
        yield
    finally:
        turns.release()


# The memory of a check goes back to the system with it: left to itself, glibc learns from the first such block to keep
# the next ones, for each thread. Other C libraries have no mallopt.
if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
    mallopt(M_MMAP_THRESHOLD, LARGE)
