"""Simulated annotators at work, through the same services as people."""

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Membership, Project, User
from annotation.models import Caption, Moment
from core import clock
from judging.demo.seeding import CONTRARY as CONTRARY_NAME
from judging.demo.seeding import SIMULATED
from judging.demo.simulation import CONTRARY, GRADERS, Grader, Span, truth_of
from judging.models import SEATS, Assignment, Batch, Guideline, GuidelineConfirmation, Pair
from judging.projects.policies import Example, guideline_in_force, guideline_publish
from judging.review.selectors import second_batch_sizes
from judging.work.selectors.annotator import open_assignment
from judging.work.services.assignments import assignment_finish, assignment_take_of
from judging.work.services.batches import batch_advance, batch_extend, batch_review
from judging.work.services.judgments import judgment_submit


def graders(project: Project) -> list[tuple[User, Grader]]:
    """The simulated annotators in the order in which they are asked; the contrary one is not among them."""
    users = {user.username: user for user in _simulated(project)}
    return [(users[SIMULATED.format(grader.seed)], grader) for grader in GRADERS]


def contrary(project: Project) -> tuple[User, Grader]:
    return _simulated(project).get(username=CONTRARY_NAME), CONTRARY


def _simulated(project: Project) -> QuerySet[User]:
    return User.objects.filter(memberships__project=project, is_simulated=True)


def truth_of_pair(project: Project, pair: Pair) -> int:
    query, moment = pair.batch.query, pair.candidate.moment
    if query.caption is None or project.demo_seed is None or project.demo_videos is None:
        raise ValueError("only the demo knows the truth of its pairs")
    return truth_of(span_of(query.caption.moment), span_of(moment), seed=project.demo_seed, videos=project.demo_videos)


def span_of(moment: Moment) -> Span:
    return moment.video.name, moment.start_s, moment.end_s


def grade_round(project: Project, batch: Batch, user: User, grader: Grader) -> bool:
    """Let a simulated annotator take a seat of the batch, grade every pair and finish; False when none is free."""
    taken = assignment_take_of(batch=batch, annotator=user, now=clock.now())
    if taken is None:
        return False
    pairs = Pair.objects.filter(pk__in=taken.pair_ids).select_related(
        "batch__query__caption__moment__video", "candidate__moment__video"
    )
    for pair in pairs:
        grade = grader.grade(truth_of_pair(project, pair), pair=str(pair.candidate_id))
        took_ms = round(1000 * grader.seconds(pair=str(pair.candidate_id)))
        judgment_submit(annotator=user, pair_uuid=pair.uuid, grade=grade, active_ms=took_ms)
    return assignment_finish(project=project, annotator=user)


def fill_free_seats(project: Project, batch: Batch, *, limit: int = len(SEATS)) -> int:
    """Let up to ``limit`` simulated annotators take free seats of the batch's present round."""
    filled = 0
    for user, grader in _rotated(graders(project), batch.pk):
        if filled == limit:
            break
        if not open_assignment(project=project, annotator=user):
            filled += grade_round(project, batch, user, grader)
    return filled


def _rotated(people: Sequence[tuple[User, Grader]], by: int) -> list[tuple[User, Grader]]:
    start = by % len(people)
    return [*people[start:], *people[:start]]


def finish_with_simulated(project: Project, batch: Batch) -> None:
    """Grade both rounds of a batch and decide it."""
    for _ in range(2):
        batch.refresh_from_db()
        if batch.state == Batch.State.OPEN:
            fill_free_seats(project, batch)
            batch_advance(batch_id=batch.pk)


def escalate_with_simulated(project: Project, batch: Batch) -> None:
    """Grade the first round far apart, and one seat of the second: escalated pairs wait for a person."""
    user, grader = contrary(project)
    if not batch.assignments.exists():
        grade_round(project, batch, user, grader)
        fill_free_seats(project, batch, limit=1)
        batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        if batch.state == Batch.State.OPEN:
            fill_free_seats(project, batch, limit=1)


def story_play(project: Project) -> None:
    """Give the fresh demo one of everything: finished, waiting for the lead, escalated, begun, and new batches.

    Batches already begun are left alone, so a repeat after a crash goes on where it stopped.
    """
    batches = list(Batch.objects.filter(project=project, number=1).order_by("query__split", "query__number"))
    val, test = ([b for b in batches if b.query.split == split] for split in ("val", "test"))
    finished, waiting, escalated, begun = (
        [*val[:2], *test[:3]],
        [*val[2:3], *test[3:5]],
        test[5:7],
        [*val[3:4], *test[7:8]],
    )
    for batch in [*finished, *waiting]:
        finish_with_simulated(project, batch)
    _lead_decides(project, finished)
    for batch in escalated:
        escalate_with_simulated(project, batch)
    for batch, (user, grader) in zip(begun, [graders(project)[0], contrary(project)], strict=False):
        if not batch.assignments.exists():
            grade_round(project, batch, user, grader)


def _lead_decides(project: Project, finished: Sequence[Batch]) -> None:
    """The demo's lead closes the finished queries, but extends the first: its second batch is judged too."""
    lead = User.objects.get(memberships__project=project, memberships__role=Membership.Role.LEAD)
    beyond = second_batch_sizes([batch.pk for batch in finished])
    for place, batch in enumerate(finished):
        extend = place == 0 and beyond[batch.pk] > 0  # a demo of few videos has too few moments
        batch_review(batch=batch, extend=extend, lead=lead, reason="Decided for the demo.")
    if finished:
        second = batch_extend(batch_id=finished[0].pk)
        if second:
            finish_with_simulated(project, second)


def visitors_answer(project: Project) -> None:
    """Where a person has finished a round, simulated annotators take the free seats, so that it settles."""
    by_person = Assignment.objects.filter(
        batch=OuterRef("pk"), annotator__is_simulated=False, state=Assignment.State.FINISHED
    )
    for batch in Batch.objects.filter(Exists(by_person), project=project, state=Batch.State.OPEN):
        if fill_free_seats(project, batch):
            batch_advance(batch_id=batch.pk)


def examples_add(project: Project) -> None:
    """Show a clip for each grade in the guideline, of a training query: none that anybody will judge."""
    guideline = guideline_in_force(project.pk)
    if guideline.examples.exists() or project.demo_seed is None or project.demo_videos is None:
        return
    moments = list(
        Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
        .select_related("video")
        .order_by("pk")
    )
    best: dict[int, Moment] = {}
    text = ""
    captions = Caption.objects.filter(queries__project=project, queries__split="train").order_by("pk")
    for caption in captions.select_related("moment__video"):
        found: dict[int, Moment] = {}
        for moment in moments:
            truth = truth_of(
                span_of(caption.moment), span_of(moment), seed=project.demo_seed, videos=project.demo_videos
            )
            found.setdefault(truth, moment)
        if len(found) > len(best):
            best, text = found, caption.text
    _version_with(project, guideline, [Example(grade, text, moment.pk) for grade, moment in best.items()])


@transaction.atomic
def _version_with(project: Project, last: Guideline, examples: Sequence[Example]) -> None:
    """The demo's annotators have read the version with examples, as they had the one without."""
    made = guideline_publish(
        project=project,
        actor=None,
        body=last.body,
        levels=last.levels,
        changes="Example clips for the grades.",
        examples=examples,
    )
    read = last.confirmations.values_list("annotator", flat=True)
    GuidelineConfirmation.objects.bulk_create(
        GuidelineConfirmation(guideline=made, annotator_id=annotator) for annotator in read
    )
