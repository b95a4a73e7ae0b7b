"""Rewrites the descriptions of a corpus into captions, checks them, says how it went, and rewords on request."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from decimal import Decimal
from itertools import islice

from django.conf import settings
from django.db import OperationalError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from accounts.models import Project, User
from annotation.captions import ner
from annotation.captions.rewriting import provider as providers
from annotation.captions.rewriting import rules
from annotation.captions.rewriting.lexicon import lexicon_for
from annotation.captions.rewriting.provider import Answer, ProviderUnavailable, ProviderUnusable
from annotation.captions.selectors import prompt_in_force
from annotation.captions.services.captions import (
    NO_CAPTION,
    caption_in_review,
    captions_measure,
    checks_failed,
    names_finder_of,
    remembered,
)
from annotation.corpora.services.corpora import members_of
from annotation.models import (
    Caption,
    CaptionFailure,
    CaptionRedo,
    CaptionReview,
    Corpus,
    Description,
    Prompt,
    Rewriting,
)
from annotation.similarity.base import SimilarityMissing
from core.audit import audit_record
from core.exceptions import MomentJudgeError, NotPossible
from core.jobs import JobKind, durable, job_fail, job_finish, job_set, job_start, job_wait
from core.models import Job
from core.sql import only_one

logger = logging.getLogger(__name__)
KIND = "rewriting"
MILLION = Decimal(1_000_000)
Check, State = Caption.Check, Caption.State
PROVIDER_RETRY_AFTER = timedelta(minutes=5)
SOMEBODY_WAITS_S = 20  # the longest a page waits for the provider
REVIEW_TEXT_MAX = 20_000  # characters of a huge description that its caption in review shows
STOPS = (ProviderUnusable, SimilarityMissing, ner.NameModelMissing)
HOPELESS = {Check.EMPTY, Check.HUGE}
PROPOSED_FIELDS = ["text", "provider", "model", "prompt", "temperature", "attempt", "failed", "state", "detail"]
PROPOSED_FIELDS += ["tokens_in", "tokens_out", "cost_usd"]
CHECKED_FIELDS = [*PROPOSED_FIELDS, "similarity", "similarity_measure", "name_found", "name_score", "name_model"]
FAILURE_FIELDS = ["attempt", "failed", "detail", "provider", "temperature", "similarity", "name_found", "name_score"]


REWRITINGS = JobKind(
    "annotation.tasks.rewriting_run",
    lambda: Rewriting.objects.filter(Q(next_try_at=None) | Q(next_try_at__lte=timezone.now()), finished_at=None),
    moved="",
)


@transaction.atomic
def rewriting_start(*, corpus: Corpus, provider: str, actor: User | None, project: Project | None = None) -> Rewriting:
    """Order captions for every description of the corpus that has none of its own yet, in the background.

    The people of ``project`` see its progress. A rewriting that stopped before its end goes on where it was, with the
    provider asked for now; so does one whose provider does not answer. Raises NotPossible where another provider is at
    work on the corpus, or an import; the provider is not set up; or nothing is left to do.
    """
    if not Corpus.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=corpus.pk).exists():
        raise NotPossible(f"A file for {corpus.name!r} is being checked or imported. Try again when that is done.")
    running = Rewriting.objects.filter(corpus=corpus, finished_at=None).first()
    if running and running.provider == provider:
        REWRITINGS.send(running.pk)
        return running
    if running and running.next_try_at is None:
        raise NotPossible(f"Another rewriting of {corpus.name!r}, by {running.provider}, is not finished.")
    n_descriptions = descriptions_to_rewrite(corpus.pk).count()
    if not n_descriptions and not _unchecked(corpus.pk).exists():
        raise NotPossible(f"Every description of {corpus.name!r} has its caption.")
    prompt = prompt_in_force(corpus.pk) if provider == Caption.Provider.OPENAI else None
    try:
        model = provider_of(provider, corpus_id=corpus.pk, prompt=prompt).model
    except ProviderUnusable as error:
        raise NotPossible(str(error)) from error
    if running:  # its provider does not answer; its job goes to the one that follows, if that is of the same project
        Rewriting.objects.filter(pk=running.pk).update(finished_at=timezone.now(), next_try_at=None)
        if running.project and running.project != project:
            for job in running.project.jobs.filter(kind=KIND, state=Job.State.WAITING):
                job_fail(job=job, error="Another project over this corpus goes on with another provider.")
    rewriting = Rewriting.objects.create(
        project=project, corpus=corpus, provider=provider, model=model, prompt=prompt, started_by=actor
    )
    facts = {"provider": provider, "model": model, "prompt": prompt and prompt.version, "descriptions": n_descriptions}
    audit_record(project=project, actor=actor, action="captions.rewrite", subject=rewriting.uuid, **facts)
    if project:  # before a worker takes it: the page shows at once that it was ordered
        total = Description.objects.filter(corpus=corpus).count()
        job_start(project=project, kind=KIND, title="Rewriting descriptions", total=total)
    REWRITINGS.send(rewriting.pk)
    return rewriting


@durable(REWRITINGS.task)
def rewriting_run(*, rewriting_id: int) -> int:
    """Rewrite and check what is left; return how many captions were written now.

    Safe to repeat and to kill: a caption is made once, and none is lost.
    """
    rewriting = Rewriting.objects.select_related("project", "prompt").filter(pk=rewriting_id).first()
    if rewriting is None:
        return 0
    with only_one(KIND, rewriting.corpus_id) as alone:
        if not alone or rewriting.finished_at:
            return 0
        Rewriting.objects.filter(pk=rewriting.pk).update(next_try_at=None)
        job, total, n_written = None, Description.objects.filter(corpus=rewriting.corpus_id).count(), 0
        if rewriting.project:
            job = job_start(project=rewriting.project, kind=KIND, title="Rewriting descriptions", total=total)
        try:
            work = Work(rewriting.provider, corpus_id=rewriting.corpus_id, prompt=rewriting.prompt)
            work.check(_unchecked(rewriting.corpus_id))
            while batch := list(descriptions_to_rewrite(rewriting.corpus_id)[: work.provider.batch]):
                work.check(work.propose(batch))
                n_written += len(batch)
                if job:
                    n_done = total - descriptions_to_rewrite(rewriting.corpus_id).count()
                    job_set(job=job, n_done=n_done, title="Rewriting descriptions")
        except OperationalError:
            raise  # the task is tried again
        except ProviderUnavailable as error:
            at = timezone.now() + PROVIDER_RETRY_AFTER
            Rewriting.objects.filter(pk=rewriting.pk).update(error=str(error), next_try_at=at)
            if job:
                title = f"Rewriting waits; next try at {timezone.localtime(at):%H:%M}"
                job_wait(job=job, title=title, error=str(error))
            logger.warning("rewriting %s waits: %s", rewriting.pk, error)
            return n_written
        except Exception as error:
            message = str(error) if isinstance(error, STOPS) else f"{type(error).__name__}: {error}"
            Rewriting.objects.filter(pk=rewriting.pk).update(error=message, finished_at=timezone.now())
            if job:
                job_fail(job=job, error=message)
            logger.warning("rewriting %s stopped: %s", rewriting.pk, message, exc_info=not isinstance(error, STOPS))
            return n_written
        Rewriting.objects.filter(pk=rewriting.pk).update(error="", finished_at=timezone.now())
        if job:
            job_finish(job=job, title="Descriptions rewritten")
        logger.info("rewriting %s: %s captions", rewriting.pk, n_written)
        return n_written


def descriptions_to_rewrite(corpus_id: int) -> QuerySet[Description]:
    """Descriptions whose caption is still their own text, or that have none, in order."""
    waiting = Q(caption=None) | Q(caption__provider=Caption.Provider.AS_DESCRIBED)
    return Description.objects.filter(waiting, corpus=corpus_id).select_related("moment__video").order_by("pk")


def _unchecked(corpus_id: int) -> QuerySet[Caption]:
    captions = Caption.objects.filter(description__corpus=corpus_id, state=State.PROPOSED)
    return captions.select_related("description", "moment__video").order_by("pk")


def provider_of(name: str, *, corpus_id: int, prompt: Prompt | None, patient: bool = True) -> providers.Provider:
    """The provider of this name as it is set up; asked once and not for long unless ``patient``. Raises
    ProviderUnusable where it is not set up."""
    if name == Caption.Provider.RULES:
        return providers.Rules(members_of(corpus_id))
    if name != Caption.Provider.OPENAI or prompt is None:
        raise ProviderUnusable(f"There is no provider {name!r}; there are rules and openai.")
    return providers.Chat(
        providers.Endpoint(
            settings.REWRITING_BASE_URL,
            settings.REWRITING_MODEL,
            settings.REWRITING_API_KEY,
            prompt.text,
            settings.REWRITING_CONCURRENCY,
            settings.REWRITING_PER_MINUTE,
            settings.REWRITING_TIMEOUT_S if patient else min(SOMEBODY_WAITS_S, settings.REWRITING_TIMEOUT_S),
            settings.REWRITING_TRIES if patient else 1,
            probes=patient,
            examples=prompt.examples,
            seed=prompt.seed,
        )
    )


class Work:
    """Proposing and checking with one provider."""

    def __init__(self, provider: str, *, corpus_id: int, prompt: Prompt | None, patient: bool = True) -> None:
        self.prompt = prompt
        self.provider = provider_of(provider, corpus_id=corpus_id, prompt=prompt, patient=patient)
        self.members = members_of(corpus_id)
        self.names = names_finder_of(corpus_id)

    def propose(self, descriptions: Sequence[Description]) -> list[Caption]:
        """Ask for captions and store them before anything else is done; they wait for their checks."""
        captions = {row.pk: getattr(row, "caption", None) or _caption_of(row) for row in descriptions}
        return [caption for proposals in self._proposals(captions) for caption in _store(proposals)]

    def trial(self, descriptions: Sequence[Description]) -> list[Caption]:
        """Return the first captions of the descriptions with their checks, in order; nothing is stored."""
        captions = {row.pk: _caption_of(row) for row in descriptions}
        list(self._proposals(captions))
        self.measure(list(captions.values()))
        return list(captions.values())

    def _proposals(self, captions: dict[int, Caption]) -> Iterator[list[Caption]]:
        """Put first answers into captions, given by their descriptions' keys, as they come."""
        waiting, flaws = dict(captions), dict[int, list[str]]()
        for key, caption in captions.items():
            lexicon = lexicon_for(self.members, video=caption.description.moment.video.name)
            flaws[key] = rules.flaws(caption.description.sentence, lexicon)
        rewritable = [row.description for key, row in captions.items() if not {"empty", "huge"} & set(flaws[key])]
        for answers in self._ask(rewritable, again=False):
            yield [self._propose(waiting.pop(answer.key), answer, flaws[answer.key]) for answer in answers]
        if waiting:
            yield [self._propose(caption, None, flaws[key]) for key, caption in waiting.items()]

    def check(self, captions: Iterable[Caption]) -> None:
        """Accept what passes; what fails is asked for once more and goes to review, whatever comes back."""
        waiting = list(captions)
        if not waiting:
            return
        fresh = [caption for caption in waiting if caption.attempt == 1]  # the others were killed after being redone
        self.measure(fresh)
        good = [caption for caption in fresh if not caption.failed]
        bad = [caption for caption in waiting if caption.failed or caption.attempt > 1]
        for caption in good:
            caption.state = State.ACCEPTED
        with transaction.atomic():
            _record_failures([caption for caption in bad if caption.attempt == 1])
            _save(good)
        self._redo([caption for caption in bad if caption.attempt == 1 and not HOPELESS & set(caption.failed)])
        self._send_to_review(bad)

    def _redo(self, captions: Sequence[Caption]) -> None:
        """Another wording of each, stored before anything else is done with it."""
        rows = {caption.description_id: caption for caption in captions}
        for answers in self._ask([caption.description for caption in captions], again=True):
            redone = [rows.pop(answer.key) for answer in answers]
            for caption, answer in zip(redone, answers, strict=True):
                self.reword(caption, answer)
            _save(redone)
        for caption in rows.values():
            self.reword(caption, None)

    def _send_to_review(self, captions: Sequence[Caption]) -> None:
        redone = [caption for caption in captions if caption.attempt > 1]
        self.measure(redone)
        first = dict(CaptionFailure.objects.filter(caption__in=captions, attempt=1).values_list("caption", "failed"))
        with transaction.atomic():
            _record_failures([caption for caption in redone if caption.failed])
            for caption in captions:
                caption.failed = list(dict.fromkeys([*first[caption.pk], *caption.failed]))
                caption.state = State.IN_REVIEW
            _save(captions)

    def reword(self, caption: Caption, answer: Answer | None) -> None:
        """Put the second answer into the caption; where there is none, what it says stays."""
        caption.attempt += 1
        answer = answer or Answer(caption.description_id, problem=Check.NO_ANSWER)
        self._note(caption, answer, again=True)
        if not answer.problem:
            caption.text = answer.text

    def _note(self, caption: Caption, answer: Answer, *, again: bool) -> None:
        """Write down who answered, how, at what price, and what is wrong with the answer."""
        caption.provider, caption.model, caption.prompt = self.provider.name, self.provider.model, self.prompt
        caption.temperature = self.provider.temperature(again=again)
        caption.failed, caption.detail = [answer.problem] if answer.problem else [], answer.detail[:300]
        caption.tokens_in += answer.tokens_in
        caption.tokens_out += answer.tokens_out
        price_in, price_out = settings.REWRITING_USD_PER_MILLION_IN, settings.REWRITING_USD_PER_MILLION_OUT
        spent = answer.tokens_in * price_in + answer.tokens_out * price_out
        caption.cost_usd = Decimal(caption.cost_usd) + spent / MILLION

    def _ask(self, descriptions: Sequence[Description], *, again: bool) -> Iterator[list[Answer]]:
        """Answers as they come, as many together as are stored at once; the first answer for each counts."""
        items = {row.pk: providers.Item(row.pk, row.sentence, row.moment.video.name) for row in descriptions}
        answers = iter(self.provider.rewrite(list(items.values()), again=again) if items else ())
        while some := list(islice(answers, self.provider.answers_per_write)):
            yield [answer for answer in some if items.pop(answer.key, None)]

    def _propose(self, caption: Caption, answer: Answer | None, flaws: Sequence[str]) -> Caption:
        answer = answer or Answer(caption.description_id, problem=flaws[0] if flaws else Check.NO_ANSWER)
        description = caption.description.sentence or caption.description.text  # blanks alone say something to review
        caption.text, caption.attempt = answer.text or description[:REVIEW_TEXT_MAX], 1
        caption.state = State.PROPOSED
        self._note(caption, answer, again=False)
        caption.failed = list(dict.fromkeys([*flaws, *caption.failed]))
        return caption

    def measure(self, captions: Sequence[Caption]) -> None:
        """Both checks, for every caption that has a text of its own."""
        measurable = [caption for caption in captions if not NO_CAPTION & set(caption.failed)]
        if not measurable:
            return
        captions_measure(measurable, self.names)
        for caption in measurable:
            caption.failed = list(dict.fromkeys([*caption.failed, *checks_failed(caption)]))


