"""Simulated annotators: graders that know the demo's truth, with noise and bias, who use the services of people."""

import math
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random
from types import MappingProxyType

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet

from accounts.models import Membership, Project, User
from annotation.captions.services.captions import caption_edit
from annotation.demo import Episode, ScriptedMoment, true_relevance, write_script
from annotation.models import Caption, Moment, Query
from core import clock
from judging.guidelines.selectors import guideline_in_force
from judging.guidelines.services import Example, guideline_publish, policy_publish, screening_set
from judging.models import (
    Assignment,
    Batch,
    BatchReview,
    Exam,
    ExamAttempt,
    Flag,
    Guideline,
    GuidelineConfirmation,
    GuidelineExample,
    KnownPair,
    Pair,
    ScreeningQuestion,
)
from judging.people.services import annotator_qualify
from judging.qualification.rules.truth import rounded_up
from judging.qualification.services.exam_attempts import attempt_grade, attempt_hand_in, attempt_start
from judging.qualification.services.exams import exam_close, exam_create, exam_prepare, known_pair_explain
from judging.qualification.services.onboarding import screening_question_save
from judging.qualification.services.reports import attempt_report, exam_report
from judging.qualification.services.training import training_pair_grade, tutorial_add
from judging.review.selectors import second_batch_sizes
from judging.review.services import batch_review
from judging.work.rules import TVR_RANKING
from judging.work.selectors.assignments import open_assignment
from judging.work.services.assignments import assignment_finish, assignment_take_of
from judging.work.services.batches import batch_advance, batch_extend
from judging.work.services.judgments import flag_set, judgment_submit
from judging.work.services.pairs import pair_withdraw

Span = tuple[str, float, float]  # video name, start and end in seconds
NO_FLAGS: Mapping[int, str] = MappingProxyType({})
PERSON = "^(A|The) (man|woman) "  # how a caption begins that names its person so


@dataclass(frozen=True)
class Grader:
    """How one simulated annotator departs from the truth; ``contrary`` is the share of pairs with the scale turned
    round."""

    seed: int
    bias: float = 0.0
    noise: float = 0.45
    contrary: float = 0.0

    def grade(self, truth: int, *, pair: str, top_grade: int = TVR_RANKING.top_grade) -> int:
        """A grade of the scale for a pair of this true relevance 0 to 4; the same pair gets the same grade in every
        database."""
        chance, best = random.Random(f"{self.seed}:{pair}"), TVR_RANKING.top_grade
        level = best - truth if self.contrary and chance.random() < self.contrary else truth
        share = (level + self.bias + chance.gauss(0.0, self.noise)) / best
        return min(top_grade, max(0, round(share * top_grade)))

    def seconds(self, *, pair: str) -> float:
        """How long a person would have looked at it: about 19 s, now and then much longer."""
        chance = random.Random(f"time:{self.seed}:{pair}")
        return chance.lognormvariate(math.log(16 + self.seed / 2), 0.5)


GRADERS = {  # by user name, in the order in which they are asked
    "simulated-1": Grader(1),
    "simulated-2": Grader(2, bias=0.3),
    "simulated-3": Grader(3, bias=-0.3),
    "simulated-4": Grader(4, noise=0.8),
    "simulated-5": Grader(5, noise=0.2),
    "simulated-6": Grader(6, noise=1.2, bias=0.2),
    "simulated-contrary": Grader(7, noise=0.6, contrary=1.0),
}


@lru_cache(maxsize=4)
def script_of(seed: int, videos: int) -> tuple[Episode, ...]:
    return tuple(write_script(seed=seed, videos=videos))


@lru_cache(maxsize=4)
def scripted_moments(seed: int, videos: int) -> dict[Span, ScriptedMoment]:
    """Return the script of each moment of the demo."""
    return {
        (episode.name, moment.start_s, moment.end_s): moment
        for episode in script_of(seed, videos)
        for moment in episode.moments
    }


def simulated_annotators(project: Project) -> list[tuple[User, Grader]]:
    """The simulated annotators in the order in which they are asked; the contrary one is the last."""
    users = {user.username: user for user in User.objects.filter(memberships__project=project, is_simulated=True)}
    return [(users[name], grader) for name, grader in GRADERS.items()]


