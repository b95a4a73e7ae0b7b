"""Growth as the soak defines it, on made-up figures."""

from itertools import pairwise

import pytest

from tests.production.growth import Look, processes_gone, too_large

WEB, WORKERS = {"web-1"}, {"worker-1"}
HOSTS = WEB | WORKERS
LOOKS = 60  # five minutes, one every five seconds


def soak(server: str, *sizes: float) -> list[Look]:
    """One process whose size goes straight from each of these to the next."""
    steps = LOOKS // (len(sizes) - 1)
    legs = pairwise(sizes)
    return [{server: {7: start + (end - start) * n / steps}} for start, end in legs for n in range(steps)]


SIZES = [  # a server, its sizes in MB at equal intervals, and whether that is reported
    ("web-1", (90, 120, 120, 120, 120), False),  # it loads what it needs while people come
    ("web-1", (120, 128), False),
    ("web-1", (120, 140), True),  # 12 MB between the fifths
    ("worker-1", (300, 318), False),  # 3 % of it may be more than a small one may
    ("nginx", (20, 30), False),
    ("nginx", (20, 50), True),
    ("postgres", (40, 150), False),  # caches fill
]


@pytest.mark.parametrize(("server", "sizes", "is_reported"), SIZES)
def test_a_slope_is_reported(server: str, sizes: tuple[float, ...], is_reported: bool) -> None:
    assert bool(too_large(soak(server, *sizes), web=WEB, workers=WORKERS)) is is_reported


@pytest.mark.parametrize(("server", "is_reported"), [("worker-1", False), ("web-1", True)])
def test_what_a_worker_loads_at_once_is_no_slope(server: str, is_reported: bool) -> None:
    looks = soak(server, 140, 143)
    for index, look in enumerate(looks[LOOKS // 2 :]):
        look[server][7] += min(index, 2) * 58
    assert bool(too_large(looks, web=WEB, workers=WORKERS)) is is_reported


def test_a_process_that_was_replaced_hides_no_leak() -> None:
    looks = soak("worker-1", 100, 100)
    looks[LOOKS // 4]["worker-1"] |= {9: 30.0}  # a program that a task ran may go
    assert processes_gone(looks, hosts=HOSTS) == []
    for look in looks[LOOKS // 2 :]:
        look["worker-1"] = {8: look["worker-1"][7]}
    assert too_large(looks, web=WEB, workers=WORKERS) == []
    assert processes_gone(looks, hosts=HOSTS) == ["worker-1 (7) is gone"]
