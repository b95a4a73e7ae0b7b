"""Markdown of leads: text, links, lists and tables; nothing that runs, and nothing that is fetched from elsewhere."""

import pytest

from judging.guidelines.selectors import markdown_html


@pytest.mark.parametrize(
    "text",
    [
        "<script>run()</script>",
        "<img src=x onerror=run()>",
        "[a](javascript:run())",
        "[a](JaVaScRiPt&colon;run())",
        "[a](vbscript:run())",
        "[a](data:text/html,x)",
        "[a](file:///etc/passwd)",
        "![a](data:image/svg+xml,x)",
        "<javascript:run()>",
        "[a]: javascript:run()\n\n[a]",
    ],
)
def test_what_would_run_is_text(text: str) -> None:
    output = markdown_html(text)
    for tag in ("<script", "<img", "<a ", "<svg"):
        assert tag not in output


@pytest.mark.parametrize("source", ["https://elsewhere.example/p.png", "//elsewhere.example/p.png", "/logout/"])
def test_a_picture_from_elsewhere_is_a_link(source: str) -> None:
    assert markdown_html(f"![a <b>]({source})") == f'<p><a href="{source}">a &lt;b&gt;</a></p>\n'


def test_a_picture_within_the_text_is_shown() -> None:
    assert "<img " in markdown_html("![a](data:image/png;base64,AAAA)")
