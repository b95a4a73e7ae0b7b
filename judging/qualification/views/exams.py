"""Pages of leads about exams and their figures. Admins may look; people are numbers here."""

from collections.abc import Callable, Sequence
from functools import partial, reduce
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.access import LEAD, STAFF, MemberRequest, project_action, project_page, row_page
from accounts.models import Membership, Project
from core.exceptions import NotPossible
from core.forms import SubmitForm, errors_as_messages, is_valid_or_message
from core.lists import csv_download
from core.refusals import refusal_log
from judging.exceptions import NotPossibleNow, TooFewPairs, Unfinished
from judging.guidelines.selectors import pass_rule_of, policy_in_force
from judging.models import Exam, ExamAttempt, KnownPair
from judging.qualification.forms import AnchorForm, CloseForm, ExamForm, ExplanationForm, MissedForm
from judging.qualification.rules.passing import LEAST_PAIRS, LEAST_PERCENT, OUGHT_TO_FAIL, Grader
from judging.qualification.selectors import exams as selectors
from judging.qualification.selectors.exams import ExamRow
from judging.qualification.services import exam_attempts
from judging.qualification.services import exams as services
from judging.qualification.services.exams import DEPTH, FEWEST, QUERIES
from judging.quality.rules.agreement import Weights
from judging.work.forms import ReasonForm
from judging.work.rules import near_words, rules_of

EXAMS = Exam.objects.select_related("project")
KNOWN_PAIRS = KnownPair.objects.select_related("project", "exam")
EXAM_ATTEMPTS = ExamAttempt.objects.filter(purpose=ExamAttempt.Purpose.EXAM).select_related("project", "exam")
WEIGHTS = ("quadratic", "linear", "unweighted")
SIZES = ((10, 10), (5, 10), (4, 5))  # to look at, where there is no script
RUNNING = (Exam.State.PREPARING, Exam.State.OPEN)
UNDEFINED = "undefined"
REPORTED: dict[str, Sequence[str]] = {  # column: where a person's report holds it
    **{"pairs": ["n"], "misaligned": ["misaligned"], "mean_bias": ["mean_bias"]},
    **{
        f"kappa_{weights}{part}": ["kappas", weights, *path]
        for weights in Weights
        for part, path in (("", ["value"]), ("_low", ["interval", "low"]), ("_high", ["interval", "high"]))
    },
    **{f"{part}_{weights}": [part, weights, "value"] for part in ("pairwise", "after_feedback") for weights in Weights},
    **{"bias": ["bias"], "levels": ["levels"]},
}
OF_ATTEMPT = ["shown_before", "left_out", "missed_counts", "passed"]
COLUMNS = ["annotator", "state", *REPORTED, *OF_ATTEMPT, "why"]
GRADERS = {
    Grader.RANDOM: "Grades at random",
    Grader.CONSTANT: "Gives everything the same grade",
    Grader.TWO_LEVEL: "Tells only 0 from the rest",
    Grader.SHIFTED: "Grades one too high always",
    Grader.HONEST: "Grades as the paper's annotators did",
}


def share_words(share: float | None) -> str:
    return UNDEFINED if share is None else f"{100 * share:.2f} %"


def chance_words(chance: float) -> str:
    """A chance in percent; what is rounded to none or to all is said to be below or above."""
    if chance < 0.001:
        return "below 0.1 %"
    return "above 99.9 %" if chance > 0.999 else f"{100 * chance:.1f} %"


def _line(row: ExamRow) -> list[object]:
    """One person by annotator number; what is undefined or not there yet is left out."""
    sat, report = row.exam_attempt, row.exam_attempt.report
    values = [reduce(lambda part, name: (part or {}).get(name), path, report) for path in REPORTED.values()]
    return [row.number, sat.state, *values, *(getattr(sat, name) for name in OF_ATTEMPT), report.get("why")]


@project_page(STAFF)
def exams(request: MemberRequest, project: Project) -> HttpResponse:
    """All exams, and how to open one; the query chooses for which kind and size it says who would pass."""
    part = "#power" if request.htmx else ""
    return _exams(request, project, ExamForm(request.GET) if "kind" in request.GET else ExamForm(), part=part)


