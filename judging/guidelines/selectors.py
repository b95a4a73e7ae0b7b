"""The policy and the guideline in force, and what differs between two versions of the guideline, line by line."""

from collections.abc import Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from pathlib import Path
from string import Template
from typing import NamedTuple

from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from core.sql import row_first
from judging.models import Guideline, GuidelineDraft, Policy
from judging.qualification.rules.passing import PassRule
from judging.quality.rules.agreement import Weights
from judging.work.rules import TVR_RANKING

AROUND = 2  # lines that stay, shown before and after those that change


def policy_in_force(project_id: int) -> Policy:
    """Return the latest version. Raises Policy.DoesNotExist where there is no such project."""
    policy = row_first(Policy, "WHERE project_id = %s ORDER BY version DESC LIMIT 1", project_id)
    if policy is None:
        raise Policy.DoesNotExist
    return policy


def pass_rule_of(policy: Policy) -> PassRule:
    """Return this version's rule for passing an exam."""
    values = {name: getattr(policy, f"exam_{name}") for name in ("kappa", "kappa_low", "bias", "levels")}
    return PassRule(weights=Weights(policy.exam_weights), top_grade=policy.project.top_grade, **values)


def guideline_in_force(project_id: int) -> Guideline:
    return Guideline.objects.filter(project=project_id).latest("version")


class Line(NamedTuple):
    """One line of a comparison: kept, gone or new; or skipped, where lines that stay are left out."""

    sign: str
    text: str = ""


def changes(before: Sequence[str], after: Sequence[str], *, around: int = AROUND) -> list[Line]:
    """The lines that differ with a few around them, in order; empty when nothing differs. Lines that go stand before
    those that come in their place."""
    lines: list[Line] = []
    end = 0
    matcher = SequenceMatcher(None, list(before), list(after), autojunk=False)
    for group in matcher.get_grouped_opcodes(around):
        if group[0][1] > end:
            lines.append(Line("skipped"))
        for tag, from_a, to_a, from_b, to_b in group:
            lines += [Line("kept" if tag == "equal" else "gone", text) for text in before[from_a:to_a]]
            if tag != "equal":
                lines += [Line("new", text) for text in after[from_b:to_b]]
        end = group[-1][2]
    if lines and end < len(before):
        lines.append(Line("skipped"))
    return lines


def guideline_lines(version: Guideline | GuidelineDraft) -> list[str]:
    """Everything a version says, line by line: its text, the levels, the examples; clips by no telling name."""
    levels = [f"{grade}: {line}" for grade, line in reversed(list(enumerate(version.levels)))]
    rows = version.examples.select_related("moment")
    examples = [f"Example of {row.grade}: clip {str(row.moment.uuid)[:8]} for “{row.query_text}”" for row in rows]
    return [*version.body.splitlines(), *levels, *examples]


def guideline_changes(before: Guideline, after: Guideline | GuidelineDraft) -> list[Line]:
    return changes(guideline_lines(before), guideline_lines(after))


LEVELS = (
    "Unrelated",
    "Touches it: some points of the query appear, the main action does not",
    "Partly: only part of the query is shown; large gaps in picture or time",
    "Good: the action agrees, one small thing is off or missing",
    "Perfect: exactly these actions, prominent, complete, nothing else",
)

OTHER_LEVELS = {  # by the top grade
    1: ("No: the moment does not answer the query", "Yes: the moment answers the query"),
    2: (LEVELS[0], LEVELS[2], LEVELS[4]),
    3: (LEVELS[0], LEVELS[1], LEVELS[3], LEVELS[4]),
    4: LEVELS,
}


def levels_of(top_grade: int) -> list[str]:
    """Return the line of each grade, 0 first, that a project with this top grade begins with."""
    between = [f"{grade} of {top_grade}: between unrelated and perfect" for grade in range(1, top_grade)]
    return list(OTHER_LEVELS.get(top_grade, (LEVELS[0], *between, LEVELS[4])))


