"""Says who people named together are, without a name: a man, another man, the first man, two people."""

from collections import Counter, defaultdict
from dataclasses import dataclass

from annotation.captions.rewriting.english import (
    ADJECTIVES,
    ADVERBS,
    ARTICLES,
    LISTENERS,
    NOUN_OF,
    NUMBERS,
    ORDINALS,
    PLURAL_TITLES,
    PLURAL_VERB,
    article,
    plural,
)
from annotation.captions.rewriting.lexicon import Person
from annotation.captions.rewriting.mentions import TELLING, Mention, Reader

STRANGERS = {*NOUN_OF.values(), "guy", "lady"}
CLOTHED, CLOTHES_MAX = {"wearing", "in"}, 9  # words
BASE_VERBS = {*PLURAL_VERB.values(), "are", "were", "have", "do"}
TELLING_APART = {"he", "she", "his", "her", "him", "himself", "herself", "hers"}


@dataclass
class Group:
    """Mentions joined by commas and "and", as one subject or object; most are of one."""

    mentions: list[Mention]
    head: str = ""  # "detectives": the plural title before them

    @property
    def start(self) -> int:
        return self.mentions[0].start

    @property
    def end(self) -> int:
        return self.mentions[-1].end


def group(reader: Reader, mentions: list[Mention]) -> list[Group]:
    """Mentions that "and" joins become one group, unless a verb shows that another clause begins between them."""
    groups: list[Group] = []
    rest = list(mentions)
    while rest:
        links, n_joined = _chain(reader, rest)
        if stranger := _stranger(reader, links, mentions):
            groups.append(Group([*links, stranger]))
            rest = rest[len(links) :]
        else:
            groups += _clauses(reader, links[:n_joined])
            rest = rest[n_joined:]
    for one in groups:
        _take_head(reader, one)
    return groups


def _chain(reader: Reader, mentions: list[Mention]) -> tuple[list[Mention], int]:
    """The mentions from the first on that stand in one enumeration, and how many of them "and" joins.

    Where the cast list holds the names, the comma between them may be missing: "Castle Beckett and Esposito".
    """
    links, ends = [mentions[0]], 1
    for mention in mentions[1:]:
        between = [reader.lower(at) for at in range(links[-1].end, mention.start)]
        is_next = between in ([","], ["and"], ["&"], [",", "and"], ["/"])
        if not between and links[-1].person.is_cast and mention.person.is_cast:
            is_next = reader.lower(mentions[0].start - 1) not in TELLING
        if links[-1].owns or mention.relation or not is_next:
            break
        links.append(mention)
        if between not in ([","], []):
            ends = len(links)
    return links, ends


def _stranger(reader: Reader, chain: list[Mention], mentions: list[Mention]) -> Mention | None:
    """Somebody without a name who acts together with those named: "Javier and the young man wearing a polo were".

    What they wear goes, as in the paper's example (TVR-Ranking, Table 2). None where what follows has to tell the
    people apart.
    """
    keys, start = [mention.person.key for mention in chain], chain[-1].end
    is_named_again = any(mention.person.key in keys for mention in mentions if mention not in chain)
    is_plain = not any(mention.owns or mention.relation or mention.adjectives for mention in chain)
    if is_named_again or not is_plain or not _opens_clause(reader, chain[0].start):
        return None
    if reader.lower(start) != "and" or reader.lower(start + 1) not in ARTICLES | {"another"}:
        return None
    at = start + 2
    while reader.lower(at) in ADJECTIVES:
        at += 1
    noun, at = reader.lower(at), at + 1
    if noun not in STRANGERS:
        return None
    if reader.lower(at) in CLOTHED:
        at = next((end for end in range(at + 2, at + CLOTHES_MAX) if not _is_of_clothes(reader, end)), at)
    acts = reader.lower(at) in BASE_VERBS | PLURAL_VERB.keys()
    pronouns = {reader.lower(later) for later in range(at, len(reader.tokens))} & TELLING_APART
    return None if pronouns or not acts else Mention(start + 1, at, Person(f"{noun} {start}", ""), is_named=False)


def _is_of_clothes(reader: Reader, at: int) -> bool:
    """Whether the word goes on saying what somebody wears; of two words that may be verbs the second is: "dress"."""
    word, after = reader.lower(at), reader.lower(at + 1)
    may_be_verb = word in BASE_VERBS and after not in BASE_VERBS | PLURAL_VERB.keys()
    return word[:1].isalpha() and word != "and" and word not in PLURAL_VERB and not may_be_verb


def _clauses(reader: Reader, chain: list[Mention]) -> list[Group]:
    if len(chain) == 1:
        return [Group(chain)]
    after, opens = reader.lower(chain[-1].end), _opens_clause(reader, chain[0].start)
    acts = after in PLURAL_VERB and not chain[-1].owns
    adverb_then_acts = (after in ADVERBS or after.endswith("ly")) and reader.lower(chain[-1].end + 1) in PLURAL_VERB
    if not opens and (acts or adverb_then_acts):
        return [*_clauses(reader, chain[:-1]), Group(chain[-1:])] if len(chain) > 2 else [Group([m]) for m in chain]
    comma_first = reader.word(chain[0].end) == ","
    subordinate = any(reader.tokens[at].starts and reader.lower(at) in LISTENERS for at in range(chain[0].start))
    is_verb = after in {"are", "were", "have", "do"} or after in PLURAL_VERB.values()
    if len(chain) > 2 and comma_first and subordinate and not opens and is_verb:
        return [Group(chain[:1]), Group(chain[1:])]
    return [Group(chain)]


