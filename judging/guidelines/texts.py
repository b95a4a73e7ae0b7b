"""The guideline that a new project starts with, and Markdown to HTML for texts that leads write."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

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

BODY = (Path(__file__).parent / "guideline.md").read_text(encoding="utf-8")
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
