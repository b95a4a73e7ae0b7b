"""What a figure is asked for: the filters of its address. What makes no sense is as if it were not there."""

from dataclasses import dataclass
from functools import cached_property

from django.http import QueryDict

from accounts.models import Project
from annotation.models import NamedQuerySet, Query
from core.texts import uuid_or_none
from judging.figures.selectors import Scope
from judging.quality.rules.agreement import Weights
from judging.quality.selectors import people_have_judged
from judging.review.selectors import annotator_numbers


@dataclass(frozen=True)
class Asked:
    """The filters of a figure's address, in a project."""

    project: Project
    given: QueryDict

    @property
    def split(self) -> str:
        split = self.given.get("split", "")
        return split if split in Query.Split.values else ""

    @cached_property
    def query_sets(self) -> list[NamedQuerySet]:
        return list(self.project.query_sets.order_by("name"))

    @cached_property
    def query_set(self) -> NamedQuerySet | None:
        uuid = uuid_or_none(self.given.get("set", ""))
        return next((one for one in self.query_sets if one.uuid == uuid), None)

    @cached_property
    def has_simulated(self) -> bool:
        return self.project.memberships.filter(user__is_simulated=True).exists()

    @cached_property
    def may_leave_out_simulated(self) -> bool:
        return self.has_simulated and people_have_judged(self.project)

    @property
    def simulated(self) -> bool:
        return "simulated" in self.given or not self.may_leave_out_simulated

    @property
    def pilot(self) -> bool:
        return "pilot" in self.given

    @cached_property
    def has_pilots(self) -> bool:
        return self.project.batches.filter(is_pilot=True).exists()

    @property
    def pooled(self) -> bool:
        return "pooled" in self.given

    @cached_property
    def has_pooled(self) -> bool:
        return self.project.batches.filter(pooling__isnull=False).exists()

    @cached_property
    def has_imported(self) -> bool:
        return self.project.queries.filter(is_placeholder=True).exists()

    @property
    def words(self) -> str:
        return self.given.get("q", "").replace("\0", "").strip()

    @property
    def weights(self) -> Weights:
        asked = self.given.get("weights", "")
        return Weights(asked) if asked in list(Weights) else Weights.QUADRATIC

    @cached_property
    def annotators(self) -> dict[int, int]:
        """Account by number."""
        return {number: user for user, number in sorted(annotator_numbers(self.project).items())}

    @cached_property
    def annotator(self) -> int | None:
        """The number of the one that is asked for."""
        number = self.given.get("annotator", "")
        return int(number) if number.isascii() and number.isdigit() and int(number) in self.annotators else None

    @property
    def scope(self) -> Scope:
        return Scope(
            project_id=self.project.pk,
            split=self.split,
            query_set_id=self.query_set.pk if self.query_set else None,
            simulated=self.simulated,
            pilot=self.pilot,
            pooled=self.pooled,
        )

    @property
    def in_words(self) -> str:
        """What the filters leave, for titles of files."""
        parts = [
            f"split {self.split}" if self.split else "",
            f"query set {self.query_set}" if self.query_set else "",
            "without simulated annotators" if self.has_simulated and not self.simulated else "",
            "with pilots" if self.pilot else "",
            "with pools" if self.pooled else "",
        ]
        return ", ".join([str(self.project), *filter(None, parts)])
