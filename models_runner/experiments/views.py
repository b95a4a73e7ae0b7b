"""Benchmark runs: ordering them, seeing how far they are, cancelling and resuming them."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Prefetch
from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from accounts.access import STAFF, MemberRequest, benchmark_runners, project_page, row_page
from accounts.models import Project
from core.exceptions import NotPossible
from core.lists import page_of
from core.texts import uuid_or_none
from judging.exceptions import FormStale
from judging.models import Release
from models_runner.experiments import deletion, files, services
from models_runner.experiments.charts import losses_chart, scores_chart, seeds_chart
from models_runner.experiments.forms import ExperimentForm, GridForm, initial_of, moments_per_query
from models_runner.experiments.models import MOST_SEEDS
from models_runner.experiments.selectors import (
    Expectation,
    GridExpectation,
    ahead_of,
    expectation_of,
    needed_by,
    recall_rows,
    row_of,
    runs_of,
    searches_needing,
    training_granted,
)
from models_runner.experiments.services import experiment_create, has_training_queries
from models_runner.experiments.settings import PRESETS, settings_by_name
from models_runner.features.selectors import feature_choices
from models_runner.models import Experiment, Training
from models_runner.tuning.selectors import options_with, searches_of, trial_settings
from moment_retrieval.metrics.recall import KS, MUS

FEW_VIDEOS = 1000
FIRST = {"baseline": "reloclnet", "top_n": 20, "preset": "small"}  # of a newcomer
EXPERIMENTS = Experiment.objects.select_related("project__dataset__corpus", "release", "candidates__experiment")
TRAININGS = Training.objects.select_related("experiment__project")


@project_page(STAFF)
def experiments(request: MemberRequest, project: Project) -> HttpResponse:
    """All experiments of the project, the newest first."""
    trainings = Prefetch("trainings", Training.objects.defer("curve", "notices", "metrics"))  # which are long
    rows_of_project = project.experiments.select_related("release").prefetch_related(trainings)
    page = page_of(request, rows_of_project)
    rows = [row_of(one) for one in page]
    searches = list(searches_of(project).select_related(None).defer("options", "current"))
    at_work = any(training.is_awaited for row in rows for training in row.experiment.trainings.all())
    at_work = at_work or any(search.is_awaited for search in searches)
    may_start = request.membership.has(benchmark_runners())
    context = {
        "page": page,
        "rows": rows,
        "at_work": at_work,
        "may_start": may_start,
        "searches": searches,
        **training_prerequisites(project),
    }
    return render(request, "models_runner/experiments/experiments.html", context)


def is_small(project: Project) -> bool:
    """Whether the corpus is so small that a form begins with the settings for a computer without a GPU."""
    return project.dataset.corpus.videos.count() < FEW_VIDEOS


def training_prerequisites(project: Project) -> dict[str, object]:
    """Check the prerequisites for training a baseline."""
    newest = project.releases.filter(state=Release.State.READY).first()
    trains = newest is not None and has_training_queries(newest, 1)
    features = all(feature_choices(project, kind) for kind in ("video", "query"))
    return {"newest": newest, "trains": trains, "has_features": features}


@project_page(benchmark_runners)
def experiment_new(request: MemberRequest, project: Project) -> HttpResponse:
    initial = FIRST if is_small(project) else {}  # soonest shows whether all of it works
    initial = _of_trial(project, request.GET) or initial
    form = ExperimentForm(request.POST if request.method == "POST" else None, project=project, initial=initial)
    if request.htmx and request.method == "GET":
        context = {"expectation": expectation_for(project, request.GET)}
        return render(request, "models_runner/experiments/_expectation.html", context)
    if request.method != "POST":
        return _form_page(request, project, form, 200)
    if not form.is_valid():
        return _form_page(request, project, form, 422)
    try:
        row = experiment_create(actor=request.user, **form.values())
    except (FormStale, NotPossible) as error:
        form.add_error(None, str(error))
        return _form_page(request, project, form, 409)
    return redirect("models_runner:experiment", row.uuid)


def _of_trial(project: Project, values: Mapping[str, str]) -> dict[str, Any]:
    """Return the form's fields with the settings of a trial of a search; nothing where no trial is named."""
    number, name = values.get("trial", ""), values.get("search", "")
    uuid = uuid_or_none(name)
    if uuid is None or not (number.isascii() and number.isdigit() and len(number) < 4):
        return {}
    search = project.settings_searches.select_related("release", "candidates").filter(uuid=uuid).first()
    settings = trial_settings(search, int(number)) if search is not None else None
    if search is None or settings is None:
        return {}
    return initial_of(project, search, options_with(search, settings))