def _caption_of(description: Description) -> Caption:
    return Caption(description=description, moment=description.moment)


def failure_of(caption: Caption) -> CaptionFailure:
    """Return the wording that failed, as it is now."""
    text = "" if NO_CAPTION & set(caption.failed) else caption.text
    return CaptionFailure(caption=caption, text=text, **{name: getattr(caption, name) for name in FAILURE_FIELDS})


@transaction.atomic
def _store(proposals: Sequence[Caption]) -> list[Caption]:
    """Write proposals; one whose description got its caption meanwhile is left out."""
    new = [caption for caption in proposals if caption.pk is None]
    old = {caption.pk: caption for caption in proposals if caption.pk}
    free = Caption.objects.select_for_update().filter(pk__in=old, provider=Caption.Provider.AS_DESCRIBED)
    mine = [old[pk] for pk in free.values_list("pk", flat=True)]
    existing = Caption.objects.filter(description__in=[caption.description_id for caption in new])
    existing_ids = set(existing.values_list("description", flat=True))
    new = [caption for caption in new if caption.description_id not in existing_ids]
    Caption.objects.bulk_create(new, batch_size=1000)
    Caption.objects.bulk_update(mine, PROPOSED_FIELDS, batch_size=500)
    return [*mine, *new]


def _record_failures(captions: Sequence[Caption]) -> None:
    CaptionFailure.objects.bulk_create([failure_of(caption) for caption in captions], ignore_conflicts=True)


