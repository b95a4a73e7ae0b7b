"""The little English that the rules need: words by kind, sentences as tokens, and whether a text is English at all."""

import re
import tomllib
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

DATA = tomllib.loads(Path(__file__).with_name("english.toml").read_text(encoding="utf-8"))
TABLES = {name: table for name, table in DATA.items() if isinstance(table, dict)}
FOREIGN = {language: set(words.split()) for language, words in TABLES["foreign"].items()}
WORDS = {kind: set(words.split()) for kind, words in DATA.items() if kind not in TABLES}
TITLE_NOUN: dict[str, str] = TABLES["title_noun"]
PLURAL_TITLES: dict[str, str] = TABLES["plural_titles"]
TITLE_GENDER: dict[str, str] = TABLES["title_gender"]
IRREGULAR: dict[str, str] = TABLES["irregular"]
PLURAL_OF: dict[str, str] = TABLES["plural_of"]
NOUN_OF = {"M": "man", "F": "woman", "N": "person"}
NUMBERS = "no one two three four five six seven eight nine ten".split()
ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()

ARTICLES = {"a", "an", "the"}
OWNERS = {"his", "her", "their", "my", "our", "your", "its", "this", "that", "another"}
RELATIONS = WORDS["relations"] | {noun for noun in TITLE_NOUN.values() if noun}
ADJECTIVES, ADVERBS, PREPOSITIONS = WORDS["adjectives"], WORDS["adverbs"], WORDS["prepositions"]
LISTENERS, THINGS = WORDS["listeners"], WORDS["things"]
VERBS, ONLY_VERBS, PAST = WORDS["verbs"], WORDS["only_verbs"], WORDS["past"]
ALSO_PREPOSITIONS = {"past"}  # of the adjectives

MATTER = {"green", "grey", "amber", "wood", "heat", "storm", "ginger", "jade", "spain", "fields", "bell", "april"}
FUNCTION_WORDS = set(chain(ARTICLES, OWNERS, LISTENERS, PREPOSITIONS, ADVERBS))
TITLES = r"(?:Drs?|Mrs?|Ms|Prof|Det|Capt|Lt|Sgt|Col|Sr|Jr)"
GLUED = re.compile(rf"\b({TITLES}\.)(?=[A-Z])")  # "Dr.House"
GLUED_SENTENCES = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])")
COUPLE = re.compile(
    r"\b(Mr|Mrs|Dr|Ms)\.? (and|&) (Mr|Mrs|Dr|Ms)\.? (?=([A-Z]\w+))", re.IGNORECASE
)  # "Mr. and Mrs. Geller"
TOKEN = re.compile(rf"{TITLES}\.|[OD]'[A-Za-z]\w+|'s\b|\w+(?:-\w+)*(?:'(?!s\b)[A-Za-z]+)?|[^\w\s]", re.IGNORECASE)
DETECTION_WORDS_MIN = 4  # of a text in Latin letters, before its language is judged


def _third_person(verb: str) -> str:
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return verb[:-1] + "ies"
    return f"{verb}{'es' if verb.endswith(('s', 'sh', 'ch', 'x', 'z', 'o')) else 's'}"


PLURAL_VERB = {_third_person(verb): verb for verb in VERBS} | IRREGULAR  # "walks" -> "walk"


def plural(noun: str) -> str:
    return PLURAL_OF.get(noun) or f"{noun}{'es' if noun.endswith(('s', 'sh', 'ch')) else 's'}"


def article(word: str) -> str:
    return "an" if word[:1].lower() in "aeiou" else "a"


@dataclass(slots=True)
class Token:
    text: str
    glued: bool  # no space before it
    starts: bool = False  # the first word of a sentence or of a quotation

    @property
    def is_word(self) -> bool:
        return self.text[0].isalnum()


def tokenise(text: str) -> list[Token]:
    """Tokens of ``text``; white space runs become single spaces, curly quotes straight, glued sentences two."""
    text = " ".join(text.replace("’", "'").replace("‘", "'").split())
    text = GLUED_SENTENCES.sub(" ", GLUED.sub(r"\1 ", text))
    text = COUPLE.sub(r"\1. \4 \2 \3. ", text)
    tokens, end, starts = [], -1, True
    for match in TOKEN.finditer(text):
        word = match.group()
        token = Token(word, match.start() == end, starts)
        end = match.end()
        tokens.append(token)
        if token.is_word:
            starts = False
        elif word in ".!?" or word in '"“' or (word == "'" and not token.glued):
            starts = True
    if tokens:
        tokens[0].glued = True
    return tokens


def join(tokens: list[Token]) -> str:
    return "".join(token.text if token.glued else f" {token.text}" for token in tokens).strip()


ENGLISH = ARTICLES | FUNCTION_WORDS | VERBS | PLURAL_VERB.keys() | WORDS["common"]


def is_english(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "ɐ" for character in letters)
    if latin < 0.8 * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < DETECTION_WORDS_MIN:
        return True
    english = sum(word in ENGLISH for word in words)
    foreign = max(sum(word in common for word in words) for common in FOREIGN.values())
    return english > 0 and english >= foreign
