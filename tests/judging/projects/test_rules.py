"""The rules of a project: begun with, changed until somebody judges, fixed then."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from core.exceptions import NotPossible
from judging.exceptions import GradeUnknown, NotPossibleNow
from judging.guidelines.selectors import guideline_in_force, levels_of, policy_in_force
from judging.guidelines.services import draft_example_set
from judging.models import Batch
from judging.projects.services import project_create, rules_change
from judging.qualification.services.training import training_pair_grade
from judging.work.rules import PRESETS, RULE_FIELDS
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CorpusFactory,
    KnownPairFactory,
    MomentFactory,
    ProjectFactory,
    QueryFactory,
    lead,
)

pytestmark = pytest.mark.django_db
YES_OR_NO = PRESETS["yes-or-no"][1]


def rules_in(project: Project) -> dict[str, int]:
    project.refresh_from_db()
    return {name: getattr(project, name) for name in RULE_FIELDS}


@pytest.mark.parametrize("preset", PRESETS)
def test_a_project_begins_with_its_preset_and_what_fits_it(preset: str) -> None:
    rules = PRESETS[preset][1]
    project, _ = project_create(name="new", corpus=CorpusFactory(), sizes=None, rules=rules)
    assert rules_in(project) == rules
    assert guideline_in_force(project.pk).levels == levels_of(rules["top_grade"])
    default = project_create(name="paper's", corpus=CorpusFactory(), sizes=None)[0]
    share = rules["top_grade"] / 4
    from_mean = policy_in_force(default.pk).extend_from_mean
    assert policy_in_force(project.pk).extend_from_mean == pytest.approx(from_mean * share)
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


def test_rules_are_fixed_once_somebody_has_begun_or_a_truth_is_known() -> None:
    begun = AssignmentFactory().project
    trained = KnownPairFactory(exam=None, source="lead", truth=2, project=ProjectFactory()).project
    for project, reason in ((begun, "Somebody has begun"), (trained, "pairs of known truth")):
        before = rules_in(project)
        with pytest.raises(NotPossibleNow, match=reason):
            rules_change(project=project, actor=lead(project), values=YES_OR_NO)
        assert rules_in(project) == before


def test_a_lead_changes_them_on_their_page(client: Client) -> None:
    project = ProjectFactory()
    client.force_login(lead(project))
    page, change = (reverse(f"judging:{name}", args=[project.uuid]) for name in ("rules", "rules-change"))
    form = {name: int(value) for name, value in YES_OR_NO.items()} | {"has_second_batch": ""}
    assert client.post(change, {**form, "max_spread": 1}).status_code == 422
    assert client.post(change, form).headers["Location"] == page
    assert rules_in(project) == YES_OR_NO | {"has_second_batch": False}
    text = client.get(page).content.decode()
    assert "from 0 to 1" in text and "there is no second one" in text


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
