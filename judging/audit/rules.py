"""Sentences for audit events, without their subject: "withdrew a pair of ..."; and the pages they lead to. Pure.

A part in brackets is left out where a value of it is missing or empty.
"""

import re
from collections.abc import Mapping
from typing import Any

OPTIONAL = re.compile(r"\[([^\]]*)\]")
FIELD = re.compile(r"\{(\w+)\}")
WORD = re.compile(r"[^\W_]+")
KINDS: dict[str, dict[str, str]] = {
    "Reviews": {
        "batch.extend": "extended “{query}”[: {reason}]",
        "batch.close": "closed “{query}”[: {reason}]",
        "batch.review_undo": "took back the decision to {was} “{query}”",
    },
    "Pairs and flags": {
        "pair.withdraw": "withdrew the pair of rank {rank} of “{query}”[: {reason}]",
        "pair.restore": "put back the pair of rank {rank} of “{query}”, now {now}[: {reason}]",
        "flag.dismiss": "dismissed a flag on a pair of “{query}”[: {reason}]",
        "moment.recut": "had a clip of “{query}” cut anew",
        "moment.bounds": "moved the bounds of a moment of “{query}” from {was} to {becomes} s",
    },
    "Releases and runs": {
        "release.create": "made release {version}",
        "release.retry": "had the files of release {version} made again",
        "release.words": "changed what releases say: {changed}",
    },
    "Annotators": {
        "member.add": "gave somebody the role {role}[, annotator {number}]",
        "annotator.candidate": "made annotator {number} a candidate, before {was}[: {reason}]",
        "annotator.training": "let annotator {number} into training, before {was}[: {reason}]",
        "annotator.exam": "let annotator {number} into the exam, before {was}[: {reason}]",
        "annotator.qualified": "qualified annotator {number}, before {was}[: {reason}]",
        "annotator.suspended": "suspended annotator {number}, before {was}[: {reason}]",
        "annotator.left": "noted that annotator {number} has left, before {was}[: {reason}]",
        "annotator.password-link": "made a link to a new password for annotator {number}",
        "identity.erase": "erased the name and account of an annotator",
        "invitation.create": "invited somebody as {role}",
        "invitation.renew": "renewed an invitation",
        "invitation.revoke": "revoked an invitation",
        "invitation.accept": "joined by an invitation[ as annotator {number}]",
        "registration.open": "let anybody join",
        "registration.close": "let nobody join by themselves any more",
        "registration.join": "joined by themselves[ as annotator {number}]",
        "alert.see": "looked at an alert about annotator {annotator} ({kind}: {value})[: {note}]",
    },
    "Guideline and policy": {
        "guideline.publish": "published version {version} of the guideline",
        "guideline.confirm": "confirmed version {version} of the guideline",
        "policy.publish": "published version {version} of the policy",
    },
    "Exams, training, screening test": {
        "exam.create": "prepared exam {number} ({kind}: {queries} queries of {depth} pairs)",
        "exam.open": "opened an exam of {pairs} pairs",
        "exam.close": (
            "closed an exam: {finished} finished, {missed} missed it[; truth of agreeing majorities: {truths} pairs]"
            "[; left out of the truth: {left_out}]"
        ),
        "exam.missed_counts": "let the missed exam {exam} of annotator {annotator} count as an attempt: {reason}",
        "exam.missed_counts_not": "let the missed exam {exam} of annotator {annotator} not count: {reason}",
        "known_pair.anchor": "gave a pair of an exam the anchor {grade}[, before {was}]",
        "known_pair.anchor_remove": "took back the anchor {was} of a pair of an exam",
        "known_pair.explain": "explained a pair of known truth: {becomes}",
        "known_pair.retire": "retired a pair of known truth: {reason}",
        "training.draw": "drew training pairs of {queries} queries (seed {seed})",
        "training.grade": "graded a training pair {grade}[: {why}]",
        "tutorial.add": "added a pair to the tutorial",
        "tutorial.remove": "took a pair out of the tutorial",
        "tutorial.move": "moved a pair of the tutorial to place {place}",
        "gate.question.create": "wrote a question of the screening test",
        "gate.question.change": "changed a question of the screening test",
        "gate.question.retire": "retired a question of the screening test",
        "gate.question.restore": "asks a question of the screening test again",
        "gate.answer": "answered the screening test: {score} right, {passing} needed",
    },
    "Queries and pools": {
        "queries.draw": "drew the queries: {val} validation, {test} test, {train} training (seed {seed})",
        "queries.redraw": "drew the queries anew: {val} validation, {test} test, {train} training (seed {seed})",
        "query_set.create": "made the query set {name} of {queries} queries",
        "query_set.add": "put {queries} queries into the query set {name}",
        "query_set.change": "changed the query set {name}: priority {priority}, paused {paused}, pilot {pilot}",
        "similarity.choose": "chose {now} to rank candidates",
        "candidates.rank": "had candidates ranked[; those of {queries} queries anew]",
        "batches.open": "had first batches opened",
        "pool.open": "opened a pool of {sources} to depth {depth}",
        "coverage.open": "opened a coverage study: the best {top} and {others} others of queries {queries}",
    },
    "Captions and training sets": {
        "captions.rewrite": "had {descriptions} descriptions rewritten by {provider}",
        "caption.accepted": "accepted the caption “{to_text}”",
        "caption.edited": "wrote the caption “{to_text}”[ instead of “{from_text}”]",
        "caption.redone": "had a caption worded anew",
        "caption.redo_called_off": "called another wording of a caption off",
        "caption.undone": "took back a decision about a caption",
        "train_set.start": "had a training set of depth {depth} made",
        "train_set.discard": "threw a training set away[ (depth {depth})]",
    },
    "Pay": {
        "pay.rate": "set a rate of annotator {number} from {from_day}",
        "pay.correct": "corrected the hours of annotator {number} on {day} by {seconds} s",
        "pay.export": "took out a statement of {first_day} to {last_day}",
    },
    "Project": {
        "project.create": "made the project over {corpus}",
        "project.copy": "copied from another project[, {source_name}]: {copied}",
        "corpus.upload": "brought a file of the form {format} for the corpus {corpus}",
        "corpus.confirm": "said yes to importing a file into the corpus",
        "corpus.import": "imported a file into the corpus",
        "corpus.videos": "stored files of {videos_with_file} videos of the corpus",
        "cast.import": "gave the corpus {names} names of its cast",
        "judgments.upload": "brought a file of judgments",
        "judgments.confirm": "said yes to importing a file of judgments",
        "judgments.import": "imported judgments of {pairs} pairs",
        "totp.reset": "turned off the log-in codes of a member",
        "demo.seed": "made the demo of {videos} videos (seed {seed})",
    },
}
SENTENCES = {action: sentence for kind in KINDS.values() for action, sentence in kind.items()}
Pages = dict[tuple[str, ...], tuple[str, str]]  # beginnings of the action: the page, what to call it
BY_SUBJECT: Pages = {  # pages that take the object's UUID
    ("pair.", "flag.", "moment."): ("judging:pair-batch", "Pair"),
    ("batch.",): ("judging:batch", "Batch"),
    ("guideline.",): ("judging:guideline-version", "Version"),
    ("exam.",): ("judging:exam", "Exam"),
    ("known_pair.",): ("judging:known-exam", "Exam"),
    ("training.grade", "tutorial."): ("judging:training-pair", "Pair"),
    ("query_set.",): ("judging:query-set", "Query set"),
    ("coverage.",): ("judging:coverage-study", "Study"),
}
OF_PROJECT: Pages = {  # pages that take the project's
    ("policy.",): ("judging:policy", "Policy"),
    ("training.draw",): ("judging:training", "Training"),
    ("gate.question.",): ("judging:screening-questions", "Screening test"),
    ("queries.",): ("annotation:splits", "Splits"),
    ("caption",): ("annotation:captions", "Captions"),
    ("batches.", "candidates.", "similarity."): ("judging:queries", "Queries"),
    ("release.",): ("judging:releases", "Releases"),
    ("train_set.",): ("annotation:train-sets", "Training sets"),
    ("alert.",): ("judging:alerts", "Alerts"),
}
OF_PEOPLE: Pages = {  # the same, for leads alone
    ("invitation.", "registration.", "identity."): ("judging:people", "People"),
    ("pay.",): ("judging:pay", "Pay"),
}


