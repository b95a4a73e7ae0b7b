"""The database refuses rows that break a rule, whoever writes them: every named constraint and trigger once."""

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from functools import partial
from hashlib import sha256
from uuid import uuid4

import pytest
from django.apps import apps
from django.db import IntegrityError, connection, transaction

from annotation.models import (
    AccessToken,
    AuditEvent,
    Candidate,
    Job,
    NamedQuerySet,
    Subtitle,
    TextVector,
)
from judging.models import (
    Assignment,
    Flag,
    Guideline,
    GuidelineExample,
    HoursCorrection,
    Judgment,
    JudgmentChange,
    Pair,
    PayRate,
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
    UserFactory,
    VideoFactory,
    lead,
    triggers_asleep,
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


def paid(**values: object) -> PayRate:
    member = MembershipFactory()
    given = {"rate": 14, "currency": "SGD", "from_day": NOW.date(), **values}
    return PayRate.objects.create(project=member.project, annotator=member.user, **given)


def correction(**values: object) -> HoursCorrection:
    member = MembershipFactory()
    given = {"day": NOW.date(), "seconds": 60, "reason": "r", **values}
    return HoursCorrection.objects.create(
        project=member.project, annotator=member.user, made_by=lead(member.project), **given
    )


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


def held_on(pair: Pair, **values: object) -> Assignment:
    return AssignmentFactory(batch=pair.batch, **values)  # type: ignore[no-any-return]


def end(held: Assignment, state: str = "lapsed") -> None:
    Assignment.objects.filter(pk=held.pk).update(state=state, ended_at=NOW)


def judgment_on(pair: Pair, **values: object) -> Judgment:
    """A grade for the pair under an assignment with these ``values``, by a new person unless they name one."""
    held = held_on(pair, **values)
    given: Judgment = JudgmentFactory(assignment=held, pair=pair)
    end(held)
    return given


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


def flag(**values: object) -> Flag:
    held = values.pop("assignment", None) or AssignmentFactory()
    asked = {"annotator": held.annotator, "pair": held.batch.pairs.first(), "reason": "broken"}  # type: ignore[attr-defined]
    return Flag.objects.create(assignment=held, **{**asked, **values})


def token(**values: object) -> AccessToken:
    digest = sha256(uuid4().bytes).hexdigest()
    return AccessToken.objects.create(**{"user": UserFactory(), "name": "a token", "digest": digest, **values})


def query_set(**values: object) -> NamedQuerySet:
    project = values.pop("project", None) or ProjectFactory()
    return NamedQuerySet.objects.create(project=project, **{"name": "pilot", **values})


def judgment_not_asked_for(**values: object) -> Callable[[], Write]:
    """A grade under an open assignment that differs from what it asks for."""
    return lambda: partial(JudgmentFactory, assignment=AssignmentFactory(), **values)


def judgment_after_the_end(state: str) -> Callable[[], Write]:
    return lambda: partial(JudgmentFactory, assignment=AssignmentFactory(state=state))


def judgment_in_state(state: str, number: int = 1, **values: object) -> Callable[[], Write]:
    """A grade of round ``number`` for a pair in this state."""

    def prepare() -> Write:
        held = AssignmentFactory(batch__round=number)
        held.batch.pairs.update(state=state, **values)
        return partial(JudgmentFactory, assignment=held)

    return prepare


def judgment_of_another_batch() -> Write:
    return partial(JudgmentFactory, assignment=AssignmentFactory(), pair=pair_of_batch(), position=1)


def judgment_left_out() -> Write:
    """Of the same batch, but the assignment holds only its second pair."""
    batch = BatchFactory()
    first, second = batch.pairs.order_by("pk")
    held = AssignmentFactory(batch=batch, pair_ids=[second.pk])
    return partial(JudgmentFactory, assignment=held, pair=first, position=1)


def same_without_assignment() -> Write:
    held = AssignmentFactory()
    values = {"annotator": held.annotator, "pair": held.batch.pairs.first(), "round": 1, "seat": 1, "position": 1}
    in_force = {"guideline": held.project.guidelines.get(), "policy": held.project.policies.get()}
    return partial(Judgment.objects.create, assignment=None, grade=1, source="person", **values, **in_force)


def imported_judgment() -> Judgment:
    pair = pair_of_batch()
    person = MembershipFactory(project=pair.batch.project).user
    return Judgment.objects.create(pair=pair, annotator=person, round=1, seat=1, grade=1, source="imported")


def flag_after_the_end(state: str) -> Callable[[], Write]:
    return lambda: partial(flag, assignment=AssignmentFactory(state=state))


def flag_taken_back_after_the_end() -> Write:
    given = flag()
    end(given.assignment, "finished")
    return lambda: Flag.objects.filter(pk=given.pk).update(withdrawn_at=NOW)


def flag_not_asked_for(**values: Callable[[], object]) -> Callable[[], Write]:
    return lambda: partial(flag, **{name: value() for name, value in values.items()})


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
    "moment_clip_is_of_a_ready_preview": change(lambda: MomentFactory(uncut=True), preview_clip="a.mp4"),
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
    "access_token_name_once_per_person": again(token, user=UserFactory),
    "access_token_is_kept_as_digest": change(token, digest="mj_the_token_itself"),
    "query_set_name_once_per_project": again(query_set, project=ProjectFactory),
    "query_set_priority_is_known": change(query_set, priority=2),
    "job_runs_once_per_project_and_kind": again(job, project=ProjectFactory),
    "job_done_within_total": change(job, done=1),
    # judging
    "batch_number_once_per_query": again(BatchFactory, query=QueryFactory, pairs=0),
    "batch_number_is_1_or_2": change(BatchFactory, number=3),
    "batch_round_is_1_or_2": change(BatchFactory, round=3),
    "batch_has_two_seats_a_round": change(BatchFactory, free_seats=3),
    "batch_done_has_its_time": change(BatchFactory, state="done"),
    "pair_settled_has_its_relevance": change(PairFactory, state="settled"),
    "pair_out_says_why": change(PairFactory, state="dropped"),
    "assignment_one_holder_per_seat": seat_taken_twice,
    "assignment_one_open_per_annotator": two_open_assignments,
    "assignment_seat_is_1_or_2": change(AssignmentFactory, seat=3),
    "assignment_round_is_1_or_2": change(AssignmentFactory, round=3),
    "assignment_asks_for_something": change(AssignmentFactory, pair_ids=[]),
    "assignment_ended_has_its_time": change(AssignmentFactory, state="lapsed"),
    "judgment_once_per_pair_and_annotator": same_person_again,
    "judgment_two_per_pair_and_round": three_of_one_round,
    "judgment_grade_from_0_to_4": change(JudgmentFactory, grade=5),
    "judgment_seat_is_1_or_2": change(JudgmentFactory, seat=3),
    "judgment_round_is_1_or_2": change(JudgmentFactory, round=3),
    "judgment_given_under_an_assignment_unless_imported": change(JudgmentFactory, assignment=None),
    "judgment_previous_grade_from_0_to_4": change(JudgmentFactory, previous_grade=5),
    "flag_once_per_pair_and_annotator": again(flag, assignment=AssignmentFactory),
    "flag_says_why": change(flag, reason="boring"),
    "judgment_change_is_one": change(judgment_change, to_grade=1),
    "policy_version_once_per_project": lambda: lambda: PolicyFactory(project=ProjectFactory()),
    "policy_lease_lasts": change(policy, lease_minutes=0),
    "policy_mean_is_a_relevance": change(policy, extend_from_mean=4.5),
    "guideline_version_once_per_project": lambda: lambda: GuidelineFactory(project=ProjectFactory()),
    "guideline_example_once_per_grade": again(example, guideline=first_guideline),
    "guideline_example_grade_from_0_to_4": change(example, grade=5),
    "pay_rate_is_an_amount": lambda: partial(paid, rate=-1),
    "hours_correction_says_what_and_why": lambda: partial(correction, seconds=0),
    "policy_pay_is_an_amount": change(policy, pay_cap_s=0),
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
    "a grade is kept with its policy": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, policy=None),
    ),
    "a grade has its place": (
        "judgment_given_under_an_assignment_unless_imported",
        change(JudgmentFactory, position=None),
    ),
    "places count from 1": ("judgment_given_under_an_assignment_unless_imported", change(JudgmentFactory, position=0)),
    "audit events do not change": ("append-only", change(audit_event, action="nothing")),
    "audit events stay": ("append-only", lambda: audit_event().delete),
    "ranks are frozen by the batch": ("are frozen", change(frozen_candidate, rank=9)),
    "similarity is frozen by the batch": ("are frozen", change(frozen_candidate, similarity=0.1)),
    "candidates of a batch stay": ("are frozen", lambda: frozen_candidate().delete),
    **{
        f"no grade under a {state} assignment": ("does not ask for pair", judgment_after_the_end(state))
        for state in ("finished", "lapsed", "returned")
    },
    "no grade in somebody else's name": (
        "does not ask for pair",
        lambda: partial(JudgmentFactory, annotator=MembershipFactory().user),
    ),
    "no grade at another seat": ("does not ask for pair", judgment_not_asked_for(seat=2)),
    "no grade in another round": ("does not ask for pair", judgment_not_asked_for(round=2)),
    "no grade in another place": ("does not ask for pair", judgment_not_asked_for(position=2)),
    "no grade beyond the last place": ("does not ask for pair", judgment_not_asked_for(position=3)),
    "no grade for a pair of another batch": ("does not ask for pair", judgment_of_another_batch),
    "no grade for a pair left out": ("does not ask for pair", judgment_left_out),
    "no grade without an assignment": ("does not ask for pair", same_without_assignment),
    "no grade for a settled pair": ("does not ask for pair", judgment_in_state("settled", relevance=2)),
    "no grade for a dropped pair": ("does not ask for pair", judgment_in_state("dropped", reason="no_consensus")),
    "no grade for a withdrawn pair": ("does not ask for pair", judgment_in_state("withdrawn", reason="flagged_twice")),
    "no first grade for an escalated pair": ("does not ask for pair", judgment_in_state("escalated")),
    "no second grade for an open pair": ("does not ask for pair", judgment_in_state("open", 2)),
    "grades stay": ("never deleted", lambda: JudgmentFactory().delete),
    "imported grades stay": ("never deleted", lambda: imported_judgment().delete),
    "grades stay, many at once too": ("never deleted", lambda: Judgment.objects.filter(pk=JudgmentFactory().pk).delete),
    **{
        f"no flag under a {state} assignment": ("takes no flag", flag_after_the_end(state))
        for state in ("finished", "lapsed", "returned")
    },
    "no flag in somebody else's name": (
        "takes no flag",
        flag_not_asked_for(annotator=lambda: MembershipFactory().user),
    ),
    "no flag on a pair of another batch": ("takes no flag", flag_not_asked_for(pair=pair_of_batch)),
    "flags of an ended assignment are final": ("takes no flag", flag_taken_back_after_the_end),
    "grades of an ended assignment are final": ("is final", change(finished_judgment, grade=0)),
    "the time of an ended assignment's grades is final": ("is final", change(finished_judgment, active_ms=1)),
    "comments of an ended assignment are final": ("is final", change(finished_judgment, comment="later")),
    **{
        f"a judgment keeps its {field}": ("stays where it was given", change(JudgmentFactory, **{field: value}))
        for field, value in {"round": 2, "seat": 2, "position": 2, "previous_grade": 1, "source": "simulated"}.items()
    },
    "a currency has three capital letters": ("pay_rate_is_an_amount", lambda: partial(paid, currency="sgd")),
    "the policy's currency, too": ("policy_pay_is_an_amount", change(policy, pay_currency="$")),
    "no correction without a reason": ("hours_correction_says_what_and_why", lambda: partial(correction, reason="")),
    "rates stay": ("are kept", change(paid, rate=15)),
    "rates are not deleted": ("are kept", lambda: paid().delete),
    "corrections stay": ("are kept", change(correction, seconds=61)),
    "corrections are not deleted": ("are kept", lambda: correction().delete),
    "earlier grades stay": ("are kept", change(judgment_change, to_grade=0)),
    "earlier grades are not deleted": ("are kept", lambda: judgment_change().delete),
    "flags are not deleted": ("not deleted", lambda: flag().delete),
    **{
        f"an assignment keeps its {field}": ("stays what it was", change(AssignmentFactory, **{field: value}))
        for field, value in {"round": 2, "seat": 2, "pair_ids": [1]}.items()
    },
    "an ended assignment is not opened again": (
        "stays what it was",
        change(lambda: AssignmentFactory(state="returned"), state="open", ended_at=None),
    ),
}
CASES = {**{name: (name, prepare) for name, prepare in REFUSED.items()}, **MORE}


