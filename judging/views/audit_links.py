"""Where the page of an event's object is, for whoever may open it."""

from django.urls import reverse

from annotation.models import AuditEvent, Membership, Project

LEAD = Membership.Role.LEAD
BY_SUBJECT = {  # the beginning of the action: the page that takes the object's UUID, what to call it
    "pair.": ("judging:pair-batch", "Pair"),
    "flag.": ("judging:pair-batch", "Pair"),
    "moment.": ("judging:pair-batch", "Pair"),
    "batch.": ("judging:batch", "Batch"),
    "guideline.": ("judging:guideline-version", "Version"),
    "exam.": ("judging:exam", "Exam"),
    "known_pair.": ("judging:known-exam", "Exam"),
    "training.grade": ("judging:training-pair", "Pair"),
    "tutorial.": ("judging:training-pair", "Pair"),
    "query_set.": ("judging:query-set", "Query set"),
    "pool.": ("pools:pool", "Pool"),
    "coverage.": ("judging:coverage-study", "Study"),
}
OF_PROJECT = {  # the page that takes the project's
    "policy.": ("judging:policy", "Policy"),
    "training.draw": ("judging:training", "Training"),
    "gate.question.": ("judging:gate-questions", "Gate"),
    "queries.": ("annotation:splits", "Splits"),
    "caption": ("annotation:captions", "Captions"),
    "batches.": ("judging:queries", "Queries"),
    "candidates.": ("judging:queries", "Queries"),
    "similarity.": ("judging:queries", "Queries"),
    "release.": ("judging:releases", "Releases"),
    "run.": ("models_runner:runs", "Runs"),
    "train_set.": ("annotation:train-sets", "Training sets"),
    "alert.": ("judging:alerts", "Alerts"),
}
OF_PEOPLE = {  # the same, for leads alone
    "invitation.": ("judging:people", "People"),
    "registration.": ("judging:people", "People"),
    "identity.": ("judging:people", "People"),
    "pay.": ("judging:pay", "Pay"),
}


def link_of(event: AuditEvent, project: Project, role: str) -> tuple[str, str] | None:
    """Address and name of a page about what was decided on; None where the viewer has none."""
    number = event.data.get("number")
    if event.action.startswith(("annotator.", "member.")):
        if role != LEAD or not isinstance(number, int):
            return None
        return reverse("judging:person", args=[project.uuid, number]), f"Annotator {number}"
    if event.subject and (place := _place(BY_SUBJECT, event.action)):
        return reverse(place[0], args=[event.subject]), place[1]
    open_to_role = OF_PROJECT | OF_PEOPLE if role == LEAD else OF_PROJECT
    place = _place(open_to_role, event.action)
    return (reverse(place[0], args=[project.uuid]), place[1]) if place else None


def _place(places: dict[str, tuple[str, str]], action: str) -> tuple[str, str] | None:
    return next((place for begin, place in places.items() if action.startswith(begin)), None)