def _opens_clause(reader: Reader, at: int) -> bool:
    before = reader.lower(at - 1)
    if before == "both":
        before = reader.lower(at - 2)
    return not before or not before[0].isalnum() or before in LISTENERS or before == "and"


def _take_head(reader: Reader, one: Group) -> None:
    """Take "both", and a plural title, into the group's span."""
    first = one.mentions[0]
    if len(one.mentions) < 2:
        return
    before = reader.lower(first.start - 1).rstrip(".")
    if before in PLURAL_TITLES:
        one.head = PLURAL_TITLES[before]
    if before in PLURAL_TITLES or before == "both":
        first.start -= 1
    if first.article == "" and reader.lower(first.start - 1) == "the" and one.head:
        first.article, first.start = "the", first.start - 1


class Wording:
    """Remembers who was spoken of, so that the next words are right."""

    def __init__(self, groups: list[Group], *, general: bool = False, last_pronoun: int = -1) -> None:
        self.general = general
        self._last_pronoun = last_pronoun  # where "he" or "she" last tells people apart
        self._alone = Counter(m.person.key for group in groups if len(group.mentions) == 1 for m in group.mentions)
        self._noun_of: dict[str, str] = {}
        self._people: dict[str, list[str]] = defaultdict(list)  # noun -> keys in the order they came
        self._together: dict[frozenset[str], str] = {}

    def hear(self, noun: str, *, new: bool) -> None:
        """The sentence itself speaks of a man, a woman, ...: whoever comes next is another."""
        if new or not self._people[noun]:
            self._people[noun].append("")

    def of(self, group: Group) -> str:
        if len(group.mentions) == 1:
            return self.one(group.mentions[0])
        return self._many(group)

    def one(self, mention: Mention) -> str:
        key, owned = mention.person.key, "'s" if mention.owns else ""
        if mention.relation:
            self._meet(key, mention.relation)
            return owned
        noun = mention.title or mention.person.word
        if self.general:
            noun = mention.person.noun or "person"
        if key in self._noun_of and mention.title in ("", self._noun_of[key]):
            return self._again(key, mention) + owned
        before = len(self._people[noun])
        self._meet(key, noun)
        described = " ".join([*mention.adjectives, noun])
        if mention.article and (mention.adjectives or mention.title) and mention.article not in {"a", "an"}:
            return f"{mention.article} {described}{owned}"
        if before == 0:
            return f"{article(described)} {described}{owned}"
        if before == 1 or before >= len(ORDINALS):
            return f"another {described}{owned}"
        return f"a {ORDINALS[before]} {described}{owned}"

    def _meet(self, key: str, noun: str) -> None:
        if key not in self._noun_of:
            self._noun_of[key] = noun
            self._people[noun].append(key)

    def _again(self, key: str, mention: Mention) -> str:
        noun = self._noun_of[key]
        everyone = self._people[noun]
        described = " ".join([*mention.adjectives, noun])
        if len(everyone) == 1 or key not in everyone:
            return f"the {described}"
        index = everyone.index(key)
        if len(everyone) == 2 and index == 1:
            return f"the other {described}"
        return f"the {ORDINALS[index]} {described}" if index < len(ORDINALS) else f"the {described}"

    def _many(self, group: Group) -> str:
        keys = frozenset(mention.person.key for mention in group.mentions)
        owned = "'s" if group.mentions[-1].owns else ""
        if keys in self._together:
            return f"the {self._together[keys]}{owned if not self._together[keys].endswith('s') else owned and chr(39)}"
        met = [key for key in keys if key in self._noun_of]
        described = any(mention.adjectives or mention.relation for mention in group.mentions)
        alone_elsewhere = any(self._alone[key] for key in keys)
        if len(keys) < 2 or described or (met and len(met) < len(keys)) or (not met and alone_elsewhere):
            return self._list(group)
        noun = self._common_noun(group)
        if noun == "person" and not self.general and len(keys) == 2 and self._last_pronoun >= group.end:
            return self._list(group)
        phrase = f"{NUMBERS[len(keys)] if len(keys) < len(NUMBERS) else 'several'} {plural(noun)}"
        self._together[keys] = phrase
        others = "other " if not met and self._people[noun] else ""
        definite = met or group.mentions[0].article == "the"
        if not met:
            self._people[noun] += list(keys)
        text = phrase.replace(" ", f" {others}", 1)
        return f"{'the ' if definite else ''}{text}{owned if not text.endswith('s') else owned and chr(39)}"

    def _list(self, group: Group) -> str:
        phrases = [self.one(mention) for mention in group.mentions]
        return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"

    def _common_noun(self, group: Group) -> str:
        if self.general:
            return "person"
        titles = {mention.title for mention in group.mentions}
        if group.head:
            return group.head
        if len(titles) > 1 or not all(mention.is_named for mention in group.mentions):
            return "person"  # of unlike kinds, as a man and a doctor
        if titles != {""}:
            return titles.pop()
        nouns = {mention.person.word for mention in group.mentions}
        return nouns.pop() if len(nouns) == 1 else "person"
