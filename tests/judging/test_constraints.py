"""The database refuses rows that break a rule, whoever writes them: every named constraint and trigger once."""

from collections.abc import Callable, Iterable

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from annotation.models import (
    AuditEvent,
    Candidate,
    Job,
    Subtitle,
    TextVector,
)
from judging.models import (
    Assignment,
    Guideline,
    GuidelineExample,
    Judgment,
    JudgmentChange,
    Pair,
    Policy,
    Release,
)
from models_runner.models import Run, Score
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    CaptionFactory,
    CorpusFactory,
    DescriptionFactory,
    GuidelineFactory,
    JudgmentFactory,
    MembershipFactory,
    MomentFactory,
    PairFactory,
    PolicyFactory,
    ProjectFactory,
    QueryFactory,
    VideoFactory,
)

pytestmark = pytest.mark.django_db
Write = Callable[[], object]


def again(make: Callable[..., object], **values: object) -> Callable[[], Write]:
    """Write a second row that shares ``values`` (each made once) with the first."""

    def prepare() -> Write:
        made = {name: value() if callable(value) else value for name, value in values.items()}
        make(**made)
        return lambda: make(**made)

    return prepare


def change(make: Callable[..., object], **values: object) -> Callable[[], Write]:
    """Change a valid row to ``values``, past every check in Python."""

    def prepare() -> Write:
        row = make()
        return lambda: type(row)._default_manager.filter(pk=row.pk).update(**values)  # type: ignore[attr-defined]

    return prepare


def audit_event() -> AuditEvent:
    return AuditEvent.objects.create(action="test")


def run() -> Run:
    release = Release.objects.create(project=ProjectFactory(), version=1)
    return Run.objects.create(project=release.project, release=release, system="x", split="val")


def score(**values: object) -> Score:
    given = {"run": values.get("run") or run(), "convention": "paper", "gain": "linear", "k": 10, "mu": 0.5}
    return Score.objects.create(**{"value": 0.5, **given})


def job(**values: object) -> Job:
    return Job.objects.create(**{"project": values.pop("project", None) or ProjectFactory(), "kind": "k", **values})


def example(**values: object) -> GuidelineExample:
    guideline = values.pop("guideline", None) or ProjectFactory().guidelines.get()
    return GuidelineExample.objects.create(
        guideline=guideline, **{"grade": 1, "query_text": "q", "moment": MomentFactory(), **values}
    )


def policy() -> Policy:
    return ProjectFactory().policies.get()


def judgment_change() -> JudgmentChange:
    return JudgmentChange.objects.create(judgment=JudgmentFactory(), from_grade=1, to_grade=2)


def release(**values: object) -> Release:
    return Release.objects.create(
        **{"project": values.pop("project", None) or ProjectFactory(), "version": 1, **values}
    )


def finished_judgment() -> Judgment:
    made = JudgmentFactory()
    Assignment.objects.filter(pk=made.assignment_id).update(state="finished", ended_at=NOW)
    return made


def frozen_candidate() -> Candidate:
    return CandidateFactory(query=BatchFactory(pairs=0).query)  # type: ignore[no-any-return]


def first_guideline() -> Guideline:
    return ProjectFactory().guidelines.get()  # type: ignore[no-any-return]


def run_twice() -> Write:
    made = run()
    return lambda: Run.objects.create(project=made.project, release=made.release, system=made.system, split=made.split)


def judgment_on(pair: Pair, **values: object) -> Judgment:
    """A grade for the pair by a new person, unless ``values`` names one."""
    fresh = AssignmentFactory(batch=pair.batch, state="lapsed", seat=values.get("seat", 1))
    return JudgmentFactory(**{"assignment": fresh, "pair": pair, **values})


def pair_of_batch() -> Pair:
    return BatchFactory(pairs=1).pairs.get()


def same_person_again() -> Write:
    pair = pair_of_batch()
    first = judgment_on(pair)
    return lambda: judgment_on(pair, annotator=first.annotator, seat=2)


def three_of_one_round() -> Write:
    pair = pair_of_batch()
    judgment_on(pair, seat=1)
    judgment_on(pair, seat=2)
    return lambda: judgment_on(pair, seat=2)


def seat_taken_twice() -> Write:
    held = AssignmentFactory()
    return lambda: AssignmentFactory(batch=held.batch, seat=held.seat)


def finished_seat_taken_again() -> Write:
    held = AssignmentFactory(state="finished")
    return lambda: AssignmentFactory(batch=held.batch, seat=held.seat)


def two_open_assignments() -> Write:
    held = AssignmentFactory()
    other = BatchFactory(query__project=held.project)
    return lambda: AssignmentFactory(batch=other, annotator=held.annotator)