def _exams(
    request: MemberRequest, project: Project, form: ExamForm, *, note: str = "", status: int = 200, part: str = ""
) -> HttpResponse:
    policy = policy_in_force(project.pk)
    stock = selectors.known_pairs_in_stock(project_id=project.pk)
    at_exam = project.memberships.filter(status=Membership.Status.EXAM).count()
    rows = list(selectors.exams_of(project))
    running = next((row for row in rows if row.state in RUNNING), None)
    rule, choice, power = pass_rule_of(policy), _chosen(form), None
    if not running and request.membership.is_lead:
        power = selectors.exam_power(project, **choice, rule=rule, attempts=policy.exam_attempts)
    context = {
        "exams": rows,
        "running": running,
        "form": form,
        "note": note,
        "stock": len(stock),
        "stock_queries": len({pair.query_id for pair in stock}),
        "at_exam": at_exam,
        "lacking": max(0, FEWEST - at_exam),
        "fewest": FEWEST,
        "policy": policy,
        "rule": rule,
        "chosen": choice,
        "sizes": SIZES,
        "power": power,
        "graders": power
        and [
            (name, *map(chance_words, power.chances[grader]), grader in OUGHT_TO_FAIL, grader in power.too_easy)
            for grader, name in GRADERS.items()
            if grader in power.chances  # of yes and no, who tells 0 from the rest is right
        ],
    }
    response = render(request, f"judging/qualification/exams.html{part}", context, status=status)
    return refusal_log(request, response, note) if status >= 400 else response


def _chosen(form: ExamForm) -> dict[str, Any]:
    """The kind and size that the form asks for, where they can be read; else the paper's."""
    choice = {"kind": Exam.Kind.COHORT, "queries": QUERIES, "depth": DEPTH}
    if form.is_bound and form.is_valid():
        choice |= {name: form.cleaned_data[name] for name in choice}
    return choice


@project_action(LEAD, back="judging:exams")
def exam_create(request: MemberRequest, project: Project) -> HttpResponse:
    form = ExamForm(request.POST)
    if not form.is_valid():
        return _exams(request, project, form, note=form.first_error(), status=422)
    try:
        new_exam = services.exam_create(project=project, actor=request.user, **form.cleaned_data)
    except (TooFewPairs, NotPossibleNow) as error:
        return _exams(request, project, form, note=str(error), status=error.status)
    messages.success(
        request, f"Exam {new_exam.number} is {'open' if new_exam.state == Exam.State.OPEN else 'being prepared'}."
    )
    return redirect("judging:exam", new_exam.uuid)


@row_page(EXAMS, STAFF)
def exam(request: MemberRequest, exam: Exam) -> HttpResponse:
    """How far people are; once it is closed, the report and every pair."""
    is_report = request.GET.get("part") == "report"
    return _exam(request, exam, part="#progress" if request.htmx and not is_report else "")


def _exam(
    request: MemberRequest,
    exam: Exam,
    *,
    asking: Unfinished | None = None,
    choice: dict[str, Any] | None = None,
    part: str = "",
    status: int = 200,
) -> HttpResponse:
    rows = selectors.exam_rows(exam)
    is_open, closed = exam.state == Exam.State.OPEN, exam.state == Exam.State.CLOSED
    context: dict[str, Any] = {
        "exam": exam,
        "figures": [(row, share_words(row.exam_attempt.report.get("misaligned"))) for row in rows],
        "unfinished": selectors.exam_unfinished(exam) if is_open else [],
        "asking": asking,
        "chosen": choice or {},
        "fewest": FEWEST,
        "complete": sum(row.graded == row.n_pairs for row in rows),
        "pairs": [] if part else selectors.exam_pairs(exam),
        "is_reporting": closed and exam.kind == Exam.Kind.COHORT and not exam.report,
        "follows_report": request.GET.get("part") == "report",
        "anchors_open": is_open
        and exam.kind == Exam.Kind.COHORT
        and all(row.exam_attempt.state == "open" for row in rows),
        "anchors": selectors.exam_anchor_rows(exam),
        "grades": rules_of(exam.project).grades,
        "near": near_words(exam.project.max_spread),
        "without_truth": closed and exam.known_pairs.filter(truth__isnull=True, is_retired=False).count(),
        "has_no_result": any(row.exam_attempt.has_no_result for row in rows),
        "least_percent": LEAST_PERCENT,
        "least_pairs": LEAST_PAIRS,
        "misaligned": share_words(exam.report.get("misaligned")) if exam.report else "",
        "kappas": [(name, exam.report["kappas"][name]) for name in WEIGHTS if exam.report.get("kappas")],
    }
    return render(request, f"judging/qualification/exam.html{part}", context, status=status)