@project_page(benchmark_runners)
def grid_new(request: MemberRequest, project: Project) -> HttpResponse:
    """Order all settings of a table at once; those that are ordered already are left as they are. With htmx and GET,
    the part of the form that says how long they take."""
    if request.htmx and request.method == "GET":
        values = {**request.GET.dict(), "baselines": request.GET.getlist("baselines")}
        part = {"expectation": _grid_expectation(project, values)}
        return render(request, "models_runner/experiments/_grid_expectation.html", part)
    initial = {"preset": FIRST["preset"]} if is_small(project) else {}
    form = GridForm(request.POST if request.method == "POST" else None, project=project, initial=initial)
    status = 200
    if request.method == "POST":
        status = 422
        if form.is_valid():
            try:
                new, present = services.grid_create(orders=form.values(), actor=request.user)
            except NotPossible as error:
                form.add_error(None, str(error))
                status = 409
            else:
                words = f"{len(new)} benchmark run{'' if len(new) == 1 else 's'} ordered."
                words += f" {len(present)} of the settings were ordered before." if present else ""
                messages.success(request, words)
                return redirect("models_runner:tables", project.uuid)
    expectation = _grid_expectation(project, {field.name: field.value() for field in form})
    context: dict[str, object] = {"form": form, "expectation": expectation, **training_prerequisites(project)}
    return render(request, "models_runner/experiments/grid.html", context, status=status)


def _grid_expectation(project: Project, values: Mapping[str, Any]) -> GridExpectation | None:
    """Return how long the trainings of a form take; None where it names none that can be chosen."""
    numbers, seeds = moments_per_query(str(values.get("ns", ""))), str(values.get("seeds", ""))
    orders = [{**values, "baseline": name, "top_n": n} for name in values.get("baselines") or () for n in numbers]
    by_setting = [expectation for order in orders if (expectation := expectation_for(project, order))]
    if not (orders and len(by_setting) == len(orders) and seeds in map(str, range(1, MOST_SEEDS + 1))):
        return None
    return GridExpectation(by_setting, int(seeds))


def _form_page(request: MemberRequest, project: Project, form: ExperimentForm, status: int) -> HttpResponse:
    changed = any(field.errors or field.value() not in (None, "") for field in form.changes)
    values = {name: form[name].value() for name in ("baseline", "top_n", "preset")}
    expectation = expectation_for(project, values)
    context = {"form": form, "key": uuid4(), "changed": changed, "expectation": expectation}
    context |= training_prerequisites(project)
    return render(request, "models_runner/experiments/new.html", context, status=status)


def expectation_for(project: Project, values: Mapping[str, Any]) -> Expectation | None:
    """Return what a training of these values would be; None where they cannot be chosen."""
    baseline, top_n, preset = (str(values.get(name, "")) for name in ("baseline", "top_n", "preset"))
    if baseline not in Experiment.Baseline.values or preset not in PRESETS or top_n not in map(str, Experiment.TOP_N):
        return None
    return expectation_of(project, baseline=baseline, top_n=int(top_n), preset=preset)


@row_page(EXPERIMENTS, STAFF)
def experiment(request: MemberRequest, row: Experiment) -> HttpResponse:
    """One experiment: every seed with its progress, curves, log and what came of it."""
    trainings = list(row.trainings.select_related("val_run", "test_run").order_by("seed"))
    for training in trainings:
        training.experiment = row
    main_training = _shown(trainings, request.GET.get("seed", ""))
    context = {
        "experiment": row,
        "trainings": trainings,
        "shown": main_training,
        "row": row_of(row),
        "settings": settings_by_name(row.options),
        "ahead": ahead_of(main_training),
        "log": files.log_tail(main_training),
        "files": files.training_file_sizes(main_training),
        "charts": _charts(trainings, main_training),
        "recall": recall_rows(main_training),
        "cutoffs": KS,
        "thresholds": MUS,
        "may_start": request.membership.has(benchmark_runners()),
        "at_work": any(training.is_awaited for training in trainings),
    }
    return render(request, "models_runner/experiments/experiment.html", context)


