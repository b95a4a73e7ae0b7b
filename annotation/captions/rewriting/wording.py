"""Saying who somebody is without a name: a man, another man, the first man, two people."""

from collections import Counter, defaultdict

from annotation.captions.rewriting.english import NUMBERS, ORDINALS, PLURAL_OF, article, plural
from annotation.captions.rewriting.groups import Group
from annotation.captions.rewriting.mentions import Mention

NOUN_OF_PLURAL = {many: one for one, many in PLURAL_OF.items()}


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
        noun = self._noun(mention)
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

    def _noun(self, mention: Mention) -> str:
        if self.general:
            return mention.person.noun or "person"
        return mention.title or mention.person.word

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
        place = everyone.index(key)
        if len(everyone) == 2 and place == 1:
            return f"the other {described}"
        return f"the {ORDINALS[place]} {described}" if place < len(ORDINALS) else f"the {described}"

    def _many(self, group: Group) -> str:
        keys = frozenset(mention.person.key for mention in group.mentions)
        owned = "'s" if group.mentions[-1].owns else ""
        if keys in self._together:
            return f"the {self._together[keys]}{owned if not self._together[keys].endswith('s') else owned and chr(39)}"
        met = [key for key in keys if key in self._noun_of]
        described = any(mention.adjectives or mention.relation for mention in group.mentions)
        if len(keys) < 2 or described or (met and len(met) < len(keys)) or (not met and self._alone_elsewhere(keys)):
            return self._list(group)
        noun = self._common_noun(group)
        if noun == "person" and not self.general and len(keys) == 2 and self._last_pronoun >= group.end:
            return self._list(group)
        said = f"{NUMBERS[len(keys)] if len(keys) < len(NUMBERS) else 'several'} {plural(noun)}"
        self._together[keys] = said
        others = "other " if not met and self._people[noun] else ""
        definite = met or group.mentions[0].article == "the"
        if not met:
            self._people[noun] += list(keys)
        text = said.replace(" ", f" {others}", 1)
        return f"{'the ' if definite else ''}{text}{owned if not text.endswith('s') else owned and chr(39)}"

    def _alone_elsewhere(self, keys: frozenset[str]) -> bool:
        return any(self._alone[key] for key in keys)

    def _list(self, group: Group) -> str:
        said = [self.one(mention) for mention in group.mentions]
        return said[0] if len(said) == 1 else f"{', '.join(said[:-1])} and {said[-1]}"

    def _common_noun(self, group: Group) -> str:
        if self.general:
            return "person"
        titles = {mention.title for mention in group.mentions}
        if group.head:
            return group.head
        if len(titles) == 1 and titles != {""}:
            return titles.pop()
        nouns = {mention.person.word for mention in group.mentions}
        return nouns.pop() if len(nouns) == 1 else "person"
