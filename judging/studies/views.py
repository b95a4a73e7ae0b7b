"""Coverage studies: what is asked, what would be judged, and what was found."""

import re
import secrets
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Project
from annotation.models import NamedQuerySet, Pooling, Query
from annotation.pools.rules import DEPTHS, OTHERS, QUERIES, TOP
from annotation.pools.services.poolings import Draw, pooling_discard
from core.exceptions import NotPossible
from judging.figures.study_charts import study_figure
from judging.figures.views import drawing_answer, file_answer
from judging.studies.rules import grade_range, least_highly
from judging.studies.selectors import (
    coverage_studies,
    plan_shortfall,
    pool_report,
    pooled_progress,
    queries_planned,
    study_coverage,
)
from judging.studies.services import coverage_request, pool_job, pool_open_request, queries_chosen, queries_to_study

study_page = partial(row_page, Pooling.objects.filter(seed__isnull=False).select_related("project"), STAFF)
ALL, SPLIT, SET = "all", "split:", "set:"
LARGEST_SEED, LARGEST_NUMBER = 2**31 - 1, 2**53


class CoverageForm(forms.Form):
    """Which queries a study is of, and how much is judged for each."""

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
        n_ranks = project.batch_size * (1 + project.has_second_batch)
        n_ranks = project.strata[-1][1] if project.strata else n_ranks
        self.fields["top"].help_text = f"Ranks 1 to {n_ranks} are judged already, or in part."
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
        finished_numbers = set(
            queries_to_study(self.project).filter(number__in=numbers).values_list("number", flat=True)
        )
        if unknown := [str(number) for number in numbers if number not in finished_numbers]:
            raise forms.ValidationError(f"Not judged to their end, or not there: {', '.join(unknown)}.")
        return numbers

    def clean(self) -> dict[str, Any]:
        values = super().clean() or {}
        if not self.errors and not values["numbers"] and not values["n"]:
            self.add_error("n", "Say which queries, or how many.")
        return values

    def queries(self) -> list[Query]:
        values = self.cleaned_data
        if values["numbers"]:
            return list(queries_to_study(self.project).filter(number__in=values["numbers"]).order_by("number"))
        kind, _, name = values["which"].partition(":")
        split, query_set = name if kind == "split" else "", self.sets[name] if kind == "set" else None
        finished = queries_to_study(self.project, split=split, query_set=query_set)
        return queries_chosen(finished, n=values["n"], seed=values["seed"])

    def lack(self, n_drawn: int) -> str:
        """Explain that fewer queries than requested are finished."""
        n = self.cleaned_data["n"]
        if self.cleaned_data["numbers"] or n_drawn >= n:
            return ""
        return f"{n_drawn} {'is' if n_drawn == 1 else 'are'} finished: fewer queries than the {n} asked for."


@project_page(STAFF)
def studies(request: MemberRequest, project: Project) -> HttpResponse:
    """The project's studies, and the form for another."""
    form = CoverageForm(project=project, initial={"seed": secrets.randbelow(LARGEST_SEED)})
    return _studies(request, project, form)


def _studies(request: HttpRequest, project: Project, form: CoverageForm, *, status: int = 200) -> HttpResponse:
    row = coverage_studies(project)
    context = {
        "form": form,
        "studies": [(study, queries_planned(study).count()) for study in row],
        "finished": queries_to_study(project).count(),
    }
    return render(request, "judging/studies/studies.html", context, status=status)


@project_action(STAFF, back="judging:coverage")
def study_create(request: MemberRequest, project: Project) -> HttpResponse:
    """Order a plan; nothing is opened by it."""
    form = CoverageForm(request.POST, project=project)
    if not form.is_valid():
        return _studies(request, project, form, status=422)
    queries = form.queries()
    draw = Draw(**{name: form.cleaned_data[name] for name in ("seed", "top", "others")})
    study = coverage_request(project=project, queries=queries, draw=draw, actor=request.user)
    if lack := form.lack(len(queries)):
        messages.warning(request, lack)
    return redirect("judging:coverage-study", study.uuid)


@study_page()
def study(request: MemberRequest, study: Pooling) -> HttpResponse:
    """One study: how far it is, what is to be judged for it, what was found."""
    context: dict[str, object] = {"study": study, "queries": queries_planned(study)}
    context["shortfall"] = plan_shortfall(study)
    if study.is_at_work:
        context["job"] = study.project.jobs.filter(kind=pool_job(study)).order_by("-pk").first()
    elif study.state == Pooling.State.READY:
        context["report"] = report = pool_report(study)
        context["judgments"] = study.project.judges * report.union.to_judge
        context["finished"] = queries_to_study(study.project).count()
    elif study.state == Pooling.State.DONE:
        context |= {"sheet": study_figure(study), "progress": pooled_progress(study)}
        context["coverage"] = coverage = study_coverage(study)
        top_grade = study.project.top_grade
        context["relevant_grades"] = grade_range(1, top_grade)
        context["highly_grades"] = grade_range(least_highly(top_grade), top_grade)
        queries = len(coverage.by_query)
        context["beyond"] = [(one, one.per_query(queries)) for one in coverage.beyond]
    return render(request, "judging/studies/study.html", context)


@study_page(back="judging:coverage-study")
def study_open(request: MemberRequest, study: Pooling) -> HttpResponse:
    pool_open_request(pooling=study, actor=request.user)
    return redirect("judging:coverage-study", study.uuid)


@study_page(back="judging:coverage-study")
def study_discard(request: MemberRequest, study: Pooling) -> HttpResponse:
    try:
        pooling_discard(pooling=study)
    except NotPossible:
        messages.error(request, "This study is opened: its pairs are judged.")
        return redirect("judging:coverage-study", study.uuid)
    messages.success(request, "The plan was discarded; nothing was opened.")
    return redirect("judging:coverage", study.project.uuid)


@study_page()
def study_svg(request: MemberRequest, study: Pooling) -> HttpResponse:
    drawing = study_figure(study).svg(f"Coverage study: {study.project}", empty="Nothing is judged yet.")
    return drawing_answer(drawing, "coverage")


@study_page()
def study_csv(request: MemberRequest, study: Pooling) -> HttpResponse:
    """A row for each query and band."""
    return file_answer(study_figure(study).csv(), "text/csv; charset=utf-8", "coverage.csv")
