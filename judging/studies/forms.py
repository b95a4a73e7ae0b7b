"""What a coverage study takes."""

import re
from typing import Any

from django import forms

from accounts.models import Project
from annotation.models import NamedQuerySet, Query
from annotation.pools.rules import DEPTH, DEPTHS, OTHERS, QUERIES, TOP
from annotation.pools.services.poolings import Draw
from judging.studies.services import queries_chosen, queries_to_study

ALL, SPLIT, SET = "all", "split:", "set:"
LARGEST_SEED, LARGEST_NUMBER = 2**31 - 1, 2**53


class CoverageForm(forms.Form):
    numbers = forms.CharField(
        label="Queries by number",
        required=False,
        max_length=2000,
        help_text="As 12, 45, 103; leave it empty to have them drawn.",
    )
    n = forms.IntegerField(
        label="Or so many at random",
        required=False,
        min_value=1,
        max_value=200,
        initial=QUERIES,
        help_text="Of finished queries.",
    )
    which = forms.ChoiceField(label="Drawn from", error_messages={"invalid_choice": "Choose which queries."})
    top = forms.IntegerField(
        label="Best by similarity",
        min_value=1,
        max_value=DEPTHS[1],
        initial=TOP,
        help_text=f"Ranks 1 to {DEPTH} are judged already, or in part.",
    )
    others = forms.IntegerField(
        label="Others at random", min_value=0, max_value=DEPTHS[1], initial=OTHERS, help_text="Drawn for each query."
    )
    seed = forms.IntegerField(
        min_value=0, max_value=LARGEST_SEED, help_text="The same seed on the same project draws the same."
    )

    def __init__(self, *args: Any, project: Project, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.project = project
        self.sets: dict[str, NamedQuerySet] = {str(row.uuid): row for row in project.query_sets.order_by("name")}
        which = self.fields["which"]
        assert isinstance(which, forms.ChoiceField)
        splits = [(SPLIT + split, f"split {split}") for split in (Query.Split.VAL.value, Query.Split.TEST.value)]
        sets = [(SET + uuid, f"query set {row.name}") for uuid, row in self.sets.items()]
        which.choices = [(ALL, "all finished queries"), *splits, *sets]

    def clean_numbers(self) -> list[int]:
        words = re.split(r"[\s,;]+", self.cleaned_data["numbers"].strip())
        if words == [""]:
            return []
        if not all(re.fullmatch(r"[0-9]{1,16}", word) for word in words):
            raise forms.ValidationError("Numbers of queries, separated by commas.")
        numbers = sorted({int(word) for word in words})
        known = set(queries_to_study(self.project).filter(number__in=numbers).values_list("number", flat=True))
        if unknown := [str(number) for number in numbers if number not in known]:
            raise forms.ValidationError(f"Not judged to their end, or not there: {', '.join(unknown)}.")
        return numbers

    def clean(self) -> dict[str, Any]:
        said = super().clean() or {}
        if not self.errors and not said["numbers"] and not said["n"]:
            self.add_error("n", "Say which queries, or how many.")
        return said

    def queries(self) -> list[Query]:
        said = self.cleaned_data
        if said["numbers"]:
            return list(queries_to_study(self.project).filter(number__in=said["numbers"]).order_by("number"))
        kind, _, name = said["which"].partition(":")
        found = queries_to_study(
            self.project,
            split=name if kind == "split" else "",
            query_set=self.sets[name] if kind == "set" else None,
        )
        return queries_chosen(found, n=said["n"], seed=said["seed"])

    def lack(self, drawn: int) -> str:
        """What is said where fewer queries than asked for are finished."""
        if self.cleaned_data["numbers"] or drawn >= self.cleaned_data["n"]:
            return ""
        n = self.cleaned_data["n"]
        return f"{drawn} {'is' if drawn == 1 else 'are'} finished: fewer queries than the {n} asked for."

    def draw(self) -> Draw:
        said = self.cleaned_data
        return Draw(seed=said["seed"], top=said["top"], others=said["others"])
