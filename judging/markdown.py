"""Markdown to HTML for texts that leads write; raw HTML in them is shown, not run."""

from markdown_it import MarkdownIt

_renderer = MarkdownIt("commonmark", {"html": False}).enable("table")


def markdown_html(text: str) -> str:
    return _renderer.render(text)
