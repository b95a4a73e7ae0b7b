"""The guideline that a new project starts with, and Markdown to HTML for texts that leads write."""

from collections.abc import Sequence
from functools import lru_cache

from django.utils.html import escape
from django.utils.safestring import SafeString
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

LEVELS = (
    "Unrelated",
    "Touches it: some points of the query appear, the main action does not",
    "Partly: only part of the query is shown; large gaps in picture or time",
    "Good: the action agrees, one small thing is off or missing",
    "Perfect: exactly these actions, prominent, complete, nothing else",
)

BODY = """\
## What you are asked

You see one sentence, the **query**, and one short clip, the **moment**. Say how well the moment answers the query.
Judge by the picture alone: clips are silent, and what is said or written about them is not shown. You will see many
moments for the same query; judge each for itself.

## Three things to weigh

1. **Action match.** Do the people do what the query says?
2. **Visual completeness.** Is the whole action inside the picture, large enough and in a prominent place?
3. **Temporal completeness.** How much of the moment is the action? Does it run from beginning to end, or is it cut off,
   interrupted, or padded with other things?

## The five grades

For the query *"A person stands up and walks towards the board"*:

| Grade | Meaning | Such a moment shows |
|---|---|---|
| **4** | Perfect: the actions agree exactly, are prominent, and fill the moment | one or two people standing up and walking to the board |
| **3** | Good, with one small mismatch: a detail is missing or something unrelated surrounds it | the same, with other things going on before or after |
| **2** | Partly: a part of the query is shown, with large gaps in picture or time | a man walking to a board; nobody stands up |
| **1** | Touches it: things of the query are there, its main action is not | a man and a board, and nothing between them |
| **0** | Unrelated | something else |

## When in doubt

- Nearly every clip shows a person, so a person alone says nothing. A person who does nothing of the query is worth **0**.
- What you cannot see does not count: where a thing the query names lies outside the picture or the moment, it is no **4**,
  however well the rest fits.
- A wrong detail (a woman instead of a man, a cup instead of a glass) costs one grade, not all.
- If you hesitate between two grades, ask what somebody who searched for the query would say.
- Do not try to guess what others would answer, and do not look for a pattern in the order: there is none.
"""


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
