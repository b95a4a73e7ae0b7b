"""Which roles one person may have in a project, and the status of an annotator: candidate, training, exam, qualified;
suspended or left at any time. Pure."""

from collections.abc import Collection

STEPS = ("candidate", "training", "exam", "qualified")
OUT = ("suspended", "left")
ROLES = ("annotator", "lead", "admin", "writer", "checker", "participant")  # in the order they are stored and shown
COMBINABLE = ("lead", "admin", "writer", "checker")  # the others stand alone: they must not see what these see


def roles_in_order(roles: Collection[str]) -> list[str]:
    """Return the roles as they are stored: each once, in the order of ROLES."""
    return [role for role in ROLES if role in roles]


def may_combine(roles: Collection[str]) -> bool:
    """Whether one person may have all of these roles in a project, and no other."""
    unique = set(roles)
    return bool(unique) and unique <= set(ROLES) and (len(unique) == 1 or unique <= set(COMBINABLE))


def roles_text(roles: Collection[str]) -> str:
    """Name the roles in a sentence: "lead and admin"."""
    return " and ".join(roles_in_order(roles))


def may_become(status: str, target: str) -> bool:
    """Whether ``target`` can follow ``status``.

    Forward on the way, any number of steps (a lead may qualify a candidate with a reason); out of it from everywhere;
    back onto it at any step, from outside only. An empty status is somebody who joins.
    """
    if target in OUT:
        return status in STEPS or (status in OUT and status != target)
    if target not in STEPS:
        return False
    return status not in STEPS or STEPS.index(status) < STEPS.index(target)
