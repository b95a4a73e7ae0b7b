"""Which words stand for names: the table of replacement words."""

import re
from collections import Counter
from collections.abc import Iterable

from annotation.captions.rewriting.english import PLURAL_VERB

LEFT_OUT = {"a", "an", "the"}
WORD = re.compile(r"[^\W\d_]{2,}")  # not the s of a possessive


def replacement_words(pairs: Iterable[tuple[str, str]]) -> Counter[str]:
    """Words of captions that their descriptions do not hold, over pairs of (description, caption); no articles."""
    found: Counter[str] = Counter()
    for description, caption in pairs:
        found.update(replacements(description, caption))
    return found


def replacements(description: str, caption: str) -> dict[str, int]:
    """How often each word is new; "walk" for "walks" is no new word, a verb only agrees with people now together."""
    if description == caption:
        return {}
    before = Counter(word.lower() for word in WORD.findall(description))
    after = Counter(word.lower() for word in WORD.findall(caption))
    agreed = Counter({PLURAL_VERB[word]: n for word, n in (before - after).items() if word in PLURAL_VERB})
    return {word: n for word, n in (after - before - agreed).items() if word not in LEFT_OUT}


def table(counts: Counter[str], *, captions: int, top: int = 20) -> str:
    """Lines of text: the commonest words and how often they stand for a name."""
    total = sum(counts.values())
    lines = [f"{word:<12} {n:>8,}" for word, n in counts.most_common(top)]
    mean = total / captions if captions else 0.0
    return "\n".join([*lines, f"{total:,} words replaced in {captions:,} descriptions, {mean:.2f} each."])