@row_page(EXAMS, LEAD, back="judging:exam")
def exam_close(request: MemberRequest, exam: Exam) -> HttpResponse:
    """Close it; while people are unfinished, ask first and name them."""
    form = CloseForm(request.POST)
    if not is_valid_or_message(request, form):
        return redirect("judging:exam", exam.uuid)
    options = {**form.cleaned_data, "left_out": _numbers(request.POST.getlist("left_out"))}
    confirmed = _numbers(request.POST.getlist("confirmed"))
    try:
        with errors_as_messages(request, NotPossible):
            services.exam_close(exam=exam, actor=request.user, confirmed=confirmed, **options)
            messages.success(request, "The exam is closed.")
    except Unfinished as error:
        response = _exam(request, exam, asking=error, choice=options, status=error.status)
        return refusal_log(request, response, str(error))
    return redirect("judging:exam", exam.uuid)


def _numbers(values: list[str]) -> list[int]:
    """Those of the people whom the form named."""
    return [int(number) for number in values if number.isascii() and number.isdecimal() and len(number) < 10]


@row_page(EXAMS, STAFF)
def exam_csv(request: MemberRequest, exam: Exam) -> HttpResponse:
    """The report, a line for each person."""
    return csv_download(f"momentjudge-exam-{exam.number}.csv", COLUMNS, map(_line, selectors.exam_rows(exam)))


@row_page(KNOWN_PAIRS, STAFF)
def known_pair(request: MemberRequest, pair: KnownPair) -> HttpResponse:
    """The exam that holds the pair, or the list of exams."""
    return redirect(_page_of(pair))


@row_page(KNOWN_PAIRS, LEAD, back="judging:known-exam")
def known_pair_explain(request: MemberRequest, pair: KnownPair) -> HttpResponse:
    form = ExplanationForm(request.POST)
    return _known_pair_change(request, pair, form, services.known_pair_explain, "The explanation is kept.")


@row_page(KNOWN_PAIRS, LEAD, back="judging:known-exam")
def known_pair_anchor(request: MemberRequest, pair: KnownPair) -> HttpResponse:
    """A lead's own grade, given before anybody hands in; an empty one takes it back."""
    return _known_pair_change(request, pair, AnchorForm(request.POST), services.known_pair_anchor)


@row_page(KNOWN_PAIRS, LEAD, back="judging:known-exam")
def known_pair_retire(request: MemberRequest, pair: KnownPair) -> HttpResponse:
    retire = partial(services.known_pair_retire, now=timezone.now())
    message = "Taken out. Nobody is asked this pair any more."
    return _known_pair_change(request, pair, ReasonForm(request.POST), retire, message)


def _known_pair_change(
    request: MemberRequest, pair: KnownPair, form: SubmitForm, change: Callable[..., object], message: str = ""
) -> HttpResponse:
    """Change the pair by what the form holds; the page that follows says why not."""
    if is_valid_or_message(request, form):
        with errors_as_messages(request, NotPossibleNow):
            change(pair=pair, actor=request.user, **form.cleaned_data)
            if message:
                messages.success(request, message)
    return redirect(_page_of(pair))


@row_page(EXAM_ATTEMPTS, STAFF)
def missed_exam(request: MemberRequest, attempt: ExamAttempt) -> HttpResponse:
    """Redirect to the page of the exam that the attempt is of."""
    assert attempt.exam is not None  # as its purpose says
    return redirect("judging:exam", attempt.exam.uuid)


@row_page(EXAM_ATTEMPTS, LEAD, back="judging:missed-exam")
def missed_exam_count(request: MemberRequest, attempt: ExamAttempt) -> HttpResponse:
    """Let a missed exam count as an attempt, or not any more."""
    form = MissedForm(request.POST)
    if is_valid_or_message(request, form):
        with errors_as_messages(request, NotPossible):
            exam_attempts.missed_exam_count(attempt=attempt, actor=request.user, **form.cleaned_data)
            outcome = "counts as an attempt now" if form.cleaned_data["counts"] else "does not count as an attempt"
            messages.success(request, f"The missed exam {outcome}.")
    assert attempt.exam is not None
    return redirect("judging:exam", attempt.exam.uuid)


def _page_of(pair: KnownPair) -> str:
    if pair.exam is None:
        return reverse("judging:exams", args=[pair.project.uuid])
    return f"{reverse('judging:exam', args=[pair.exam.uuid])}#pair-{pair.uuid}"