def truth_for(query: Query, moment: Moment) -> int:
    """True relevance 0 to 4 of a moment for a query of the demo."""
    project = query.project
    if query.caption is None or project.demo_seed is None or project.demo_videos is None:
        raise ValueError("only the demo knows the truth of its pairs")
    moments_by_span = scripted_moments(project.demo_seed, project.demo_videos)
    own, other = ((of.video.name, of.start_s, of.end_s) for of in (query.caption.moment, moment))
    return true_relevance(moments_by_span[own], moments_by_span[other])


def pair_name(query: Query, moment: Moment) -> str:
    """Name a pair by what it is, whatever its rows are numbered."""
    return f"{query.number} {moment.video.name} {moment.start_s} {moment.end_s}"


@transaction.atomic  # one commit, for the demo is waited for
def grade_round(
    project: Project, batch: Batch, user: User, grader: Grader, *, flags: Mapping[int, str] = NO_FLAGS
) -> bool:
    """Let a simulated annotator take a slot of the batch, grade every pair and finish; False when none is free.

    Args:
        flags: pairs that are flagged instead, by their position, each with the annotator's words.
    """
    assignment = assignment_take_of(batch=batch, annotator=user, now=clock.now())
    if assignment is None:
        return False
    pairs = Pair.objects.filter(pk__in=assignment.pair_ids).select_related(
        "batch__query__project", "batch__query__caption__moment__video", "candidate__moment__video"
    )
    for position, pair in enumerate(pairs.order_by("pk")):
        if position in flags:
            words = flags[position]
            flag_set(annotator=user, pair_uuid=pair.uuid, reason=Flag.Reason.UNREADABLE, comment=words)
            continue
        query, moment = pair.batch.query, pair.candidate.moment
        name = pair_name(query, moment)
        grade = grader.grade(truth_for(query, moment), pair=name, top_grade=project.top_grade)
        took_ms = round(1000 * grader.seconds(pair=name))
        judgment_submit(annotator=user, pair_uuid=pair.uuid, grade=grade, active_ms=took_ms)
    return assignment_finish(project=project, annotator=user)


def fill_free_slots(project: Project, batch: Batch, *, limit: int | None = None) -> int:
    """Let up to ``limit`` simulated annotators, but not the contrary one, take free slots of the batch's round."""
    filled, limit = 0, batch.judges if limit is None else limit
    people = simulated_annotators(project)[:-1]
    start = batch.query.number % len(people)
    for user, grader in [*people[start:], *people[:start]]:
        if filled == limit:
            break
        if not open_assignment(project_id=project.pk, annotator=user):
            filled += grade_round(project, batch, user, grader)
    return filled


def finish_with_simulated(project: Project, batch: Batch) -> None:
    """Grade both rounds of a batch and decide it."""
    for _ in range(2):
        batch.refresh_from_db()
        if batch.state == Batch.State.OPEN:
            fill_free_slots(project, batch)
            batch_advance(batch_id=batch.pk)


def escalate_with_simulated(project: Project, batch: Batch) -> None:
    """Grade the first round far apart, and one slot of the second: escalated pairs wait for a person."""
    user, grader = simulated_annotators(project)[-1]
    if not batch.assignments.exists():
        grade_round(project, batch, user, grader)
        fill_free_slots(project, batch, limit=1)
        batch_advance(batch_id=batch.pk)
        batch.refresh_from_db()
        if batch.state == Batch.State.OPEN:
            fill_free_slots(project, batch, limit=1)


DISPUTED = 0.8  # of the escalated pairs of one query, so that some find no consensus


def dispute_with_simulated(project: Project, batch: Batch) -> None:
    """Have the last slot of an escalated round taken by somebody who sees a part of the pairs as the contrary one."""
    batch.refresh_from_db()
    if batch.state == Batch.State.OPEN:
        people = simulated_annotators(project)[:-1]
        if any(grade_round(project, batch, user, replace(grader, contrary=DISPUTED)) for user, grader in people):
            batch_advance(batch_id=batch.pk)


# of positions; the lead withdraws the last pair, and the other flag waits
FLAGS = {3: "Which of the people in the clip is meant?", 8: "Does the query ask for all of the action, or for a part?"}


def _first_batches(project: Project) -> tuple[list[Batch], list[Batch]]:
    """Return the first batches of the validation and the test split, in the order of their queries."""
    batches = list(Batch.objects.filter(project=project, number=1).order_by("query__split", "query__number"))
    val, test = ([b for b in batches if b.query.split == split] for split in ("val", "test"))
    return val, test


