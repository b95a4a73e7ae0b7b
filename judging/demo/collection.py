"""The demo's collection: a round with queries of its writer, a check, and a study that verifies the corpus."""

from contextlib import suppress
from datetime import timedelta
from uuid import uuid4

from django.db import transaction

from accounts.models import Membership, Project, User
from annotation.models import Description
from core import clock
from core.exceptions import NotPossible
from judging.checking.services import Verdict, query_check, query_take
from judging.collection.rules import Entry
from judging.collection.services import clip_return, clip_take, query_submit, round_create
from judging.demo.simulation import SEED
from judging.exceptions import QueryRefused
from judging.models import QueryCheck, WritingRound
from judging.verification.selectors import descriptions_to_draw
from judging.verification.services import answers_submit, pair_take, study_create

LOGINS = {
    "lead": Membership.Role.LEAD,
    "admin": Membership.Role.ADMIN,
    "annotator": Membership.Role.ANNOTATOR,
    "participant": Membership.Role.PARTICIPANT,
    "writer": Membership.Role.WRITER,
    "checker": Membership.Role.CHECKER,
}
ROUND_NAME, ROUND_CLIPS, ROUND_TOKENS = "Visual round", 3, 5
WRITTEN = "The camera shows this: {}"  # so that no query repeats a description
WRITING_S, CHECKING_S = 75, 25  # of a query
ROUND_NOTE = "The clip shows it twice; say when, or what is different."
STUDY_NAME, STUDY_PAIRS = "A sample of the corpus", 8
ANSWERS = ((5, 5, 4), (5, 4, 2), (4, 5, 5), (5, 5, 5))  # of the checker, about the three statements


@transaction.atomic
def collection_play(project: Project) -> None:
    """Open a round in which the demo's writer has written for a few clips; a checker has sent one query back, and has
    verified half of a sample."""
    users = {user.username: user for user in User.objects.filter(username__in=LOGINS, memberships__project=project)}
    if project.writing_rounds.exists() or not {"writer", "checker"} <= users.keys():
        return
    try:
        row = round_create(project=project, name=ROUND_NAME, actor=None, share_t=0, least_tokens=ROUND_TOKENS)
    except NotPossible:  # no video of a demo of few can be played yet
        return
    for _ in range(ROUND_CLIPS):
        _query_write(row, users["writer"])
    if query := query_take(project=project, checker=users["checker"]):
        verdict = Verdict("reject", query.start_s, query.end_s, QueryCheck.Reason.NOT_ONLY, ROUND_NOTE)
        then = clock.now() + timedelta(seconds=CHECKING_S)
        query_check(query=query.uuid, checker=users["checker"], verdict=verdict, active_ms=1000 * CHECKING_S, now=then)
    _verify(project, users["checker"])


def _query_write(row: WritingRound, writer: User) -> None:
    """Write for the next clip about a moment that the demo has described; nothing where no clip or none fits."""
    assignment = clip_take(round=row, writer=writer)
    if assignment is None:
        return
    descriptions = Description.objects.filter(moment__video=assignment.clip.video_id, kind=Description.Kind.VIDEO)
    for description in descriptions.select_related("moment").order_by("source_id"):
        moment = description.moment
        entry = Entry(WRITTEN.format(description.text), "v", moment.start_s, moment.end_s)
        with suppress(QueryRefused), transaction.atomic():
            query_submit(
                assignment=assignment.uuid,
                writer=writer,
                key=uuid4(),
                entry=entry,
                active_ms=1000 * WRITING_S,
                now=clock.now() + timedelta(seconds=WRITING_S),
            )
            return
    clip_return(assignment=assignment.uuid, writer=writer)


def _verify(project: Project, checker: User) -> None:
    n_pairs = min(STUDY_PAIRS, descriptions_to_draw(project, round=None).count())
    if not n_pairs:
        return
    study = study_create(project=project, name=STUDY_NAME, n_pairs=n_pairs, seed=SEED, actor=None)
    for values in ANSWERS:
        if assignment := pair_take(study=study, verifier=checker):
            answers_submit(assignment=assignment.uuid, verifier=checker, values=dict(enumerate(values, start=1)))