def _shown(trainings: list[Training], seed: str) -> Training:
    """The requested seed, else the one at work, else the first."""
    matches = [training for training in trainings if str(training.seed) == seed]
    return (matches or [training for training in trainings if training.is_at_work] or trainings)[0]


def _charts(trainings: list[Training], main_training: Training) -> list[str]:
    """Return the curves of one seed, and all seeds in one figure once there are several to see."""
    losses, scores = main_training.curve.get("losses", []), main_training.curve.get("scores", [])
    charts = []
    if len(losses) > 1:
        charts.append(losses_chart(losses, scores))
    if scores:
        charts.append(scores_chart(scores))
    by_seed = {training.seed: training.curve.get("scores", []) for training in trainings}
    if sum(map(bool, by_seed.values())) > 1:
        charts.append(seeds_chart(by_seed, main_training.seed))
    return [chart.inline() for chart in charts]


@row_page(Experiment.objects.select_related("project"), benchmark_runners)
def experiment_delete(request: MemberRequest, row: Experiment) -> HttpResponse:
    """Ask, then delete a benchmark run that has ended, with its files."""
    error = None
    if request.method == "POST":
        try:
            deletion.experiment_delete(experiment=row, actor=request.user)
        except NotPossible as refusal:
            error = refusal
        else:
            messages.success(request, f"The benchmark run {row.name} is gone. Its runs stay.")
            return redirect("models_runner:experiments", row.project.uuid)
    trainings = list(row.trainings.order_by("seed"))
    context = {
        "experiment": row,
        "error": error,
        "needs": needed_by(row),
        "searches": searches_needing(row),
        "runs": runs_of(row),
        "seeds": len(trainings),
        "bytes": files.folder_bytes(row.uuid),
        "awaited": [training for training in trainings if training.is_awaited],
        "resumable": [training for training in trainings if training.is_stopped],
    }
    return render(request, "models_runner/experiments/delete.html", context, status=409 if error else 200)


@row_page(TRAININGS, benchmark_runners, project="experiment.project", back="models_runner:training")
def training_cancel(request: MemberRequest, training: Training) -> HttpResponse:
    return _changed(request, training, services.training_cancel, "It ends within seconds; what it learnt is kept.")


@row_page(TRAININGS, benchmark_runners, project="experiment.project", back="models_runner:training")
def training_resume(request: MemberRequest, training: Training) -> HttpResponse:
    return _changed(request, training, services.training_resume, "It goes on from its last checkpoint.")


def _changed(request: MemberRequest, training: Training, change: Any, message: str) -> HttpResponse:
    try:
        change(training=training, actor=request.user)
        messages.success(request, message)
    except NotPossible as error:
        messages.error(request, str(error))
    return _to(training)


@row_page(TRAININGS, STAFF, project="experiment.project")
def training(request: MemberRequest, training: Training) -> HttpResponse:
    """The page of its experiment with this seed shown."""
    return _to(training)


def _to(training: Training) -> HttpResponse:
    answer = redirect("models_runner:experiment", training.experiment.uuid)
    answer["Location"] += f"?seed={training.seed}"
    return answer


@login_required
def training_file(request: HttpRequest, training_uuid: UUID, name: str) -> FileResponse:
    """One file or folder that a training left."""
    training = training_granted(request, training_uuid, benchmark_runners)
    file = files.training_file_open(training, name)
    if file is None:
        raise Http404
    stem = f"{training.experiment.get_baseline_display().lower()}-n{training.experiment.top_n}-seed{training.seed}"
    return FileResponse(file, as_attachment=True, filename=f"{stem}-{name}")
