"""The rules of a project: begun with, changed until somebody judges, fixed then."""

import pytest

from accounts.models import Project
from annotation.models import Candidate
from core.exceptions import NotPossible
from core.jobs import job_start
from judging.exceptions import GradeUnknown, NotPossibleNow
from judging.guidelines.selectors import guideline_in_force, levels_of, policy_in_force
from judging.guidelines.services import draft_example_set, policy_publish
from judging.models import Batch
from judging.projects.services import project_create, rules_change
from judging.qualification.services.training import training_pair_grade
from judging.work.rules import PRESETS, RULE_FIELDS
from tests.factories import (
    NOW,
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    CorpusFactory,
    KnownPairFactory,
    MomentFactory,
    PoolingFactory,
    ProjectFactory,
    QueryFactory,
    lead,
)

pytestmark = pytest.mark.django_db
YES_OR_NO = PRESETS["yes-or-no"][1]


def rules_in(project: Project) -> dict[str, int]:
    project.refresh_from_db()
    return {name: getattr(project, name) for name in RULE_FIELDS}


def thresholds(project: Project) -> tuple[float, float, float]:
    """Return the values of the policy in force that are measured in grades."""
    policy = policy_in_force(project.pk)
    return policy.extend_from_mean, policy.exam_bias, policy.alert_bias


@pytest.mark.parametrize("preset", PRESETS)
def test_a_project_begins_with_its_preset_and_what_fits_it(preset: str) -> None:
    rules = PRESETS[preset][1]
    project, _ = project_create(name="new", corpus=CorpusFactory(), sizes=None, rules=rules)
    assert rules_in(project) == rules
    assert guideline_in_force(project.pk).levels == levels_of(rules["top_grade"])
    default = project_create(name="paper's", corpus=CorpusFactory(), sizes=None)[0]
    share = rules["top_grade"] / 4
    assert thresholds(default) == (2.0, 0.6, 0.75)
    assert thresholds(project) == tuple(share * value for value in thresholds(default))
    copy, _ = project_create(name="copy", corpus=CorpusFactory(), sizes=None, settings_of=project)
    assert rules_in(copy) == rules


def test_rules_that_cannot_be_are_refused() -> None:
    for rules in ({"max_spread": 4}, {"judges": 4}, {"batch_size": 51}):
        with pytest.raises(NotPossible):
            project_create(name="new", corpus=CorpusFactory(), sizes=None, rules=rules)
    assert not Project.objects.filter(name="new").exists()


def test_other_rules_take_back_batches_that_nobody_has_begun() -> None:
    project = ProjectFactory()
    BatchFactory(query=QueryFactory(project=project))
    actor = lead(project)
    assert rules_change(project=project, actor=actor, values=rules_in(project)) == 0
    assert Batch.objects.filter(project=project).count() == 1
    assert rules_change(project=project, actor=actor, values=YES_OR_NO) == 1
    assert not Batch.objects.filter(project=project).exists()
    assert rules_in(project) == YES_OR_NO
    assert guideline_in_force(project.pk).levels == levels_of(1)
    event = project.audit_events.get(action="project.rules")
    assert (event.actor, event.data["changes"]) == (
        actor,
        ["top_grade 4 to 1", "judges 2 to 3", "max_spread 1 to 0"],
    )


def test_thresholds_in_grades_follow_the_scale() -> None:
    project, _ = project_create(name="new", corpus=CorpusFactory(), sizes=None)
    actor, rules = lead(project), rules_in(project)
    rules_change(project=project, actor=actor, values=rules | {"top_grade": 9})
    assert thresholds(project) == (4.5, 0.6, 1.6875)
    rules_change(project=project, actor=actor, values=rules)
    assert thresholds(project) == (2.0, 0.6, 0.75)
    policy_publish(project=project, actor=actor, exam_bias=5, alert_bias=40)  # more than the scale: nothing is asked
    rules_change(project=project, actor=actor, values=rules | {"top_grade": 9})
    assert thresholds(project) == (4.5, 9, 9)


