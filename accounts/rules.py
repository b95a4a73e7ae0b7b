"""The status of an annotator: candidate, training, exam, qualified; suspended or left at any time. Pure."""

STEPS = ("candidate", "training", "exam", "qualified")
OUT = ("suspended", "left")


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