def lead_of(project: Project) -> User:
    """Return the demo's lead, who decides what a lead decides in it."""
    leads = User.objects.filter(memberships__project=project, memberships__roles__contains=[Membership.Role.LEAD])
    return leads.order_by("pk")[:1].get()  # a visitor may have made others


VAL_OF_STORY = 4  # queries of validation whose batches the story begins; those behind them are left to visitors


def story_play(project: Project) -> None:
    """Give the fresh demo one of everything: finished, waiting for the lead (one after its escalation), escalated,
    begun, and new batches. Batches already begun are left alone, so a repeat after a crash goes on where it stopped."""
    val, test = _first_batches(project)
    finished, waiting, escalated = [*val[:2], *test[:3]], [*val[2:3], *test[3:5]], test[5:7]
    begun = [*val[3:4], *test[7:8]]
    for batch in [*finished, *waiting]:
        finish_with_simulated(project, batch)
    _lead_decides(project, finished)
    for batch in escalated:
        escalate_with_simulated(project, batch)
    for batch in escalated[1:]:
        dispute_with_simulated(project, batch)
    first, *_, contrary = simulated_annotators(project)
    for batch, (user, grader), flags in zip(begun, (first, contrary), (FLAGS, NO_FLAGS), strict=False):
        if not batch.assignments.exists():
            grade_round(project, batch, user, grader, flags=flags)


def _lead_decides(project: Project, finished: Sequence[Batch]) -> None:
    """The demo's lead closes the finished queries, but extends the first: its second batch is judged too."""
    lead = lead_of(project)
    beyond = second_batch_sizes(finished)
    for index, batch in enumerate(finished):
        extend = index == 0 and beyond[batch.pk] > 0  # a demo of few videos has too few moments
        batch_review(batch=batch, extend=extend, lead=lead, reason="Decided for the demo.")
    if finished:
        second = batch_extend(batch_id=finished[0].pk)
        if second:
            finish_with_simulated(project, second)


def story_continue(project: Project) -> None:
    """Change, after the first release, what a second one shows: the lead closes a query that waited, withdraws a
    flagged pair, and corrects a caption that is a candidate already."""
    lead, (val, _) = lead_of(project), _first_batches(project)
    for batch in val[2:3]:
        if batch.state == Batch.State.DONE and not BatchReview.objects.filter(batch=batch).exists():
            batch_review(batch=batch, extend=False, lead=lead, reason="Decided for the demo.")
    for batch in val[3:4]:
        pair = batch.pairs.filter(flags__annotator__is_simulated=True).order_by("pk").last()
        if pair and pair.state != Pair.State.WITHDRAWN:
            pair_withdraw(pair=pair, lead=lead, reason="The query can be read in two ways for this clip.")
    _caption_correct(project, lead)


def _caption_correct(project: Project, lead: User) -> None:
    """Have the lead say “Someone” for the person of a candidate's caption that no judged query was made of."""
    captions = Caption.objects.filter(description__corpus=project.dataset.corpus_id)
    if captions.filter(state=Caption.State.EDITED).exists():
        return
    frozen = captions.filter(moment__candidates__query__project=project, moment__candidates__pair__isnull=False)
    judged = project.queries.exclude(split=Query.Split.TRAIN)
    caption = frozen.exclude(text__in=judged.values("text")).filter(text__regex=PERSON).order_by("pk").first()
    if caption:
        text = re.sub(PERSON, "Someone ", caption.text)
        caption_edit(project=project, caption=caption, text=text, actor=lead, before=caption.text)


def visitors_answer(project: Project) -> None:
    """Where a person has finished a round, simulated annotators take the free slots, so that it settles."""
    by_person = Assignment.objects.filter(
        batch=OuterRef("pk"), annotator__is_simulated=False, state=Assignment.State.FINISHED
    )
    for batch in Batch.objects.filter(Exists(by_person), project=project, state=Batch.State.OPEN):
        if fill_free_slots(project, batch):
            batch_advance(batch_id=batch.pk)


def examples_add(project: Project) -> None:
    """Show a clip for each grade in the guideline, of a training query: none that anybody will judge."""
    guideline = guideline_in_force(project.pk)
    if guideline.examples.exists() or project.demo_seed is None:
        return
    queries = project.queries.filter(split=Query.Split.TRAIN, caption__isnull=False).order_by("caption")
    levels = _most_levels(project, queries)
    examples = [Example(grade, query.text, moment.pk) for grade, (query, moment) in levels.items()]
    _version_with(project, guideline, examples)