def _save(captions: Sequence[Caption]) -> None:
    Caption.objects.bulk_update(captions, CHECKED_FIELDS, batch_size=500)


NOTHING_ELSE = "The rules have no other wording for this description. Write the caption yourself."
REDOS = JobKind(
    "annotation.tasks.caption_redo_make",
    lambda: CaptionRedo.objects.filter(finished_at=None).select_related("project", "actor"),
    moved="requested_at",
    expected=(MomentJudgeError,),
)


@transaction.atomic
def caption_redo(*, project: Project, caption: Caption, actor: User) -> CaptionRedo:
    """Ask for another wording in the background; the caption stays in review. Raises NotPossible where it is no longer
    in review, or another wording is on its way."""
    row = caption_in_review(caption)
    if row.redos.filter(finished_at=None).exists():
        raise NotPossible("Another wording of this caption is on its way.")
    redo = CaptionRedo.objects.create(caption=row, project=project, actor=actor)
    REDOS.send(redo.pk)
    return redo


@durable(REDOS.task)
def caption_redo_make(*, redo_id: int) -> None:
    """Ask the provider once and measure what it says; a repeat finds it done. What went wrong is kept to be shown."""
    with REDOS.claim(redo_id) as redo:
        if redo is not None:
            _redo_make(redo)


