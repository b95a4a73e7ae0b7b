"""Rules of a project: chosen with it, changed until somebody judges, and what follows from them."""

import re
from datetime import date
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Project
from annotation.models import Candidate
from annotation.pools.rules import strata_words
from core.models import AuditEvent
from judging.guidelines.selectors import guideline_in_force, policy_in_force
from judging.guidelines.services import draft_open
from judging.models import Batch, BatchReview, JudgmentDay
from judging.projects.services import rules_change
from judging.work.rules import PRESETS, RULE_FIELDS, TVR_RANKING, rules_of
from tests.factories import (
    AssignmentFactory,
    BatchFactory,
    CandidateFactory,
    KnownPairFactory,
    ProjectFactory,
    admin,
    annotator,
    lead,
)
from tests.judging.play import judge_round
from tests.judging.views.acts import logged_in, url

pytestmark = pytest.mark.django_db
YES_OR_NO = {"top_grade": 1, "judges": 3, "max_spread": 0, "max_rounds": 2, "batch_size": 10}  # no second batch


def rules_form(project: Project, **values: object) -> dict[str, Any]:
    form = {name: getattr(project, name) for name in RULE_FIELDS} | {"strata": strata_words(project.strata)} | values
    return {name: value for name, value in form.items() if value is not False}


def change(client: Client, project: Project, **values: object) -> Any:
    return client.post(url("rules-change", project), rules_form(project, **values))


def test_a_lead_changes_them_until_somebody_judges(lead_client: Client, project: Project) -> None:
    BatchFactory(query__project=project)
    assert change(lead_client, project, **YES_OR_NO, has_second_batch=False).status_code == 302
    project.refresh_from_db()
    assert {name: getattr(project, name) for name in YES_OR_NO} == YES_OR_NO
    assert not project.has_second_batch and not Batch.objects.exists()
    page = lead_client.get(url("rules", project)).content.decode()
    assert "Batches taken back, as nobody had begun them: 1." in page
    assert len(guideline_in_force(project.pk).levels) == 2
    assert policy_in_force(project.pk).extend_from_mean == 0.5
    changes = AuditEvent.objects.get(action="project.rules").data["changes"]
    assert "top_grade 4 to 1" in changes and "max_rounds 2 to 2" not in changes

    batch = BatchFactory(query__project=project)
    assert rules_of(batch) == rules_of(project)
    AssignmentFactory(batch=batch)
    answer = change(lead_client, project, judges=2)
    project.refresh_from_db()
    assert project.judges == 3 and Batch.objects.count() == 1
    assert answer.status_code == 409 and "Somebody has begun to judge." in answer.content.decode()


def test_strata_are_written_in_a_line(lead_client: Client, project: Project) -> None:
    for rank in (1, 40):
        CandidateFactory(query__project=project, rank=rank)
    assert change(lead_client, project, strata="1–10: 10,21-60:6", batch_size=16).status_code == 422
    assert change(lead_client, project, strata=" 1–10: 10,11-60:6", batch_size=16).status_code == 302
    project.refresh_from_db()
    assert strata_words(project.strata) == "1-10: 10, 11-60: 6"
    assert not Candidate.objects.exists()  # ranked to 40, and the strata go to 60
    page = lead_client.get(url("rules", project)).content.decode()
    assert "10 of ranks 1 to 10, 6 of ranks 11 to 60" in page and 'value="1-10: 10, 11-60: 6"' in page
    changes = AuditEvent.objects.get(action="project.rules").data["changes"]
    assert changes == ["batch_size 20 to 16", "strata none to 1-10: 10, 11-60: 6"]
    initial = {f"initial-{name}": value for name, value in rules_form(project).items()}
    assert lead_client.post(url("rules-change", project), rules_form(project) | initial).status_code == 302
    assert AuditEvent.objects.filter(action="project.rules").count() == 1


def test_pairs_of_known_truth_fix_them(lead_client: Client, project: Project) -> None:
    KnownPairFactory(project=project, truth=4)
    change(lead_client, project, top_grade=1, max_spread=0)
    project.refresh_from_db()
    assert project.top_grade == 4


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"max_spread": 4}, "Less than the highest grade: from 0 to 3."),
        ({"top_grade": 10}, "From 1 to 9."),
        ({"judges": 4}, "From 2 to 3."),
        ({"max_rounds": 3}, "From 1 to 2."),
        ({"batch_size": 4}, "From 5 to 50."),
        ({"judges": ""}, "This field is required."),
        ({"strata": "the best"}, "'the best' is no stratum: write ranks and how many are drawn, as in 21-60: 10."),
        ({"strata": "1-20: 19"}, "The strata draw 19 pairs for a batch, which has 20; make both the same."),
    ],
)
def test_rules_that_no_project_can_have(
    lead_client: Client, project: Project, values: dict[str, object], message: str
) -> None:
    answer = change(lead_client, project, **values)
    assert answer.status_code == 422
    assert answer.context["form"].errors == {next(iter(values)): [message]}
    project.refresh_from_db()
    assert rules_of(project) == TVR_RANKING


