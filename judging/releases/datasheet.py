"""datasheet.md: Datasheets for Datasets (Gebru et al. 2021, arXiv:1803.09010), by counts and the team's words. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from judging.releases.facts import plain_line, prose
from judging.releases.scope import STATES

NOT_SAID = "*Not said yet.*"
PAIRS = (
    "An instance is a pair: a query (a sentence) with a moment (a video with start and end in seconds), and its "
    "relevance from 0 to 4. Videos themselves are not in it."
)
IMPORTED_PAIRS = (
    "An instance is an imported pair of a query with a moment, and its relevance from 0 to 4. Which video and which "
    "seconds the moment is, is not known here."
)
NAMES = (
    "**Does it name people?** Annotators are numbers{drawn}. Names, e-mail addresses, comments, times of grades "
    "and free words of leads are in no file."
)
DRAWN = ", drawn at random for this release alone"
GRADES = "Single grades are in it (`raw_annotation.csv`, `judgments.csv`), so another rule of consensus can be tried."
GROUND_TRUTH = (
    "It is made for ranked video moment retrieval: `val.json` and `test.json` are the ground truth, `train_top*.json` "
    "pseudo training sets by similarity that nobody judged."
)
NO_GROUND_TRUTH = (
    "It serves to study judgments and their agreement. **It has no ground truth that a run could be scored on:** "
    "videos and times of imported moments are not known, so `val.json`, `test.json` and `qrels.txt` are empty."
)
Facts = Mapping[str, Any]


def datasheet(settings: Facts, counts: Facts) -> str:
    """The datasheet of a release, from what settings.json says and what was counted."""
    words = settings["words"]
    parts = [
        f"# {plain_line(words['title'] or settings['project'])}: datasheet",
        "The questions are those of *Datasheets for Datasets*. Figures were counted when the release was made; "
        "`manifest.json` names the day of its last grade or decision, and the days on which grades were given.",
        _section("Motivation", _motivation(words)),
        _section("Composition", [*_composition(settings, counts), *_missing(counts)]),
        _section("Collection process", _collection(settings, counts)),
        _section("Preprocessing and labelling", _preprocessing(settings)),
        _section("Uses", _uses(settings)),
        _section("Distribution", _distribution(words)),
        _section("Maintenance", _maintenance(words)),
    ]
    return "\n\n".join(parts) + "\n"


def is_imported(settings: Facts) -> bool:
    """The pairs came from a file of judgments alone, without moments."""
    return bool(settings["corpus"]["placeholder"])


def _section(title: str, paragraphs: Sequence[str]) -> str:
    return "\n\n".join([f"## {title}", *paragraphs])


def _answer(question: str, words: str) -> str:
    return f"**{question}** {prose(words) or NOT_SAID}"


def _table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, int):
        return f"{value:,}"
    return str(value).replace("|", "\\|").replace("\n", " ")


def _motivation(words: Facts) -> list[str]:
    return [
        _answer("What is it?", words["description"]),
        _answer("Why was it made?", words["motivation"]),
        _answer("Who made it?", words["creators"]),
        _answer("Who paid for it?", words["funding"]),
    ]


def _composition(settings: Facts, counts: Facts) -> list[str]:
    splits, pairs, relevance = settings["splits"], counts["pairs"], counts["relevance"]
    rows = [
        ("videos", counts["videos"]),
        ("moments", counts["moments"]),
        *((f"queries of the split {split}", n) for split, n in splits.items()),
        ("queries judged", counts["queries"]),
        ("queries of the same text, which share their relevance", counts["twins"]),
        *((f"pairs {state}", pairs[state]) for state in sorted(pairs)),
        ("judgments", counts["judgments"]),
        ("of these, given by programs", counts["simulated_judgments"]),
        ("annotators", counts["annotators"]),
    ]
    return [
        IMPORTED_PAIRS if is_imported(settings) else PAIRS,
        _table(("what", "how many"), rows),
        _table(("relevance", "settled pairs"), [(grade, relevance.get(str(grade), 0)) for grade in range(4, -1, -1)]),
        "Pairs without consensus have the state `dropped`, pairs that a lead took out `withdrawn`; neither has a "
        "relevance. Moments that no pair names were not judged, which does not mean that they are irrelevant.",
        NAMES.format(drawn=DRAWN if settings["anonymised"] else "")
        + (" Texts of queries are those of the imported file." if is_imported(settings) else ""),
    ]


def _missing(counts: Facts) -> list[str]:
    if not counts["missing"]:
        return ["**Is anything missing?** No: every query to judge is in it."]
    rows = [(STATES[state], n) for state, n in counts["missing"].items()]
    return [
        "**Is anything missing?** Yes; `missing.csv` lists these queries.",
        _table(("queries that are not in it", "how many"), rows),
    ]


def _collection(settings: Facts, counts: Facts) -> list[str]:
    paid = sorted({(policy["pay_rate"], policy["pay_currency"]) for policy in settings["policies"]})
    parts = [*(_imported(settings) if is_imported(settings) else _judged(settings)), _under(settings, counts)]
    if settings["draw"]:
        parts.append(f"The splits were drawn at random with the seed {settings['draw'].get('seed')}.")
    if counts["judgments"] and any(row["policy"] for row in settings["judged_under"]):
        parts.append("Policies set these rates of pay: " + ", ".join(f"{r} {c} an hour" for r, c in paid) + ".")
    return [*parts, _answer("What else is to be said of the collection?", settings["words"]["collection"])]


def _judged(settings: Facts) -> list[str]:
    consensus, pool = settings["consensus"], settings["pooling"]
    return [
        f"For each query the moments were ranked by the similarity of the query to their captions. The first "
        f"{pool['batch']} were judged; where a lead decided so, the next {pool['batch']} too. `batches.csv` has "
        "these decisions, `settings.json` the similarity, its version, and pools of systems' results, if any.",
        f"{consensus['judgments_per_round']} annotators graded each pair, without knowing its rank or each other's "
        f"grades. Grades at most {consensus['largest_spread']} apart settled it, and its relevance is their mean, "
        f"rounded up. Otherwise {consensus['judgments_per_round']} others graded it; {consensus['second_round']}, and "
        "the other two decided likewise. What was then still apart was dropped.",
    ]


def _imported(settings: Facts) -> list[str]:
    consensus = settings["consensus"]
    return [
        "The judgments were imported from a file. How they were collected is not known here: neither what chose the "
        "moments of a query, nor what annotators saw and knew, nor when they judged.",
        f"The relevance was computed from the imported grades. A pair has at most four; {consensus['second_round']}. "
        f"Two grades at most {consensus['largest_spread']} apart settled it, and its relevance is their mean, rounded "
        "up. Every other pair was dropped, also one with one or three grades.",
    ]


def _under(settings: Facts, counts: Facts) -> str:
    if not counts["judgments"]:
        return "Nothing was judged yet."
    rows = [
        (
            f"version {row['guideline']}" if row["guideline"] else "not known",
            row["policy"] or "not known",
            row["judgments"],
        )
        for row in settings["judged_under"]
    ]
    return _table(("guideline", "policy", "judgments"), rows)


def _preprocessing(settings: Facts) -> list[str]:
    if is_imported(settings):
        return ["Texts of queries are as they were imported, if they came with texts; no similarity is known.", GRADES]
    names = ", ".join(f"{row['name']} ({row['version']})" for row in settings["similarities"])
    return [
        "Queries and captions are descriptions in which names of persons were replaced. `moments.jsonl` says of each "
        "caption what made it; descriptions as they were are not in it.",
        f"Similarities: {names}, rounded to 1e-6." if names else "No similarity was computed yet.",
        GRADES,
    ]


def _uses(settings: Facts) -> list[str]:
    words = settings["words"]
    return [
        NO_GROUND_TRUTH if is_imported(settings) else GROUND_TRUTH,
        _answer("What else can it be used for?", words["uses"]),
        _answer("What should it not be used for?", words["limits"]),
    ]


def _distribution(words: Facts) -> list[str]:
    licence = " ".join(filter(None, (words["licence"], words["licence_url"] and f"<{words['licence_url']}>")))
    return [
        _answer("How is it distributed?", words["distribution"]),
        _answer("Under which licence?", licence),
        _answer("Where is it?", words["url"] and f"<{words['url']}>"),
        _answer("How is it cited?", words["citation"]),
    ]


def _maintenance(words: Facts) -> list[str]:
    return [
        _answer("Who maintains it, and how?", words["maintenance"]),
        _answer("Who can be asked?", words["contact"]),
        "Releases are numbered and never changed; a correction is a new release.",
    ]