def test_two_leads_who_change_other_values_both_succeed() -> None:
    project = ProjectFactory()
    for values in ({"judges": 3}, {"batch_size": 10}):
        rules_change(project=project, actor=lead(project), values=values)
    assert rules_in(project) == rules_in(ProjectFactory()) | {"judges": 3, "batch_size": 10}


def test_an_opened_pool_fixes_them() -> None:
    project = PoolingFactory(state="done", opened_at=NOW).project
    with pytest.raises(NotPossibleNow, match="pool or of a coverage study"):
        rules_change(project=project, actor=lead(project), values={"judges": 3})


@pytest.mark.parametrize(("top_grade", "values"), [(1, (2, 58)), (2, (3, 37)), (4, (3, 25)), (9, (3, 17))])
def test_other_scales_ask_for_what_they_have(top_grade: int, values: tuple[int, int]) -> None:
    """Distinguished levels are no more than there are, and 25 equal grades of five are as odd as 58 of two."""
    project, _ = project_create(name="new", corpus=CorpusFactory(), sizes=None)
    rules_change(project=project, actor=lead(project), values={"top_grade": top_grade, "max_spread": 0})
    policy = policy_in_force(project.pk)
    assert (policy.exam_levels, policy.alert_run) == values


def test_rules_are_fixed_once_somebody_has_begun_or_a_truth_is_known() -> None:
    begun = AssignmentFactory().project
    trained = KnownPairFactory(exam=None, source="lead", truth=2, project=ProjectFactory()).project
    for project, reason in ((begun, "Somebody has begun"), (trained, "pairs of known truth")):
        before = rules_in(project)
        with pytest.raises(NotPossibleNow, match=reason):
            rules_change(project=project, actor=lead(project), values=YES_OR_NO)
        assert rules_in(project) == before


def test_candidates_too_few_for_larger_batches_are_ranked_anew() -> None:
    project = ProjectFactory()
    CandidateFactory(query=QueryFactory(project=project))
    actor = lead(project)
    rules_change(project=project, actor=actor, values=rules_in(project) | {"batch_size": 5})
    assert Candidate.objects.count() == 1
    rules_change(project=project, actor=actor, values=rules_in(project) | {"batch_size": 21})
    assert not Candidate.objects.exists()


def test_they_do_not_change_while_candidates_are_ranked() -> None:
    project = ProjectFactory()
    job_start(project=project, kind="rank", title="Ranking candidates", total=1)
    with pytest.raises(NotPossibleNow, match="Something is being prepared"):
        rules_change(project=project, actor=lead(project), values=YES_OR_NO)


def test_settings_are_taken_with_their_rules_alone() -> None:
    source, _ = project_create(name="source", corpus=CorpusFactory(), sizes=None, rules=YES_OR_NO)
    with pytest.raises(NotPossible, match="The settings of 'source' are for its own rules"):
        project_create(name="copy", corpus=CorpusFactory(), sizes=None, settings_of=source, rules={"judges": 2})
    copy, _ = project_create(name="copy", corpus=CorpusFactory(), sizes=None, settings_of=source, rules=YES_OR_NO)
    assert rules_in(copy) == YES_OR_NO


def test_leads_give_no_grade_that_the_scale_has_not() -> None:
    project = ProjectFactory(top_grade=1, max_spread=0)
    actor = lead(project)
    pair = KnownPairFactory(exam=None, source="lead", project=project)
    moment = MomentFactory(video__corpus=project.dataset.corpus)
    with pytest.raises(GradeUnknown, match="from 0 to 1"):
        training_pair_grade(known_pair=pair, actor=actor, grade=2, explanation="")
    with pytest.raises(GradeUnknown, match="from 0 to 1"):
        draft_example_set(project=project, actor=actor, grade=2, query_text="q", moment=moment)
    assert training_pair_grade(known_pair=pair, actor=actor, grade=1, explanation="").truth == 1