TEXT = Template((Path(__file__).parent / "guideline.md").read_text(encoding="utf-8"))
SUBJECTS = {  # what clips show: how the text speaks of all of them, of one, and of this one
    "people": ("the people", "a person", "who"),
    "animals": ("the animals", "an animal", "that"),
    "things": ("the things", "a thing", "that"),
    "people and animals": ("the people or animals", "a person or an animal", "that"),
    "people, animals and things": ("the people, animals or things", "somebody or something", "that"),
}
QUERY = "A person stands up and walks towards the board"
DETAIL = "a woman instead of a man, a cup instead of a glass"
SOMETHING_ELSE, SURROUNDED = "something else", "the same, with other things going on before or after"
OF_QUERY = (  # what a moment of each level shows, from unrelated to perfect
    SOMETHING_ELSE,
    "a man and a board, and nothing between them",
    "a man walking to a board; nobody stands up",
    SURROUNDED,
    "one or two people standing up and walking to the board",
)
OF_ANY_QUERY = (
    SOMETHING_ELSE,
    "what it names, and nothing of what happens",
    "a part of what happens",
    SURROUNDED,
    "all of it, plain to see",
)
NUMBERS = ("two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")  # of grades


def guideline_text(
    subjects: str = "people", query: str = QUERY, detail: str = DETAIL, *, top_grade: int = TVR_RANKING.top_grade
) -> str:
    """Return the text that every project begins with, for clips of other ``subjects`` and another example."""
    everybody, one, who = SUBJECTS[subjects]
    values = {
        **{"subjects": everybody, "one": one, "One": one.capitalize(), "who": who, "detail": detail},
        **{"number": NUMBERS[top_grade - 1], "top": str(top_grade), "grades": _grades_table(query, top_grade)},
        "costs": f"makes a **{top_grade}** impossible" if top_grade < MANY_GRADES else "costs one grade, not all",
    }
    return TEXT.substitute(values)


MANY_GRADES = 3  # from this top grade on a wrong detail costs one of them


MEANINGS = (
    "Unrelated",
    "Touches it: things of the query are there, its main action is not",
    "Partly: a part of the query is shown, with large gaps in picture or time",
    "Good, with one small mismatch: a detail is missing or something unrelated surrounds it",
    "Perfect: the actions agree exactly, are prominent, and fill the moment",
)
OF_FIVE = {1: (2, 4), 2: (0, 2, 4), 3: (0, 1, 3, 4), 4: range(5)}  # by the top grade: the level that each grade is


def _grades_table(query: str, top_grade: int) -> str:
    """Return the meaning of each grade as a table, best first, with examples on scales that have no more than five."""
    levels = OF_FIVE.get(top_grade)
    if levels is None:
        rows = [f"| **{grade}** | {line} |" for grade, line in enumerate(levels_of(top_grade))]
        return "\n".join(["| Grade | Meaning |", "|---|---|", *reversed(rows)])
    meanings = [MEANINGS[level] for level in levels] if top_grade > 1 else levels_of(top_grade)
    examples = OF_QUERY if query == QUERY else OF_ANY_QUERY
    rows = [
        f"| **{grade}** | {meaning} | {examples[level]} |"
        for grade, (level, meaning) in enumerate(zip(levels, meanings, strict=True))
    ]
    head = [f'For the query *"{query}"*:', "", "| Grade | Meaning | Such a moment shows |", "|---|---|---|"]
    return "\n".join([*head, *reversed(rows)])


BODY = guideline_text()
EMBEDDED = "data:image/"  # markdown-it lets no other `data:` through, and no SVG
_renderer = MarkdownIt("commonmark", {"html": False}).enable("table")


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: EnvType) -> str:
    """Render an image that is part of the text; another is a link, as pages load nothing from elsewhere."""
    source = str(tokens[index].attrs["src"])
    if source.startswith(EMBEDDED):
        return self.image(tokens, index, options, env)
    return f'<a href="{escape(source)}">{escape(tokens[index].content or source)}</a>'


_renderer.add_render_rule("image", _image)


@lru_cache(maxsize=16)
def markdown_html(text: str) -> SafeString:
    return SafeString(_renderer.render(text))  # nosec B703 - the renderer escapes all HTML