def _most_levels(project: Project, queries: QuerySet[Query]) -> dict[int, tuple[Query, Moment]]:
    """Of the first query whose moments have the most levels of relevance: the query with a moment of each level."""
    ready = Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
    moments = list(ready.select_related("video").order_by("pk"))
    best: dict[int, tuple[Query, Moment]] = {}
    for query in queries.select_related("project", "caption__moment__video"):
        levels: dict[int, tuple[Query, Moment]] = {}
        for moment in moments:
            levels.setdefault(truth_for(query, moment), (query, moment))
        best = max(best, levels, key=len)
    return best


@transaction.atomic
def _version_with(project: Project, last: Guideline, examples: Sequence[Example]) -> None:
    """The demo's annotators have read the version with examples, as they had the one without."""
    guideline = guideline_publish(
        project=project,
        actor=None,
        body=last.body,
        levels=last.levels,
        changes="Example clips for the grades.",
        examples=examples,
    )
    read = last.confirmations.values_list("annotator", flat=True)
    GuidelineConfirmation.objects.bulk_create(
        GuidelineConfirmation(guideline=guideline, annotator_id=annotator) for annotator in read
    )


WHY = {
    4: "Exactly the action of the query, in full view and from beginning to end, with nothing else around it.",
    3: "The action agrees; one small thing does not: a detail differs, or something else surrounds it.",
    2: "A part of the query is there, but a good deal is missing: the end is cut off, or a step is not shown.",
    1: "Things of the query can be seen, but what it is about does not happen.",
    0: "Nothing of the query happens here. People alone count for nothing.",
}
QUESTION = "What happens in this clip?"
QUESTIONS, RIGHT, OPTIONS = 4, 3, 4  # asked, needed, options of each
COHORT = (10, 10)  # queries and pairs of each, as in the paper
LATER = (4, 5)  # of newcomers' exam: it is a demo
LATER_LEVELS = 2  # told apart: so few pairs show no more, and the page of exams says who else passes
SEED = 11


def training_play(project: Project) -> None:
    """Make what newcomers go through; what is there already is left alone, so a repeat goes on where it stopped."""
    chief = lead_of(project)
    _tutorial_make(project, chief)
    _screening_make(project, chief)
    _cohort_sit(project, chief)
    # who failed, or had no exam to sit, is qualified by the lead's word: the demo needs somebody to disagree
    waiting = project.memberships.filter(user__is_simulated=True, status=Membership.Status.EXAM)
    for member in waiting.select_related("project", "user"):
        annotator_qualify(membership=member, actor=chief, reason="Kept in the demo, so that grades differ.")
    _later_exam_open(project, chief)


def _tutorial_make(project: Project, chief: User) -> None:
    """One pair of each level, of the query that has the most levels and is not the guideline's own."""
    if project.known_pairs.filter(tutorial_position__isnull=False).exists():
        return
    example_texts = GuidelineExample.objects.filter(guideline__project=project).values("query_text")
    queries = project.queries.filter(split=Query.Split.TRAIN).exclude(text__in=example_texts)
    best = _most_levels(project, queries.order_by("pk"))
    levels = sorted(best)
    Random(SEED).shuffle(levels)
    for level in levels:
        query, moment = best[level]
        known_pair = KnownPair.objects.create(project=project, query=query, moment=moment, source=KnownPair.Source.LEAD)
        training_pair_grade(known_pair=known_pair, actor=chief, grade=level, explanation=WHY[level])
        tutorial_add(known_pair=known_pair, actor=chief)


def _screening_make(project: Project, chief: User) -> None:
    if project.screening_questions.exists():
        return
    for moment, options in _questions(project):
        screening_question_save(
            project=project, actor=chief, moment=moment, description=QUESTION, options=options, correct=0
        )
    if ScreeningQuestion.objects.filter(project=project).count() >= QUESTIONS:
        policy_publish(project=project, actor=chief, screening_questions=QUESTIONS, screening_passing=RIGHT)
        screening_set(project=project, actor=chief, is_open=True)