@pytest.mark.parametrize("case", CASES)
def test_bad_row_is_refused(case: str) -> None:
    words, prepare = CASES[case]
    write = prepare()
    only_constraints = case in REFUSED or words in REFUSED
    watched = triggers_asleep() if only_constraints else nullcontext()
    with pytest.raises(IntegrityError, match=words), transaction.atomic(), watched:
        write()


def judgment_change() -> JudgmentChange:
    return JudgmentChange.objects.create(judgment=JudgmentFactory(), from_grade=3, to_grade=2)


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
    assert names == {
        "assignment_stays",
        "audit_event_is_append_only",
        "candidate_is_frozen",
        "flag_is_asked_for",
        "flag_is_kept",
        "hours_correction_is_kept",
        "judgment_change_is_kept",
        "judgment_is_asked_for",
        "judgment_is_final",
        "judgment_is_kept",
        "pay_rate_is_kept",
    }


def test_grades_of_an_open_assignment_may_change() -> None:
    given = JudgmentFactory()
    assert Judgment.objects.filter(pk=given.pk).update(grade=0) == 1


def test_candidates_of_no_batch_may_change() -> None:
    candidate = CandidateFactory()
    assert Candidate.objects.filter(pk=candidate.pk).update(rank=9) == 1
    candidate.delete()


@pytest.mark.parametrize("state", ["finished", "lapsed", "returned"])
def test_a_seat_whose_assignment_has_ended_is_free_again(state: str) -> None:
    """Whether a pair of it still lacks a grade is the service's to say."""
    ended = AssignmentFactory(state=state)
    assert AssignmentFactory(batch=ended.batch, seat=ended.seat)


def test_an_escalated_pair_is_judged_in_round_2() -> None:
    held = AssignmentFactory(batch__round=2)
    held.batch.pairs.update(state="escalated")
    assert JudgmentFactory(assignment=held).round == 2


def test_a_flag_that_was_taken_back_may_be_set_again() -> None:
    first = flag()
    Flag.objects.filter(pk=first.pk).update(withdrawn_at=NOW)
    flag(assignment=first.assignment)
    assert Flag.objects.filter(pair=first.pair, withdrawn_at=None).count() == 1


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