def _redo_make(redo: CaptionRedo) -> None:
    caption = Caption.objects.select_related("description__corpus", "moment__video").get(pk=redo.caption_id)
    with transaction.atomic():
        caption_in_review(caption)  # before anything is asked for or measured
    rewriting = Rewriting.objects.filter(corpus=caption.description.corpus_id).select_related("prompt").latest("pk")
    work = Work(rewriting.provider, corpus_id=rewriting.corpus_id, prompt=rewriting.prompt, patient=False)
    before, earlier_flaws = remembered(caption), list(caption.failed)
    work.reword(caption, _another_wording(work, caption))
    work.measure([caption])  # loads models: nobody's row is locked meanwhile
    with transaction.atomic():
        if remembered(caption_in_review(caption)) != before:
            raise NotPossible("Somebody has redone this caption meanwhile.")
        if not _redo_end(redo):
            return  # called off
        if caption.failed:
            _record_failures([caption])
        caption.failed = list(dict.fromkeys([*earlier_flaws, *caption.failed]))
        caption.save()
        CaptionReview.objects.create(
            caption=caption, actor=redo.actor, decision=CaptionReview.Decision.REDONE, before=before, text=caption.text
        )
        audit_record(project=redo.project, actor=redo.actor, action="caption.redone", subject=caption.uuid)


def _another_wording(work: Work, caption: Caption) -> Answer:
    """Ask the provider for another wording; the rules know two, and give only one that nobody has seen. Raises
    NotPossible where the rules have no other."""
    item = providers.Item(caption.description_id, caption.description.sentence, caption.moment.video.name)
    if work.provider.name != Caption.Provider.RULES:
        (answer,) = work.provider.rewrite([item], again=True)
        return answer
    decided = caption.reviews.filter(undone_at=None).values_list("before__text", flat=True)
    earlier_texts = {caption.text, *caption.failures.values_list("text", flat=True), *decided}
    for general in (True, False):
        (answer,) = work.provider.rewrite([item], again=general)
        if answer.text and answer.text not in earlier_texts:
            return answer
    raise NotPossible(NOTHING_ELSE)


@REDOS.failure
def _redo_end(redo: CaptionRedo, error: str = "") -> int:
    return CaptionRedo.objects.filter(pk=redo.pk, finished_at=None).update(finished_at=timezone.now(), error=error)
