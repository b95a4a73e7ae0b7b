"""Alerts to the lead."""

from tests.factories import NOW, ProjectFactory, QualityAlertFactory, UserFactory
from tests.judging.constraints.writes import Refused, again, change

REFUSED: Refused = {
    "quality_alert_one_unseen_of_a_kind": again(QualityAlertFactory, project=ProjectFactory, annotator=UserFactory),
    "quality_alert_seen_by_somebody": change(QualityAlertFactory, seen_at=NOW),
}
