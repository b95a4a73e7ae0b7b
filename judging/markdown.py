"""Markdown to HTML for texts that leads write; raw HTML in them is shown, not run."""

from functools import lru_cache

from django.utils.safestring import SafeString
from markdown_it import MarkdownIt

_renderer = MarkdownIt("commonmark", {"html": False}).enable("table")


@lru_cache(maxsize=16)
def markdown_html(text: str) -> SafeString:
    return SafeString(_renderer.render(text))  # nosec B703 - the renderer escapes all HTML
