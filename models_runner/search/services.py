"""Searching: the page asks, the worker of the queue `search` answers, and nothing of it is stored."""

import logging
from time import perf_counter
from typing import Any, NamedTuple

from celery import shared_task
from celery.exceptions import TimeoutError as NoAnswer
from django.conf import settings
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from annotation.similarity.registry import ModelRefused, model_check
from core.exceptions import MomentJudgeError
from core.sql import is_locked, only_one
from models_runner.experiments import files
from models_runner.models import Experiment, Training
from models_runner.search import worker
from models_runner.search.selectors import words_by
from models_runner.search.worker import SearchableTraining
from moment_retrieval.answers import Answer
from moment_retrieval.errors import ScoringError

logger = logging.getLogger(__name__)
LOCK = "search"
UNAVAILABLE_ERRORS = (OperationalError, RedisError, OSError)


class SearchRefused(MomentJudgeError):
    """This training cannot be searched with."""

    status = 409
    code = "search_refused"


class SearchLate(MomentJudgeError):
    """There is no answer yet; asked again, there may be."""

    status = 503
    code = "search_late"

    def __init__(self, words: str, *, is_loading: bool) -> None:
        super().__init__(words)
        self.is_loading = is_loading


class Answered(NamedTuple):
    """An answer, and how long it took from asking to having it."""

    answer: Answer
    ms: float


def search_ask(*, q: str, training: Training, every: bool, limit: int) -> Answered:
    """Have the query ``q`` searched for by the training's best weights; waits a few seconds at most.

    Args:
        every: show also what overlaps a better moment.
        limit: moments at most.

    Raises:
        SearchRefused: nothing can be searched with this training, for the reason it says.
        SearchLate: the worker still loads it, is busy, or does not run.
    """
    began = perf_counter()
    result = _awaited(training.pk, q, limit, every)
    if "refused" in result:
        raise SearchRefused(result["refused"])
    return Answered(Answer.of(result), 1000 * (perf_counter() - began))


def _awaited(*arguments: Any) -> dict[str, Any]:
    try:
        wait = float(settings.SEARCH_WAIT_S)
        task = search_work.apply_async(arguments, expires=wait)
        try:
            result: dict[str, Any] | BaseException = task.get(timeout=wait, interval=0.02, propagate=False)
        except NoAnswer as error:
            raise _late(wait) from error
        finally:
            task.forget()
    except (*UNAVAILABLE_ERRORS, RuntimeError) as error:
        if not isinstance(error, UNAVAILABLE_ERRORS) and not isinstance(error.__cause__, UNAVAILABLE_ERRORS):
            raise  # else Celery gave up connecting again
        logger.warning("the broker is unavailable: %s", error)
        raise SearchLate("The broker that carries queries to the search worker is away.", is_loading=False) from error
    if isinstance(result, BaseException):  # a worker that was killed cannot say more
        logger.error("training %s: the search worker failed: %r", arguments[0], result)
        raise SearchRefused(_failure(result)) from result
    return result


def _failure(error: BaseException) -> str:
    return f"The search worker failed ({type(error).__name__}); its log says more."


def _late(wait: float) -> SearchLate:
    if is_locked(LOCK):  # a worker is at a query
        words = "The search worker is loading a training, which takes a while the first time, or answers somebody else."
        return SearchLate(words, is_loading=True)
    words = f"No search worker took the query within {wait:g} s; is there one for the queue “search”?"
    return SearchLate(words, is_loading=False)


@shared_task(name="models_runner.tasks.search_work", ignore_result=False, acks_late=False)
def search_work(training_id: int, text: str, moments: int, every: bool) -> dict[str, Any]:
    """Return the answer as JSON can carry it, or why there is none; runs in the worker, which keeps what it loads.

    Nobody waits for it longer than seconds, so it is never sent again.
    """
    try:
        training = Training.objects.select_related("experiment__candidates__experiment").get(pk=training_id)
        with only_one(LOCK):
            answer = worker.searcher_of(_source(training)).answer(text, moments, every=every)
    except (ScoringError, ModelRefused) as error:
        logger.warning("training %s cannot be searched: %s", training_id, error)
        return {"refused": f"{training} cannot be searched: {str(error).removesuffix('.')}."}
    except Exception as error:
        logger.exception("training %s: a search failed", training_id)
        return {"refused": _failure(error)}
    return answer.as_dict()


def _source(training: Training) -> SearchableTraining:
    experiment: Experiment = training.experiment
    first = experiment.candidates
    by = words_by(experiment)
    if by.get("model"):
        model_check(by["model"])
    return SearchableTraining(files.folder_of(training), first=_source(first) if first else None, **by)
