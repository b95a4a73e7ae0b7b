"""Figures are computed from the rows, once at a time, and alerts are raised for a lead to look at."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Membership, Project, User
from core.exceptions import NotPossible
from core.models import AuditEvent
from judging.guidelines.services import policy_publish
from judging.models import Batch, QualityAlert, QualityReport
from judging.quality.selectors import newest_judgment
from judging.quality.services import alert_see, quality_compute, quality_sweep
from judging.work.services.batches import batch_advance
from tests.conftest import Messages
from tests.factories import NOW, BatchFactory, ProjectFactory, QueryFactory, admin, annotator, lead
from tests.judging.play import judge

pytestmark = pytest.mark.django_db
GRADES = [4, 3, 2, 1, 0, 3]
NEAR = [3, 3, 3, 3, 3, 2]  # to six times 3: every pair is settled


def judged(project: Project, *people: User, grades: list[list[int]]) -> Batch:
    batch: Batch = BatchFactory(query=QueryFactory(project=project), pairs=len(grades[0]))
    for person, person_grades in zip(people, grades, strict=True):
        judge(batch, person_grades, person)
    batch_advance(batch_id=batch.pk)
    return batch


@pytest.fixture
def project() -> Project:
    new_project: Project = ProjectFactory()
    policy_publish(project=new_project, actor=None, alert_from=6, alert_run=6, alert_kappa=-1.0, alert_fast_streak=99)
    return new_project


def number_of(person: User) -> str:
    return str(Membership.objects.get(user=person).number)


def test_figures_by_hand(project: Project) -> None:
    one, other = annotator(project), annotator(project)
    judged(project, one, other, grades=[GRADES, [4, 3, 2, 1, 0, 2]])
    assert quality_compute(project_id=project.pk, now=NOW)
    report = QualityReport.objects.get()
    result = report.data["annotators"][number_of(other)]
    assert (result["judgments"], result["consensus"], result["longest_run"]) == (6, 1.0, 1)
    assert result["bias"] == pytest.approx(-1 / 6)  # 2 and 3 settle at 3
    assert [partner["annotator"] for partner in result["partners"]] == [int(number_of(one))]
    assert result["partners"][0]["pairs"] == 6
    assert report.data["project"]["alpha"] > 0.9
    assert report.last_judgment == newest_judgment(project.pk)


def test_pilots_and_open_work_are_left_out(project: Project) -> None:
    one, other = annotator(project), annotator(project)
    pilot = judged(project, one, other, grades=[GRADES, GRADES])
    Batch.objects.filter(pk=pilot.pk).update(is_pilot=True)
    quality_compute(project_id=project.pk, now=NOW)
    assert QualityReport.objects.get().data == {
        "project": {"judgments": 0, "pairs": 0, "alpha": None, "fleiss": None, "distribution": [0] * 5},
        "annotators": {},
    }


def test_an_alert_is_raised_once_and_again_only_after_more_judgments(project: Project) -> None:
    one, other = annotator(project), annotator(project)
    judged(project, one, other, grades=[[3] * 6, NEAR])
    for _ in range(2):
        quality_compute(project_id=project.pk, now=NOW)
    alert, chief = QualityAlert.objects.get(), lead(project)
    assert (alert.kind, alert.value, alert.threshold, alert.annotator) == ("run", 6.0, 6.0, one)
    alert_see(alert=alert, lead=chief, note="All of one query")
    with pytest.raises(NotPossible, match="already"):
        alert_see(alert=alert, lead=chief)
    event = AuditEvent.objects.get(action="alert.see")
    assert (event.data["note"], event.data["annotator"]) == ("All of one query", int(number_of(one)))
    assert Membership.objects.get(user=one).status == "qualified"
    quality_compute(project_id=project.pk, now=NOW)
    assert QualityAlert.objects.count() == 1
    judged(project, one, annotator(project), grades=[GRADES, GRADES])
    quality_compute(project_id=project.pk, now=NOW)
    assert QualityAlert.objects.filter(annotator=one, seen_at=None).count() == 1


def test_an_alert_shows_figures_of_one_instant_until_it_is_looked_at(project: Project, client: Client) -> None:
    """A run that goes on is longer than all there was when it was first raised; its base must follow."""
    one = annotator(project)
    for number in range(3):
        if number == 2:
            alert_see(alert=QualityAlert.objects.get(annotator=one, kind="run"), lead=lead(project))
        judged(project, one, annotator(project), grades=[[3] * 6, NEAR])
        quality_compute(project_id=project.pk, now=NOW)
    alerts = QualityAlert.objects.filter(annotator=one, kind="run").order_by("pk").values_list("value", "judgments")
    assert list(alerts) == [(12.0, 12), (18.0, 18)]
    client.force_login(lead(project))
    page = " ".join(client.get(reverse("judging:alerts", args=[project.uuid])).content.decode().split())
    assert "18, where the policy says 6; computed when the annotator had 18 final judgments." in page


def test_the_sweep_computes_what_is_new_and_not_fresh(project: Project, messages: Messages) -> None:
    judged(project, annotator(project), annotator(project), grades=[GRADES, GRADES])
    with messages():
        quality_sweep(now=NOW)
    computed = QualityReport.objects.get().computed_at
    with messages() as callbacks:
        quality_sweep(now=computed + timedelta(hours=1))
    assert callbacks == []
    judged(project, annotator(project), annotator(project), grades=[GRADES, GRADES])
    with messages() as callbacks:
        quality_sweep(now=computed + timedelta(minutes=1))
    assert callbacks == []
    with messages() as callbacks:
        quality_sweep(now=computed + timedelta(minutes=6))
    assert len(callbacks) == 1


class TestPages:
    def test_of_a_project_without_and_with_figures(self, project: Project, client: Client) -> None:
        client.force_login(admin(project))
        page = reverse("judging:agreement", args=[project.uuid])
        assert "No figures yet" in client.get(page).content.decode()
        one = annotator(project)
        judged(project, one, annotator(project), grades=[[3] * 6, [3] * 6])
        quality_compute(project_id=project.pk, now=NOW)
        text = client.get(page).content.decode()
        assert "undefined" in text and "NaN" not in text and "nan" not in text
        mine = client.get(reverse("judging:agreement-of", args=[project.uuid, number_of(one)])).content.decode()
        assert "Kappa is undefined" in mine and "1970" not in mine
        table = client.get(reverse("judging:agreement-csv", args=[project.uuid])).content.decode().splitlines()
        assert table[0].startswith('"annotator","judgments","consensus","kappa_unweighted"')
        assert table[1].split(",")[1:4] == ["6", "1.0", ""]
        assert client.get(reverse("judging:agreement-of", args=[project.uuid, 999])).status_code == 404

    def test_alerts_can_be_noted_by_a_lead_only(self, project: Project, client: Client) -> None:
        judged(project, annotator(project), annotator(project), grades=[[3] * 6, NEAR])
        quality_compute(project_id=project.pk, now=NOW)
        see = reverse("judging:alert-see", args=[QualityAlert.objects.get().uuid])
        client.force_login(admin(project))
        page = client.get(reverse("judging:alerts", args=[project.uuid])).content.decode()
        assert "A long run of one grade" in page and "I have looked at it" not in page
        client.force_login(lead(project))
        assert client.post(see, {"note": "one query"}).status_code == 302
        assert "one query" in client.get(reverse("judging:alerts", args=[project.uuid]) + "?seen=1").content.decode()