def _questions(project: Project) -> Iterator[tuple[Moment, list[str]]]:
    """Moments with their own caption first and captions after it of which nothing happens in them."""
    rng = Random(SEED)
    captions = Caption.objects.filter(queries__project=project, moment__preview_state=Moment.Preview.READY)
    rows = list(captions.select_related("moment__video").order_by("pk").distinct())
    rng.shuffle(rows)
    queries = list(project.queries.filter(caption__isnull=False).select_related("project", "caption__moment__video"))
    for own in rows[: 2 * QUESTIONS]:
        wrong = sorted({query.text for query in queries if truth_for(query, own.moment) == 0})
        if len(wrong) >= OPTIONS - 1:
            yield own.moment, [own.text, *rng.sample(wrong, OPTIONS - 1)]


def _cohort_sit(project: Project, chief: User) -> None:
    """The first cohort: everybody grades alone, the lead closes the round, misaligned pairs are graded again."""
    exam = project.exams.filter(kind=Exam.Kind.COHORT).first()
    queries = min(COHORT[0], project.queries.filter(split=Query.Split.TRAIN).count() // 3)
    if exam is None and queries:
        exam = exam_create(
            project=project, actor=chief, kind=Exam.Kind.COHORT, queries=queries, depth=COHORT[1], seed=SEED
        )
    if exam is None:
        return
    exam = exam_prepare(exam_id=exam.pk) or exam
    if exam.state == Exam.State.OPEN:
        for user, grader in simulated_annotators(project):
            _sit(project, user, grader)
        exam = exam_close(exam=exam, actor=chief)
    if exam.state == Exam.State.CLOSED:
        _feedback_take(exam, chief)


@transaction.atomic
def _sit(project: Project, user: User, grader: Grader) -> None:
    attempt = attempt_start(project=project, annotator=user, purpose=ExamAttempt.Purpose.EXAM)
    if attempt.state != ExamAttempt.State.OPEN:
        return
    graded_ids = set(attempt.grades.values_list("known_pair", flat=True))
    pairs = KnownPair.objects.filter(pk__in=set(attempt.known_ids) - graded_ids)
    for known_pair in pairs.select_related("query__project", "query__caption__moment__video", "moment__video"):
        name = f"exam {pair_name(known_pair.query, known_pair.moment)}"
        grade = grader.grade(truth_for(known_pair.query, known_pair.moment), pair=name)
        attempt_grade(annotator=user, pair_uuid=known_pair.uuid, grade=grade)
    attempt_hand_in(annotator=user, attempt=attempt.uuid, now=clock.now())


def _feedback_take(exam: Exam, chief: User) -> None:
    for known_pair in exam.known_pairs.filter(explanation="", truth__isnull=False).select_related("project"):
        assert known_pair.truth is not None
        known_pair_explain(pair=known_pair, actor=chief, explanation=WHY[rounded_up(known_pair.truth)])
    truths = {pk: (uuid, truth) for pk, uuid, truth in exam.known_pairs.values_list("pk", "uuid", "truth")}
    for attempt in exam.attempts.filter(state=ExamAttempt.State.FEEDBACK).select_related("annotator"):
        with transaction.atomic():
            for pk, grade in dict(attempt.grades.order_by("try_number").values_list("known_pair", "grade")).items():
                uuid, truth = truths[pk]
                if truth is not None and abs(grade - truth) > 1:
                    attempt_grade(annotator=attempt.annotator, pair_uuid=uuid, grade=rounded_up(truth))
    exam.refresh_from_db(fields=["report"])  # closing it has woken a worker that may be done
    if not exam.report:
        exam_report(exam_id=exam.pk)
    for attempt in exam.attempts.filter(state=ExamAttempt.State.DONE, passed__isnull=True):
        attempt_report(exam_attempt_id=attempt.pk)


def _later_exam_open(project: Project, chief: User) -> None:
    """Open the exam for newcomers: a short one from what the first cohort has made known."""
    if project.exams.filter(kind=Exam.Kind.LATER).exists():
        return
    closed = project.exams.filter(kind=Exam.Kind.COHORT, state=Exam.State.CLOSED).first()
    if closed:
        queries, depth = min(LATER[0], closed.queries), LATER[1]
        policy_publish(project=project, actor=chief, exam_levels=LATER_LEVELS)
        exam_create(project=project, actor=chief, kind=Exam.Kind.LATER, queries=queries, depth=depth, seed=SEED)
