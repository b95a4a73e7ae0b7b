"""Description to caption by rules: every name becomes words that fit anybody. Deterministic and offline.

``flaws`` says which descriptions no rule may rewrite alone.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from annotation.captions.rewriting.english import (
    NOUN_OF,
    PLURAL_VERB,
    RELATIONS,
    TITLE_NOUN,
    Token,
    is_english,
    join,
    tokenise,
)
from annotation.captions.rewriting.lexicon import Lexicon
from annotation.captions.rewriting.mentions import Reader
from annotation.captions.rewriting.wording import TELLING_APART, Group, Wording, group

LONGEST = 2000  # characters; the longest of TVR has 700
MARKUP = re.compile(r"</?[a-zA-Z][^<>]*>|&(?:[a-z]+|#\d+);")
HEARD = set(NOUN_OF.values()) | {noun for noun in TITLE_NOUN.values() if noun} | (RELATIONS & {"boy", "girl", "lady"})
BARE_TITLES = {"Dr.": "doctor", "Dr": "doctor"}
DOUBLED = re.compile(r"\b(an?|the|she|he) \1\b", re.IGNORECASE)
AN = re.compile(r"\b([Aa])n (?=[bcdfgjklmnpqrstvwyz][a-z])")  # "an paper"
AND_MORE = re.compile(r"(?<=, )(he|she), ((?:two|three) (?:other )?(?:men|women|people)\b)(?!')")  # of "he, X and Y"


@dataclass(frozen=True)
class Found:
    """The likeliest name of a person in a text; score 0 where there is none."""

    score: float = 0.0
    text: str = ""


def flaws(description: str, lexicon: Lexicon) -> list[str]:
    """Why a person must see what is made of this description: empty, huge, only_name, markup, language."""
    text = description.strip()
    if not any(character.isalnum() for character in text):
        return ["empty"]
    names = ["huge"] if len(text) > LONGEST else []
    names += ["markup"] if MARKUP.search(text) else []
    if len(text) <= LONGEST and _is_only_a_name(text, lexicon):
        names.append("only_name")
    elif not is_english(text):
        names.append("language")
    return names


def _is_only_a_name(text: str, lexicon: Lexicon) -> bool:
    tokens = tokenise(text)
    mentions = Reader(tokens, lexicon).mentions()
    name_positions = {at for mention in mentions for at in range(mention.start, mention.end)}
    rest = [token.text for at, token in enumerate(tokens) if at not in name_positions and token.is_word]
    return bool(mentions) and not [word for word in rest if word != "and"]


def rewrite(description: str, lexicon: Lexicon, *, general: bool = False) -> str:
    """Return the caption: the description without names.

    ``general``, for a second try, says person for man and woman, and takes every unknown capitalised word for a name.
    """
    tokens = tokenise(description)
    reader = Reader(tokens, lexicon, wary=general)
    groups = group(reader, reader.mentions())
    pronouns = (at for at, token in enumerate(tokens) if token.text.lower() in TELLING_APART)
    wording = Wording(groups, general=general, last_pronoun=max(pronouns, default=-1))
    out: list[Token] = []
    at = 0
    for one in groups:
        out += _copy(reader, range(at, one.start), wording)
        out += _placed(wording.of(one), tokens[one.start])
        at = _agree(tokens, one, out)
    out += _copy(reader, range(at, len(tokens)), wording)
    return _tidy(join(out))


def _placed(words: str, first: Token) -> list[Token]:
    if not words:
        return []
    starts = first.starts and words[0].isalpha()
    return [Token(words[0].upper() + words[1:] if starts else words, first.glued or words.startswith("'"))]


def _copy(reader: Reader, between: range, wording: Wording) -> Iterator[Token]:
    tokens = reader.tokens
    for at in between:
        token = tokens[at]
        lower = token.text.lower()
        if lower in HEARD:
            before = tokens[at - 1].text.lower() if at else ""
            wording.hear(lower, new=before in {"a", "an", "another"})
        yield Token(token.text if at in reader.things else _small(token, lower, reader.lexicon), token.glued)


def _small(token: Token, lower: str, lexicon: Lexicon) -> str:
    """The word as it stands, in lower case where a capital would make a name or a title of it."""
    if token.starts or not token.text[0].isupper():
        return token.text
    if token.text in BARE_TITLES:
        return BARE_TITLES[token.text]
    person = lexicon.cast.get(lower)
    if person and person.is_word and token.text not in lexicon.proper:
        return lower
    if token.text in lexicon.proper:
        return token.text
    is_small = lower in TITLE_NOUN or lower in lexicon.ordinary or (lower in PLURAL_VERB and not lexicon.known(lower))
    return lower if is_small else token.text


def _agree(tokens: list[Token], one: Group, out: list[Token]) -> int:
    """Give a group that opens its clause the plural verb; return where the text goes on."""
    at = one.end
    if len(one.mentions) < 2 or one.mentions[-1].owns or at >= len(tokens):
        return at
    opens = (
        one.start == 0
        or not tokens[one.start - 1].is_word
        or tokens[one.start - 1].text.lower() in {"and", "as", "while", "when"}
    )
    many = PLURAL_VERB.get(tokens[at].text)
    if not opens or not many:
        return at
    out.append(Token(many, tokens[at].glued))
    return at + 1


def _tidy(text: str) -> str:
    text = re.sub(r"\s+([,.;:!?])", r"\1", text)
    text = re.sub(r",+(?=\.)|^[,;:]\s*|(?<=,),", "", text)
    text = DOUBLED.sub(r"\1", text)
    text = AN.sub(r"\1 ", text)
    text = AND_MORE.sub(r"\1 and \2", text)
    return text[:1].upper() + text[1:]
