"""Whether processes grow while they are used for long: a leak is a slope, and a process that was replaced hides one.

A worker's process that does some work for the first time loads what it needs, 100 MB at once: a step, not a slope.
"""

from statistics import median

Look = dict[str, dict[int, float]]  # MB of each process, by server

# Hosts of ours, between the second and the last fifth of the time: what malloc holds when two large answers meet
GROWTH_MB = 6.0
GROWTH_SHARE = 0.03
OTHERS_MB, OTHERS_SHARE = 12.0, 0.08  # nginx; the storage, a double that notes every request
FREE_TO_GROW = {"postgres", "redis"}  # their caches fill up to a size that is set; bounded below
STEP_LOOKS = 3  # what a step may take
CACHES_MB = 160.0  # shared_buffers, which every process of PostgreSQL counts as its own, and some more


def too_large(looks: list[Look], *, web: set[str], workers: set[str]) -> list[str]:
    """Every process that grew by more than it may, in words."""
    lines = []
    for server in looks[-1]:
        for pid, (before, after) in grown(looks, server).items():
            sizes = [look[server][pid] for look in looks if pid in look.get(server, {})]
            step = largest_rise(sizes) if server in workers else 0.0
            if after - before - step > most(server, before, hosts=web | workers):
                lines.append(f"{server} ({pid}) grew from {before:.0f} to {after:.0f} MB")
    return lines


def most(server: str, before: float, *, hosts: set[str]) -> float:
    if server in FREE_TO_GROW:
        return CACHES_MB
    return GROWTH_MB + GROWTH_SHARE * before if server in hosts else max(OTHERS_MB, OTHERS_SHARE * before)


def largest_rise(sizes: list[float]) -> float:
    return max((after - before for before, after in zip(sizes, sizes[STEP_LOOKS:], strict=False)), default=0.0)


def grown(looks: list[Look], server: str) -> dict[int, tuple[float, float]]:
    """Processes that were there in both: their median size in the second and in the last fifth."""
    early, late = fifths(looks)
    lasting = set.intersection(*(set(look.get(server, {})) for look in early + late))
    return {
        pid: (median(look[server][pid] for look in early), median(look[server][pid] for look in late))
        for pid in lasting
    }


def processes_gone(looks: list[Look], *, hosts: set[str]) -> list[str]:
    """Every process of a host that was there all through the second fifth and is not at the end.

    No process of ours has a limit that replaces it, so none may be. What a task runs is there for a look or two.
    """
    early, _ = fifths(looks)
    lines = []
    for server in sorted(hosts & early[0].keys()):
        lived = set.intersection(*(set(look.get(server, {})) for look in early))
        lines += [f"{server} ({pid}) is gone" for pid in sorted(lived - looks[-1].get(server, {}).keys())]
    return lines


def fifths(looks: list[Look]) -> tuple[list[Look], list[Look]]:
    """The second and the last; the first is that in which everybody comes."""
    fifth = max(1, len(looks) // 5)
    return looks[fifth : 2 * fifth], looks[-fifth:]
