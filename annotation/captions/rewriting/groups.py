"""Which of the people whom a sentence names are named together."""

from dataclasses import dataclass

from annotation.captions.rewriting.english import ADVERBS, LISTENERS, PLURAL_TITLES, PLURAL_VERB
from annotation.captions.rewriting.mentions import Mention, Reader


@dataclass
class Group:
    """Mentions joined by commas and "and", as one subject or object; most are of one."""

    mentions: list[Mention]
    head: str = ""  # "detectives": the plural title before them
    both: bool = False

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
        chain = _chain(reader, rest)
        rest = rest[len(chain) :]
        groups += _clauses(reader, chain)
    for one in groups:
        _take_head(reader, one)
    return groups


def _chain(reader: Reader, mentions: list[Mention]) -> list[Mention]:
    """The mentions from the first on that stand in one enumeration that ends with "and"."""
    links, ends = [mentions[0]], 1
    for mention in mentions[1:]:
        between = [reader.lower(at) for at in range(links[-1].end, mention.start)]
        if links[-1].owns or mention.relation or between not in ([","], ["and"], ["&"], [",", "and"], ["/"]):
            break
        links.append(mention)
        if between != [","]:
            ends = len(links)
    return links[:ends]


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
    if len(chain) > 2 and comma_first and subordinate and not opens and _is_verb(after):
        return [Group(chain[:1]), Group(chain[1:])]
    return [Group(chain)]


def _is_verb(word: str) -> bool:
    return word in {"are", "were", "have", "do"} or word in PLURAL_VERB.values()


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
        first.start -= 1
    elif before == "both":
        one.both = True
        first.start -= 1
    if first.article == "" and reader.lower(first.start - 1) == "the" and one.head:
        first.article, first.start = "the", first.start - 1