def query_text_twice() -> Write:
    held = QueryFactory(split="val")
    return lambda: QueryFactory(project=held.project, text=held.text, split="test")


REFUSED: dict[str, Callable[[], Write]] = {
    # annotation
    "video_name_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, name="a"),
    "video_index_once_per_corpus": again(VideoFactory, corpus=CorpusFactory, index=3),
    "video_lasts": change(VideoFactory, duration_s=0),
    "subtitle_starts_before_end": lambda: (
        lambda: Subtitle.objects.create(video=VideoFactory(), start_s=2, end_s=2, text="x")
    ),
    "moment_once_per_video_and_span": again(MomentFactory, video=VideoFactory, start_s=1, end_s=2),
    "moment_starts_before_it_ends": change(MomentFactory, start_s=5, end_s=5),
    "moment_ready_has_its_preview": change(MomentFactory, preview=""),
    "moment_clip_is_of_a_ready_preview": change(MomentFactory, preview_state="missing", preview_clip="a.mp4"),
    "moment_failed_says_why": change(MomentFactory, preview_state="failed"),
    "description_source_id_once_per_corpus": again(
        lambda corpus, source_id: DescriptionFactory(moment__video__corpus=corpus, source_id=source_id),
        corpus=CorpusFactory,
        source_id=4,
    ),
    "description_says_something": change(DescriptionFactory, text=""),
    "caption_says_something": change(CaptionFactory, text=""),
    "text_vector_once_per_model": again(TextVector.objects.create, model="m", text_sha256=b"1" * 32, vector=b""),
    "project_demo_has_videos_and_seed": change(ProjectFactory, demo_videos=3),
    "membership_one_role_per_person_and_project": again(
        lambda project, user: MembershipFactory(project=project, user=user),
        project=ProjectFactory,
        user=lambda: MembershipFactory().user,
    ),
    "membership_number_once_per_project": again(MembershipFactory, project=ProjectFactory, number=5),
    "membership_number_for_annotators_only": change(MembershipFactory, role="lead"),
    "membership_role_is_known": change(MembershipFactory, role="owner", number=None),
    "query_number_once_per_project": again(QueryFactory, project=ProjectFactory, number=5),
    "query_caption_once_per_project": again(QueryFactory, project=ProjectFactory, caption=CaptionFactory),
    "query_text_judged_once_per_project": query_text_twice,
    "query_split_is_known": change(QueryFactory, split="dev"),
    "candidate_once_per_query_and_moment": again(
        lambda query, moment: CandidateFactory(query=query, moment=moment, rank=1 + query.candidates.count()),
        query=QueryFactory,
        moment=MomentFactory,
    ),
    "candidate_rank_once_per_query": again(CandidateFactory, query=QueryFactory, rank=2),
    "candidate_rank_from_1": change(CandidateFactory, rank=0),
    "candidate_similarity_is_a_cosine": change(CandidateFactory, similarity=1.01),
    "job_runs_once_per_project_and_kind": again(job, project=ProjectFactory),
    "job_done_within_total": change(job, done=1),
    # judging
    "batch_number_once_per_query": again(BatchFactory, query=QueryFactory, pairs=0),
    "batch_number_is_1_or_2": change(BatchFactory, number=3),
    "batch_round_is_1_or_2": change(BatchFactory, round=3),
    "batch_done_has_its_time": change(BatchFactory, state="done"),
    "pair_settled_has_its_relevance": change(PairFactory, state="settled"),
    "pair_out_says_why": change(PairFactory, state="dropped"),
    "assignment_one_holder_per_seat": seat_taken_twice,
    "assignment_one_open_per_annotator": two_open_assignments,
    "assignment_seat_is_1_or_2": change(AssignmentFactory, seat=3),
    "assignment_round_is_1_or_2": change(AssignmentFactory, round=3),
    "assignment_ended_has_its_time": change(AssignmentFactory, state="lapsed"),
    "judgment_once_per_pair_and_annotator": same_person_again,
    "judgment_two_per_pair_and_round": three_of_one_round,
    "judgment_grade_from_0_to_4": change(JudgmentFactory, grade=5),
    "judgment_seat_is_1_or_2": change(JudgmentFactory, seat=3),
    "judgment_round_is_1_or_2": change(JudgmentFactory, round=3),
    "judgment_given_under_an_assignment_unless_imported": change(JudgmentFactory, assignment=None),
    "judgment_change_is_one": change(judgment_change, to_grade=1),
    "policy_version_once_per_project": lambda: lambda: PolicyFactory(project=ProjectFactory()),
    "policy_lease_lasts": change(policy, lease_minutes=0),
    "policy_mean_is_a_relevance": change(policy, extend_from_mean=4.5),
    "guideline_version_once_per_project": lambda: lambda: GuidelineFactory(project=ProjectFactory()),
    "guideline_example_once_per_grade": again(example, guideline=first_guideline),
    "guideline_example_grade_from_0_to_4": change(example, grade=5),
    "release_version_once_per_project": again(release, project=ProjectFactory),
    "release_ready_has_its_archive": change(release, state="ready"),
    # models_runner
    "run_once_per_release_system_and_split": run_twice,
    "run_split_is_judged": change(run, split="train"),
    "run_scored_has_its_file": change(run, state="scored"),
    "score_once_per_measure": again(score, run=run),
    "score_within_0_and_1": change(score, value=1.5),
}
MORE: dict[str, tuple[str, Callable[[], Write]]] = {
    "a finished seat is not taken again": ("assignment_one_holder_per_seat", finished_seat_taken_again),
    "a moment does not start before its video": ("moment_starts_before_it_ends", change(MomentFactory, start_s=-1)),
    "an open pair has no relevance": ("pair_settled_has_its_relevance", change(PairFactory, relevance=2)),
    "a settled relevance is a grade": (
        "pair_settled_has_its_relevance",
        change(PairFactory, state="settled", relevance=5),
    ),
    "a pair still in has no reason to be out": ("pair_out_says_why", change(PairFactory, reason="no_consensus")),
    "an annotator has a number": ("membership_number_for_annotators_only", change(MembershipFactory, number=None)),
    "an open batch has no end": ("batch_done_has_its_time", change(BatchFactory, done_at=NOW)),
    "an open assignment has no end": ("assignment_ended_has_its_time", change(AssignmentFactory, ended_at=NOW)),
    "a grade is kept with its guideline": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, guideline=None),
    ),
    "only imports name a person again": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, occurrence=1),
    ),
    "audit events do not change": ("append-only", change(audit_event, action="nothing")),
    "audit events stay": ("append-only", lambda: audit_event().delete),
    "ranks are frozen by the batch": ("are frozen", change(frozen_candidate, rank=9)),
    "similarity is frozen by the batch": ("are frozen", change(frozen_candidate, similarity=0.1)),
    "candidates of a batch stay": ("are frozen", lambda: frozen_candidate().delete),
    "grades of an ended assignment are final": ("is final", change(finished_judgment, grade=0)),
}
CASES = {**{name: (name, prepare) for name, prepare in REFUSED.items()}, **MORE}


