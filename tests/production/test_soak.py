"""People use the site for long: nothing fails, and no process grows. Five minutes; SOAK_S=3600 for an hour."""

import os
from pathlib import Path
from statistics import median

import pytest

from benchmarks.load import Measured, load_run
from benchmarks.load_world import small_make, world_make
from tests.production.topology import Site

SOAK_S = float(os.environ.get("SOAK_S", "300"))
ANNOTATORS = 20
PAIRS_A_BATCH = 20
GROWTH_MB = 12.0  # pages of memory that malloc takes when two large answers happen to meet; a leak has no such end
GROWTH_SHARE = 0.08
FREE_TO_GROW = {"postgres", "redis"}  # their caches fill up to a size that is set; bounded below
CACHES_MB = 160.0  # shared_buffers, which every process of PostgreSQL counts as its own, and some more


def grown(looks: list[dict[str, dict[int, float]]], server: str) -> dict[int, tuple[float, float]]:
    """Processes of a server that lived all the time: their median size in the first and in the last fifth."""
    fifth = max(1, len(looks) // 5)
    lasting = set.intersection(*(set(look.get(server, {})) for look in looks))
    return {
        pid: (
            median(look[server][pid] for look in looks[fifth : 2 * fifth]),
            median(look[server][pid] for look in looks[-fifth:]),
        )
        for pid in lasting
    }


def too_large(found: Measured) -> list[str]:
    said = []
    for server in found.memory_mb[-1]:
        for pid, (before, after) in grown(found.memory_mb, server).items():
            most = CACHES_MB if server in FREE_TO_GROW else max(GROWTH_MB, GROWTH_SHARE * before)
            if after - before > most:
                said.append(f"{server} ({pid}) grew from {before:.0f} to {after:.0f} MB")
    return said


@pytest.mark.timeout(SOAK_S + 600)
def test_nothing_fails_and_nothing_grows(site: Site, tmp_path: Path) -> None:
    queries = 40 + int(ANNOTATORS * SOAK_S / 6 / PAIRS_A_BATCH)
    world = world_make(small_make(queries=queries), annotators=ANNOTATORS, leads=2, uploads=True)
    found = load_run(site, world, tmp_path, seconds=SOAK_S, warm_s=30.0)
    assert found.errors == []
    assert world.recorded() == found.judgments
    assert found.judgments > ANNOTATORS * SOAK_S / 10
    assert too_large(found) == []
    assert [server.name for server in site.servers if not server.alive()] == []