def register_actions(kind: str, sentences: Mapping[str, str], *, by_subject: Pages, of_project: Pages) -> None:
    """Add actions of another app to a kind, each with its sentence, and that app's pages which actions lead to."""
    KINDS[kind].update(sentences)
    SENTENCES.update(sentences)
    BY_SUBJECT.update(by_subject)
    OF_PROJECT.update(of_project)


def in_words(action: str, data: Mapping[str, Any]) -> str:
    """The event as a sentence; an action that is not known says its name."""
    sentence = SENTENCES.get(action)
    if sentence is None:
        return action.replace(".", " ").replace("_", " ")
    text = OPTIONAL.sub(lambda part: part[1] if _complete(part[1], data) else "", sentence)
    return FIELD.sub(lambda field: value_text(data.get(field[1])), text)


def kind_words(action: str) -> str:
    """Return the words of all events of an action, to choose from in a list: without values and explanations."""
    text = OPTIONAL.sub("", SENTENCES[action]).partition(":")[0].partition(" (")[0]
    return FIELD.sub("…", text)


def actions_saying(word: str) -> list[str]:
    """Actions whose sentence itself, whatever its values, has a word that begins with this one."""
    own_words = {action: WORD.findall(FIELD.sub(" ", sentence).lower()) for action, sentence in SENTENCES.items()}
    return [action for action, words in own_words.items() if any(own.startswith(word.lower()) for own in words)]


def _complete(part: str, data: Mapping[str, Any]) -> bool:
    return all(data.get(name) not in (None, "", [], 0) or data.get(name) is False for name in FIELD.findall(part))


def value_text(value: object) -> str:
    """A value as people read it."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(value_text(one) for one in value) or "–"
    return str(value)
