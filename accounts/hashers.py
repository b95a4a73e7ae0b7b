"""How passwords are kept: argon2, at a price that a web process can pay for many log-ins at once."""

import ctypes

from django.contrib.auth.hashers import Argon2PasswordHasher

from accounts.limits import Turns

BUSY = "Very many people are logging in just now. Wait half a minute, then try again."
M_MMAP_THRESHOLD, LARGE = -3, 1 << 20  # of malloc.h
# One check at a time takes memory_cost KiB while it lasts, some hundredths of a second; processes are as many as cores.
turns = Turns(1, wait_s=10, message=BUSY)


class Argon2(Argon2PasswordHasher):
    """Django's, at OWASP's second choice: its own takes 100 MiB of memory for each check, for whoever asks.

    Hashes made at another price are verified, and made anew when their person logs in.
    """

    time_cost = 2
    memory_cost = 19_456  # KiB
    parallelism = 1

    def encode(self, password: str, salt: str) -> str:
        with turns.take():
            return super().encode(password, salt)

    def verify(self, password: str, encoded: str) -> bool:
        with turns.take():
            return super().verify(password, encoded)


# The memory of a check goes back to the system with it: left to itself, glibc learns from the first such block to keep
# the next ones, for each thread. Other C libraries have no mallopt.
if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
    mallopt(M_MMAP_THRESHOLD, LARGE)