def test_a_collection_begins_with_the_rules_chosen(lead_client: Client) -> None:
    assert (
        lead_client.post(reverse("judging:collection-new"), {"name": "films", "rules": "yes-or-no"}).status_code == 302
    )
    project = Project.objects.get(name="films")
    assert {name: getattr(project, name) for name in RULE_FIELDS} == PRESETS["yes-or-no"][1]
    assert guideline_in_force(project.pk).levels[1].startswith("Yes")
    assert "The two grades" in guideline_in_force(project.pk).body
    lead_client.post(reverse("judging:collection-new"), {"name": "clips"})
    assert rules_of(Project.objects.get(name="clips")) == TVR_RANKING


def test_costs_stand_beside_the_papers(project: Project) -> None:
    Project.objects.filter(pk=project.pk).update(judges=3, max_rounds=1, has_second_batch=False)
    page = logged_in(admin(project)).get(url("rules", project)).content.decode()
    assert "Leads can change them until somebody begins to judge" in page
    assert "Show what they cost" not in page
    assert page.index("Perfect") < page.index("Unrelated") and page.count('class="grade grade-') == 5
    costs = costs_in(page)
    assert costs["Here"] == ("3", "5,999") and costs[PRESETS["tvr-ranking"][0]] == ("2.36", "6,943")
    assert list(costs) == ["Here", *(label for label, _ in PRESETS.values())]


def costs_in(page: str) -> dict[str, tuple[str, str]]:
    """Judgments of a pair and of 100 queries, by the name of the rules."""
    rows = re.findall(r'<th scope="row">([^<]+)</th>.*?number">([\d.,]+)</td><td class="number">([\d.,]+)', page)
    return {label: (pair, queries) for label, pair, queries in rows}


def cost_of_a_pair(client: Client, project: Project) -> str:
    return costs_in(client.get(url("rules", project)).content.decode())["Here"][0]


def test_what_a_pair_costs_depends_on_the_scale_and_the_spread(lead_client: Client, project: Project) -> None:
    assert cost_of_a_pair(lead_client, project) == "2.36"
    Project.objects.filter(pk=project.pk).update(top_grade=9, max_spread=0)
    assert float(cost_of_a_pair(lead_client, project)) > 3.5


def test_the_cost_of_a_choice_is_shown_before_it_is_made(lead_client: Client, project: Project) -> None:
    page = change(lead_client, project, **YES_OR_NO, only_costs="yes").content.decode()
    costs = costs_in(page)
    assert costs["Here"][0] == "2.36" and float(costs["Your choice"][0]) > 4
    project.refresh_from_db()
    assert rules_of(project) == TVR_RANKING
    page = change(lead_client, project, judges=4, only_costs="yes").content.decode()
    assert "From 2 to 3." in page and "Your choice" not in costs_in(page)


def test_another_scale_says_what_is_in_force_and_what_is_lost(lead_client: Client, project: Project) -> None:
    assert "is discarded then" not in lead_client.get(url("rules", project)).content.decode()
    draft_open(project=project, actor=lead(project))
    assert "is discarded then" in lead_client.get(url("rules", project)).content.decode()
    change(lead_client, project, top_grade=2)
    page = lead_client.get(url("rules", project)).content.decode()
    assert "Versions of another scale are in force: guideline 2, policy 2." in page
    change(lead_client, Project.objects.get(pk=project.pk), batch_size=10)
    assert "of another scale" not in lead_client.get(url("rules", project)).content.decode()


def test_where_there_is_no_second_batch_nothing_is_to_decide(lead_client: Client) -> None:
    batch = BatchFactory(query__project=(project := ProjectFactory(has_second_batch=False)), pairs=1)
    for candidate in range(2):
        CandidateFactory(query=batch.query, rank=21 + candidate)
    judge_round(batch, [1], [1])
    review = BatchReview.objects.get(batch=batch)
    assert review.reason == "Automatic. By the rules of the project there is no second batch."
    client = logged_in(lead(project))
    assert "Take the decision back" not in client.get(reverse("judging:batch", args=[batch.uuid])).content.decode()
    page = client.get(url("review-queue", project)).content.decode()
    assert "nothing is to decide here" in page and "first batch of its pairs" not in page


def test_what_somebody_else_changed_meanwhile_stays(lead_client: Client, project: Project) -> None:
    """The form carries what its lead saw; what they left as it was is not changed back."""
    initial = {f"initial-{name}": getattr(project, name) for name in RULE_FIELDS}
    rules_change(project=project, actor=lead(project), values={"judges": 3})
    assert (
        lead_client.post(url("rules-change", project), rules_form(project, batch_size=10) | initial).status_code == 302
    )
    project.refresh_from_db()
    assert (project.judges, project.batch_size, project.has_second_batch) == (3, 10, True)


def test_what_a_pair_costs_is_counted_once_there_are_enough_judgments(lead_client: Client, project: Project) -> None:
    counts = {"second_round": 99, "simulated": 0, "imported": 0}
    day = JudgmentDay.objects.create(
        project=project, annotator=annotator(project), day=date(2026, 1, 1), judgments=498, **counts
    )
    assert cost_of_a_pair(lead_client, project) == "2.36"
    JudgmentDay.objects.filter(pk=day.pk).update(judgments=500, second_round=100)
    assert cost_of_a_pair(lead_client, project) == "2.50"
