"""The demo's way of an annotator: a short test, a tutorial, and an exam that the simulated annotators have sat."""

from collections.abc import Iterator
from random import Random

from accounts.models import Membership, Project, User
from annotation.models import Caption, Moment, Query
from core import clock
from judging.demo.grading import contrary, graders, span_of
from judging.demo.simulation import Grader, truth_of
from judging.models import Exam, GateQuestion, GuidelineExample, KnownPair, Sitting
from judging.people.services.standings import annotator_qualify
from judging.projects.policies import policy_publish
from judging.qualification.rules.truth import rounded_up
from judging.qualification.services.exams import exam_close, exam_create, exam_prepare
from judging.qualification.services.gate import gate_question_create, gate_set
from judging.qualification.services.known_pairs import known_pair_explain
from judging.qualification.services.reports import exam_report, sitting_report
from judging.qualification.services.sitting_grades import sitting_grade, sitting_hand_in
from judging.qualification.services.sittings import sitting_start
from judging.qualification.services.training import training_pair_grade, tutorial_add

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
    chief = User.objects.get(memberships__project=project, memberships__role=Membership.Role.LEAD)
    _tutorial_make(project, chief)
    _gate_make(project, chief)
    _cohort_sit(project, chief)
    _rest_qualify(project, chief)
    _later_exam_open(project, chief)


def truth_for(query: Query, moment: Moment) -> int:
    project = query.project
    assert query.caption is not None and project.demo_seed is not None and project.demo_videos is not None
    spans = span_of(query.caption.moment), span_of(moment)
    return truth_of(*spans, seed=project.demo_seed, videos=project.demo_videos)


def _ready(project: Project) -> list[Moment]:
    moments = Moment.objects.filter(video__corpus=project.dataset.corpus_id, preview_state=Moment.Preview.READY)
    return list(moments.select_related("video").order_by("pk"))


def _tutorial_make(project: Project, chief: User) -> None:
    """One pair of each level, of the query that has the most levels and is not the guideline's own."""
    if project.known_pairs.filter(tutorial_position__isnull=False).exists():
        return
    shown = GuidelineExample.objects.filter(guideline__project=project).values("query_text")
    queries = project.queries.filter(split=Query.Split.TRAIN).exclude(text__in=shown)
    moments = _ready(project)
    best: dict[int, tuple[Query, Moment]] = {}
    for query in queries.select_related("project", "caption__moment__video").order_by("pk"):
        found: dict[int, tuple[Query, Moment]] = {}
        for moment in moments:
            found.setdefault(truth_for(query, moment), (query, moment))
        best = max(best, found, key=len)
    levels = sorted(best)
    Random(SEED).shuffle(levels)
    for level in levels:
        query, moment = best[level]
        made = KnownPair.objects.create(project=project, query=query, moment=moment, source=KnownPair.Source.LEAD)
        training_pair_grade(known_pair=made, actor=chief, grade=level, explanation=WHY[level])
        tutorial_add(known_pair=made, actor=chief)


def _gate_make(project: Project, chief: User) -> None:
    if project.gate_questions.exists():
        return
    for moment, options in _questions(project):
        gate_question_create(
            project=project, actor=chief, moment=moment, description=QUESTION, options=options, correct=0
        )
    if GateQuestion.objects.filter(project=project).count() >= QUESTIONS:
        policy_publish(project=project, actor=chief, gate_questions=QUESTIONS, gate_passing=RIGHT)
        gate_set(project=project, actor=chief, is_open=True)


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
        for user, grader in [*graders(project), contrary(project)]:
            _sit(project, user, grader)
        exam = exam_close(exam=exam, actor=chief)
    if exam.state == Exam.State.CLOSED:
        _feedback_take(exam, chief)


def _sit(project: Project, user: User, grader: Grader) -> None:
    sitting = sitting_start(project=project, annotator=user, purpose=Sitting.Purpose.EXAM)
    if sitting.state != Sitting.State.OPEN:
        return
    given = set(sitting.grades.values_list("known_pair", flat=True))
    pairs = KnownPair.objects.filter(pk__in=set(sitting.known_ids) - given)
    for known in pairs.select_related("query__project", "query__caption__moment__video", "moment__video"):
        grade = grader.grade(truth_for(known.query, known.moment), pair=f"exam {known.pk}")
        sitting_grade(annotator=user, pair_uuid=known.uuid, grade=grade)
    sitting_hand_in(annotator=user, sitting=sitting.uuid, now=clock.now())


def _feedback_take(exam: Exam, chief: User) -> None:
    for known in exam.known_pairs.filter(explanation="", truth__isnull=False).select_related("project"):
        assert known.truth is not None
        known_pair_explain(known=known, actor=chief, explanation=WHY[rounded_up(known.truth)])
    truths = {pk: (uuid, truth) for pk, uuid, truth in exam.known_pairs.values_list("pk", "uuid", "truth")}
    for sitting in exam.sittings.filter(state=Sitting.State.FEEDBACK).select_related("annotator"):
        for pk, grade in dict(sitting.grades.order_by("attempt").values_list("known_pair", "grade")).items():
            uuid, truth = truths[pk]
            if truth is not None and abs(grade - truth) > 1:
                sitting_grade(annotator=sitting.annotator, pair_uuid=uuid, grade=rounded_up(truth))
    if not exam.report:
        exam_report(exam_id=exam.pk)
    for sitting in exam.sittings.filter(state=Sitting.State.DONE, passed__isnull=True):
        sitting_report(sitting_id=sitting.pk)


def _rest_qualify(project: Project, chief: User) -> None:
    """Who failed, or had no exam to sit, is qualified by the lead's word: the demo needs somebody to disagree."""
    waiting = project.memberships.filter(user__is_simulated=True, standing=Membership.Standing.EXAM)
    for member in waiting.select_related("project", "user"):
        annotator_qualify(membership=member, actor=chief, reason="Kept in the demo, so that grades differ.")


def _later_exam_open(project: Project, chief: User) -> None:
    """What newcomers sit: a short exam from what the first cohort has made known."""
    if project.exams.filter(kind=Exam.Kind.STORED).exists():
        return
    closed = project.exams.filter(kind=Exam.Kind.COHORT, state=Exam.State.CLOSED).first()
    if closed:
        queries, depth = min(LATER[0], closed.queries), LATER[1]
        policy_publish(project=project, actor=chief, exam_levels=LATER_LEVELS)
        exam_create(project=project, actor=chief, kind=Exam.Kind.STORED, queries=queries, depth=depth, seed=SEED)
