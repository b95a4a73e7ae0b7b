"""Finds the people a sentence names, and capitalised words that name nobody: New York, the North Pole, Mario Kart."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from annotation.captions.rewriting.english import (
    ADJECTIVES,
    ALSO_PREPOSITIONS,
    ARTICLES,
    FUNCTION_WORDS,
    MATTER,
    ONLY_VERBS,
    OWNERS,
    PAST,
    PLURAL_VERB,
    PREPOSITIONS,
    RELATIONS,
    THINGS,
    TITLE_GENDER,
    TITLE_NOUN,
    VERBS,
    Token,
)
from annotation.captions.rewriting.lexicon import Lexicon, Person

BEFORE_A_THING = {"the", "a", "an"}
QUOTES = {'"', "“"}
FAMILY_NAMES = {"Young"}  # of the words that name nobody by themselves
SUFFIXES = {"jr", "jr.", "sr", "sr."}
PARTICLES = {"up", "down", "out", "away"}
THIRTEEN = "thirteen"
TELLING = {"tells", "told", "asks", "asked", "gives", "gave", "hands", "handed", "shows", "showed"}
NOT_OWNED = PREPOSITIONS | ONLY_VERBS | {"and", "or"}
FAMILY = "people"  # "the Gellers"
PRONOUNS = {"he", "she", "him", "her", "they", "it"}
NEVER_SMALL = {"will", "green", "grey", "gates", "mark", "bing", "bloom", "hunt", "park", "parks", "chase"}
AROUND = {"in", "into", "inside"}
TO_SOMEBODY = {"to", "from", "with", "for", "besides", "beside", "behind", "toward", "towards", "against", "like", "by"}
SENTENCE_WORDS = FUNCTION_WORDS | set(PLURAL_VERB)


def things(tokens: Sequence[Token], lexicon: Lexicon, *, wary: bool = False) -> set[int]:
    """Where in ``tokens`` the words of such names are; ``wary``: those of the lists alone."""
    positions: set[int] = set()
    for at, token in enumerate(tokens):
        if at in positions or not token.text[0].isupper():
            continue
        positions.update(range(at, _listed(tokens, at, lexicon)))
        if at in positions or at + 1 >= len(tokens) or not tokens[at + 1].text[0].isupper():
            continue
        end = next((end for end in range(at, len(tokens)) if not tokens[end].text[0].isupper()), len(tokens))
        first = lexicon.known(token.text)  # nobody of the shows' main casts
        is_location = end - at < 4 and tokens[end - 1].text in lexicon.locations and not (first and first.is_main)
        if is_location or (not wary and _is_thing(tokens, at, end, lexicon)):
            positions.update(range(at, end))
    return positions


def _listed(tokens: Sequence[Token], at: int, lexicon: Lexicon) -> int:
    """Where the longest listed name that begins at ``at`` ends; ``at`` where none does."""
    for words in lexicon.things.get(tokens[at].text, ()):
        if tuple(token.text for token in tokens[at : at + len(words)]) == words:
            return at + len(words)
    return at


def _is_thing(tokens: Sequence[Token], at: int, end: int, lexicon: Lexicon) -> bool:
    """A run of words that name nobody known, behind an article, a number or a quotation mark."""
    before = tokens[at - 1].text.lower() if at else ""
    if before not in BEFORE_A_THING | QUOTES and not before.isdigit():
        return False
    words = [token.text.lower().rstrip(".") for token in tokens[at:end]]
    return not any(lexicon.known(w) or lexicon.alike(w) or w in TITLE_NOUN or w in lexicon.ordinary for w in words)


@dataclass
class Mention:
    """Tokens ``start`` to ``end`` (exclusive) name one person; what stands with the name is in the span too."""

    start: int
    end: int
    person: Person
    title: str = ""  # the noun of a title before the name
    adjectives: list[str] = field(default_factory=list)
    article: str = ""  # the article or owner before the adjectives
    relation: str = ""  # "his friend": the noun that says enough, so that the name goes
    owns: bool = False  # a possessive follows, inside the span
    is_named: bool = True


class Reader:
    """Looks for names in one sentence's tokens."""

    def __init__(self, tokens: list[Token], lexicon: Lexicon, *, wary: bool = False) -> None:
        self.tokens, self.lexicon, self.wary = tokens, lexicon, wary
        self.things = things(tokens, lexicon, wary=wary)

    def word(self, at: int) -> str:
        return self.tokens[at].text if 0 <= at < len(self.tokens) else ""

    def lower(self, at: int) -> str:
        return self.word(at).lower()

    def mentions(self) -> list[Mention]:
        mentions, at = [], 0
        while at < len(self.tokens):
            mention = self._mention_at(at) if self.tokens[at].is_word else None
            mentions += [mention] if mention else []
            at = mention.end if mention else at + 1
        return mentions

    def _mention_at(self, at: int) -> Mention | None:
        first, noun, gender = self._title(at)
        person = self.person_at(first, titled=first > at)
        if person is None:
            return None
        end = first + 1
        while (more := self.person_at(end, titled=True)) and self._continues(end):
            person = more if more.is_cast and not person.is_cast else person
            end += 1
        if self.lower(end) in SUFFIXES:
            end += 1
        if gender and gender != person.gender:
            person = Person(person.key + gender, gender)
        mention = Mention(at, end, person, noun)
        self._take_owner(mention)
        self._take_what_stands_before(mention)
        return mention

    def _title(self, at: int) -> tuple[int, str, str]:
        """Where the name after the titles begins, the noun they leave, and the gender they tell."""
        noun, gender = "", ""
        while (title := self.lower(at).rstrip(".")) in TITLE_NOUN and self._may_be_titled(at + 1):
            if title in {"father", "sister"} and self.word(at)[0].islower():
                break
            noun, gender = TITLE_NOUN[title] or noun, TITLE_GENDER.get(title, gender)
            at += 1
        return at, noun, gender

    def _may_be_titled(self, at: int) -> bool:
        word = self.word(at)
        return word[:1].isupper() or word == "13" or word.lower() in self.lexicon.cast

    def person_at(self, at: int, *, titled: bool = False) -> Person | None:
        """Whom the word at ``at`` names; ``titled`` when a title or a first name stands before it."""
        word = self.word(at)
        if at in self.things:
            return None
        if word == "13" or word.lower() == THIRTEEN:
            return self._thirteen(at)
        if not word[:1].isalpha() or (len(word) < 2 and not (titled and word.isupper())):
            return None
        if word.lower().rstrip(".") in TITLE_NOUN and not titled:
            return None
        if word[0].islower():
            return self._in_small_letters(at, titled)
        return self._with_a_capital(at, titled)

    def _in_small_letters(self, at: int, titled: bool) -> Person | None:
        word = self.word(at)
        person = self.lexicon.known(word)
        if word in self.lexicon.ordinary:
            return None
        if self.tokens[at].starts and self.lower(at + 1) in PLURAL_VERB:
            return person or self.lexicon.alike(word)
        if person and person.is_cast:
            is_name = titled or not person.is_word or self._is_beside_a_name(at)
            return person if is_name or (person.is_here and self._stands_as_a_name(at)) else None
        return None

    def _stands_as_a_name(self, at: int) -> bool:
        """Whether a small word stands where a thing needs an article: "tells house she", not "to house number"."""
        word, before, after = self.lower(at), self.lower(at - 1), self.lower(at + 1)
        if word in NEVER_SMALL or word in {self.lower(at - 2), self.lower(at + 2)}:
            return False
        takes_a_name = before in TO_SOMEBODY or before in PLURAL_VERB or before in VERBS
        ends = not after[:1].isalnum() or after in FUNCTION_WORDS or after in PRONOUNS or after == "and"
        acts = before in {",", "and", "as", "when", "while", "that"} and after in PLURAL_VERB
        return (takes_a_name and (ends or after in PLURAL_VERB)) or acts

    def _is_beside_a_name(self, at: int) -> bool:
        """ "castle" is nobody by itself, but in "castle and Beckett"."""
        before = self.lower(at - 1) == "and" and self.word(at - 2)
        after = self.lower(at + 1) == "and" and self.lower(at - 1) not in ARTICLES | OWNERS and self.word(at + 2)
        return any(word and word.lower() in self.lexicon.cast for word in (before, after))

    def _with_a_capital(self, at: int, titled: bool) -> Person | None:
        word = self.word(at)
        person = self.lexicon.known(word)
        if person and person.is_cast:
            return person if not person.is_word or titled or self._is_name_here(at) else None
        is_acronym = word.isupper() and len(word) < 5 and not person
        is_family_name = titled and word in FAMILY_NAMES and self.lexicon.known(self.word(at - 1))
        has_title = self.lower(at - 1).rstrip(".") in TITLE_NOUN
        if (is_acronym or self.lexicon.is_no_name(word)) and not has_title and not is_family_name:
            return None
        return self._guest(at, person, titled)

    def _thirteen(self, at: int) -> Person | None:
        after, person = self.lower(at + 1), self.lexicon.cast.get(THIRTEEN)
        is_capital = self.word(at)[0] == "T" and not self.tokens[at].starts
        alone = after in PLURAL_VERB or after in VERBS or after in FUNCTION_WORDS or after in {"and", "heaves"}
        alone = alone or after in PAST or not after[:1].isalpha()
        alone = alone or (after.endswith("ly") and self.lower(at + 2) in PLURAL_VERB)
        alone = alone or (after.endswith("s") and self.lower(at + 2) in PARTICLES)  # "Thirteen holes up", misspelt
        return person if is_capital or alone else None

    def _is_name_here(self, at: int) -> bool:
        """Whether a capitalised word that is also English names somebody in this place."""
        after = self.word(at + 1)
        if after[:1].isupper() and after in self.lexicon.proper:
            return False
        if not self.tokens[at].starts:
            before = self.lower(at - 1)
            is_month = self.word(at) in self.lexicon.proper and before in {"in", "on", "of", "since", "by"}
            return not is_month and (before not in ARTICLES or after == "'s")
        if self.lower(at) == "will" and after[:1].isupper():
            return not self.lexicon.known(after) or self.lower(at + 2) in PLURAL_VERB
        if after.lower() in THINGS:
            return False
        if self.lower(at) not in MATTER:
            return True
        word = after.lower()  # "Green grass", "Green leaves": no name
        is_noun = (word.endswith("s") and word not in PLURAL_VERB) or word == "leaves"
        return self._may_follow_a_name(after) and not is_noun

    def _may_follow_a_name(self, after: str) -> bool:
        word = after.lower()
        return (
            not word[:1].isalnum()
            or after[0].isupper()
            or word in VERBS
            or word in FUNCTION_WORDS
            or word in PAST
            or word.endswith(("ly", "ing", "ed", "s"))
        )

    def _guest(self, at: int, match: Person | None, titled: bool) -> Person | None:
        """Somebody whom no cast list knows: a given name, a misspelt one, or a capitalised word."""
        lower, starts = self.lower(at), self.tokens[at].starts
        if match and (titled or not starts or self._may_follow_a_name(self.word(at + 1))):
            return match
        if lower.endswith("s") and (owner := self.lexicon.cast.get(lower[:-1])) and not match:
            return owner
        if person := self.lexicon.alike(lower):
            return person
        if starts:
            may_be_unknown = self._acts(at) or (self.wary and not self._is_sentence_word(lower))
        else:
            is_no_person = self.lower(at - 1) in ARTICLES or lower in SENTENCE_WORDS or self._is_around(at)
            may_be_unknown = self.wary or not is_no_person
        return Person(lower, self._gender_of(at)) if titled or may_be_unknown else None

    def _is_around(self, at: int) -> bool:
        """Whether others are in what the unknown word names: "fighting in Hockey", but not "in Xylon's car"."""
        after = self.lower(at + 1)
        ends = not after[:1].isalnum() or after in FUNCTION_WORDS or after == "and"
        return self.lower(at - 1) in AROUND and ends and after != "'s"

    def _acts(self, at: int) -> bool:
        """Whether the unknown word that opens a sentence does something, or owns it, as people do."""
        after, word = self.lower(at + 1), self.lower(at)
        if self._is_sentence_word(word) and not (word.endswith("ing") and after in PLURAL_VERB):
            return False
        if after.endswith("ly"):
            after = self.lower(at + 2)
        return after in PLURAL_VERB or after == "'s" or (after == "and" and self.word(at + 2)[:1].isupper())

    def _is_sentence_word(self, lower: str) -> bool:
        return lower.endswith(("ing", "ly")) or lower in SENTENCE_WORDS

    def _gender_of(self, at: int) -> str:
        """The gender that the pronouns after an unknown name tell, when nobody else is named before them."""
        for index in range(at + 1, min(at + 12, len(self.tokens))):
            word = self.lower(index)
            if word in {"he", "his", "himself"}:
                return "M"
            if word in {"she", "her", "herself", "hers"}:
                return "F"
            if self.word(index)[0].isupper() or word in {"man", "woman", "and"}:
                break
        return "N"

    def _continues(self, at: int) -> bool:
        """Whether the name at ``at`` is the family name of the name before it."""
        first, second = self.word(at - 1), self.word(at)
        if not second[0].isupper() or not self.lexicon.are_one(first, second):
            return False
        if second.lower() in PLURAL_VERB and not self.lexicon.known(second):
            return False
        are_two_people = self.lower(at - 2) in TELLING and self.lexicon.known(first) and self.lexicon.known(second)
        return not are_two_people or (first.lower(), second.lower()) in self.lexicon.full

    def _take_owner(self, mention: Mention) -> None:
        """The possessive after the name: 's, s', or an s without its apostrophe."""
        name, after = self.lower(mention.end - 1), self.lower(mention.end)
        if after == "'s" or (after == "'" and self.tokens[mention.end].glued and name.endswith("s")):
            mention.owns, mention.end = True, mention.end + 1
        elif name.endswith("s") and name not in self.lexicon.cast and self.lexicon.cast.get(name[:-1]):
            not_owned = after in NOT_OWNED or after in PLURAL_VERB
            if after in VERBS and self.lower(mention.start - 1) == "the":
                mention.title = mention.title or FAMILY
            else:
                mention.owns = not not_owned and after[:1].isalpha()

    def _take_what_stands_before(self, mention: Mention) -> None:
        start = mention.start
        if self.lower(start - 1) in {"named", "called"} and start > 1:
            mention.relation, mention.start = self.lower(start - 2), start - 1
            return
        if self.lower(start - 1) in RELATIONS and not mention.title and self._is_owned(start - 1):
            mention.relation = self.lower(start - 1)
            return
        if self._is_apposition(mention):
            mention.relation, mention.start = self.lower(start - 2), start - 1
            if self.word(mention.end) == ",":
                mention.end += 1
            return
        while (word := self.lower(start - 1)) in ADJECTIVES and not self.tokens[start].glued:
            if word in ALSO_PREPOSITIONS and self.lower(start - 2) not in ARTICLES | OWNERS:
                break  # "past" is an adjective behind an article, else it says where
            start -= 1
            mention.adjectives.insert(0, word)
        if self.lower(start - 1) in ARTICLES or (
            self.lower(start - 1) in OWNERS and (mention.title or mention.adjectives)
        ):
            start -= 1
            mention.article = self.lower(start)
        mention.start = start

    def _is_owned(self, at: int) -> bool:
        """Whether the noun at ``at`` has its own article or owner, so that the name after it adds nothing."""
        before = self.lower(at - 1)
        if before in ADJECTIVES:
            before = self.lower(at - 2)
        return (
            before in OWNERS or before in ARTICLES or before in {"'s", "'"} or self.lower(at - 1) in {"male", "female"}
        )

    def _is_apposition(self, mention: Mention) -> bool:
        at = mention.start
        closed = self.word(mention.end) in {",", ".", ""} and self.lower(mention.end + 1) != "and"
        return (
            not mention.owns
            and self.word(at - 1) == ","
            and self.lower(at - 2) in RELATIONS
            and self._is_owned(at - 2)
            and closed
            and not self.word(mention.end + 1)[:1].isupper()
        )
