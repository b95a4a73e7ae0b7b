"""Findings of axe on a page as it is."""

from pathlib import Path
from typing import Literal

from playwright.sync_api import Page

Scheme = Literal["light", "dark"]
AXE = (Path(__file__).parent / "vendor" / "axe-4.14.1.min.js").read_text()
EVERYTHING: dict[str, object] = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}
OF_COLOURS = ["color-contrast", "link-in-text-block"]
COLOURS: dict[str, object] = {"type": "rule", "values": OF_COLOURS}
NARROW: dict[str, object] = {"type": "rule", "values": [*OF_COLOURS, "target-size", "scrollable-region-focusable"]}
RUN = """(runOnly) => axe.run(document, {runOnly, resultTypes: ['violations']})
  .then(({violations}) => violations.flatMap(({id, nodes}) =>
    nodes.map((node) => `${id}: ${node.html.slice(0, 160)} ${node.failureSummary.slice(0, 300)}`)))"""


def barriers(page: Page) -> list[str]:
    """In light and in dark, where nothing but colours differs."""
    return barriers_in(page, "light") + barriers_in(page, "dark", COLOURS)


def barriers_in(page: Page, scheme: Scheme, rules: dict[str, object] = EVERYTHING) -> list[str]:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # colours do not fade into each other
    if not page.evaluate("'axe' in window"):
        page.add_init_script(AXE)  # of the pages after this one
        page.evaluate(AXE)
    return [f"{page.url} {scheme} {line}" for line in page.evaluate(RUN, rules)]