@pytest.mark.parametrize("case", CASES)
def test_bad_row_is_refused(case: str) -> None:
    words, prepare = CASES[case]
    write = prepare()
    with pytest.raises(IntegrityError, match=words), transaction.atomic():
        write()


def constraints_of(labels: Iterable[str]) -> set[str]:
    return {
        constraint.name
        for label in labels
        for model in apps.get_app_config(label).get_models()
        for constraint in model._meta.constraints
    }


def test_every_constraint_is_tried() -> None:
    assert constraints_of(["annotation", "judging", "models_runner"]) == set(REFUSED)


def test_every_trigger_is_tried() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT tgname FROM pg_trigger WHERE NOT tgisinternal")
        names = {name for (name,) in cursor.fetchall()}
    assert names == {"audit_event_is_append_only", "candidate_is_frozen", "judgment_is_final"}


def test_grades_of_an_open_assignment_may_change() -> None:
    given = JudgmentFactory()
    assert Judgment.objects.filter(pk=given.pk).update(grade=0) == 1


def test_candidates_of_no_batch_may_change() -> None:
    candidate = CandidateFactory()
    assert Candidate.objects.filter(pk=candidate.pk).update(rank=9) == 1
    candidate.delete()


def test_a_lapsed_seat_is_free_again() -> None:
    lapsed = AssignmentFactory(state="lapsed")
    assert AssignmentFactory(batch=lapsed.batch, seat=lapsed.seat)


def test_queries_of_one_text_share_one_judging() -> None:
    judged = QueryFactory(split="val")
    assert QueryFactory(project=judged.project, text=judged.text, split="val", judged_as=judged)
    assert QueryFactory(project=judged.project, text=judged.text, split="train")


def test_a_person_appears_again_only_in_an_import() -> None:
    pair = pair_of_batch()
    person = MembershipFactory(project=pair.batch.project).user
    for seat in (1, 2):
        Judgment.objects.create(
            pair=pair, annotator=person, occurrence=seat - 1, round=1, seat=seat, grade=1, source="imported"
        )
    assert pair.judgments.count() == 2


def test_what_is_judged_cannot_be_deleted_from_under_it() -> None:
    given = JudgmentFactory()
    for row in (given.pair, given.assignment, given.annotator, given.pair.batch, given.pair.candidate.moment):
        with pytest.raises(IntegrityError):
            row.delete()
