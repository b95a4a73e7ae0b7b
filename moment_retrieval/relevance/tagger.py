"""Which words of a caption are verbs and nouns: WordNet says what a word can be, its neighbours what it is here.

No tagger with a model can be packaged. Against 60 captions tagged by hand this one finds verbs and nouns as a parser
does (docs/similarity.md).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from moment_retrieval.relevance.wordnet import ADJECTIVE, ADVERB, NOUN, VERB, WordNet


@dataclass(frozen=True)
class Tags:
    """Words as they stand in the text: main verbs (no auxiliaries) and common nouns (no names)."""

    verbs: tuple[str, ...]
    nouns: tuple[str, ...]


TOKEN = re.compile(r"[^\W\d_]+n't\b|'(?:s|re|ve|ll|d|m)\b|[^\W_]+|[.!?;:,]")
RARE = 4  # in a verb's place a word is a verb, unless it is seen this many times as often as a noun


class Kind(StrEnum):
    START = "start"  # of a sentence, or of what stands apart
    DETERMINER = "determiner"
    SUBJECT = "subject"
    OBJECT = "object"
    PREPOSITION = "preposition"
    TO = "to"
    LINK = "link"  # a clause may follow
    MODAL = "modal"
    BE = "be"
    VERB = "verb"
    NOUN = "noun"
    NAME = "name"
    ADJECTIVE = "adjective"
    ADVERB = "adverb"


K = Kind
CLOSED = {
    word: kind
    for kind, word_list in {
        K.DETERMINER: "a an the this that these those his her its their my your our 's another each every some any no"
        " both all one two three four five several many few much more most other same",
        K.SUBJECT: "i you he she it we they who someone somebody everyone everybody",
        K.OBJECT: "me him them us himself herself itself themselves something nothing anything everything",
        K.PREPOSITION: "of in on at by with from into onto for about over under through across against between behind"
        " beside near around towards toward off up down out inside outside upon within without during than like along"
        " above below away back together",
        K.TO: "to",
        K.LINK: "and or but nor while when then because if so as until since before after which where whom whose how"
        " what why ,",
        K.MODAL: "will would can could shall should may might must 'll 'd",
        K.BE: "am is are was were be been being 're 'm",
        K.ADVERB: "not also there here very too just still even again",
        K.START: ". ! ? ; :",
    }.items()
    for word in word_list.split()
}
HAVE, DO = {"have", "has", "had", "having", "'ve"}, {"do", "does", "did"}
TITLES = {"dr", "mr", "mrs", "ms", "miss", "st"}
PEOPLE = {"person", "man", "woman", "people", "men", "women", "boy", "girl", "child", "children", "guy"}
AFTER_A_VERB = {K.DETERMINER, K.OBJECT, K.SUBJECT}
PERHAPS_AFTER_A_VERB = {K.PREPOSITION, K.TO, K.ADVERB}


@dataclass(frozen=True)
class Word:
    """WordNet's counts of a lower-case word: uses as each part of speech; None for never."""

    text: str
    verb: int | None
    noun: int | None
    adjective: int | None
    adverb: int | None
    form: str  # as a verb: base, s, ing, past
    singular: bool  # or no noun

    @property
    def kind(self) -> Kind | None:
        """Kind independent of context."""
        if self.text in CLOSED:
            return CLOSED[self.text]
        if self.text.endswith("n't"):
            return K.MODAL
        if self.text[0].isdigit():
            return K.DETERMINER
        forms = (self.verb, self.noun, self.adjective)
        return K.ADVERB if self.adverb is not None and forms == (None, None, None) else None

    @property
    def rather_verb(self) -> bool:
        return self.verb is not None and (self.noun is None or self.verb > self.noun)

    @property
    def perhaps_verb(self) -> bool:
        return self.verb is not None and RARE * (self.verb + 1) >= (self.noun or 0)


class LexiconTagger:
    """Verbs and nouns by WordNet and the neighbours of each word."""

    def __init__(self, wordnet: WordNet) -> None:
        self.wordnet, self.name = wordnet, f"lexicon tagger 1, WordNet {wordnet.version}"
        self.word = lru_cache(100_000)(self._word)

    def tag(self, text: str) -> Tags:
        tokens = TOKEN.findall(text.replace("’", "'"))
        kinds = _TextTagger(tokens, [self.word(token.lower()) for token in tokens]).kinds()
        pairs = list(zip(tokens, kinds, strict=True))
        verbs, nouns = (tuple(token for token, kind in pairs if kind is word_class) for word_class in (K.VERB, K.NOUN))
        return Tags(verbs, nouns)

    def _word(self, text: str) -> Word:
        verb, noun, adjective, adverb = (self._uses(text, part) for part in (VERB, NOUN, ADJECTIVE, ADVERB))
        return Word(
            text, verb, noun, adjective, adverb, self._form(text), singular=self.wordnet.lemma(text, NOUN) == text
        )

    def _uses(self, text: str, part: str) -> int | None:
        return self.wordnet.uses(text, part) if self.wordnet.has(text, part) else None

    def _form(self, text: str) -> str:
        if self.wordnet.lemma(text, VERB) == text:
            return "base"
        return "ing" if text.endswith("ing") else "s" if text.endswith("s") else "past"


class _TextTagger:
    """One text, read from left to right."""

    def __init__(self, tokens: Sequence[str], words: Sequence[Word]) -> None:
        self.tokens, self.words = tokens, words
        self.found: list[Kind] = []
        self.has_verb = False  # the clause has its verb

    def kinds(self) -> list[Kind]:
        for index in range(len(self.tokens)):
            kind = self._kind(index)
            self.has_verb = kind is K.VERB or (self.has_verb and kind not in (K.LINK, K.START))
            self.found.append(kind)
        return self.found

    def _kind(self, index: int) -> Kind:
        word, before = self.words[index], self.found[-1] if index else K.START
        if self._belongs_to_title(index):
            return K.NAME
        if word.text in DO | HAVE:
            return self._auxiliary(index, before)
        sure = word.kind
        if sure is not None and sure is not K.ADVERB:
            return sure
        if self._is_name(index, before):
            return K.NAME
        return sure or self._open(word, before, self._ahead(index + 1))

    def _ahead(self, index: int) -> Kind | None:
        """Return the word's kind at ``index`` where sure; past the end a sentence starts."""
        return self.words[index].kind if index < len(self.words) else K.START

    def _belongs_to_title(self, index: int) -> bool:
        """A title, or the stop behind it, which ends no sentence."""
        texts = [word.text for word in self.words[max(index - 1, 0) : index + 1]]
        return texts[-1] in TITLES or (texts[-1] == "." and texts[0] in TITLES)

    def _auxiliary(self, index: int, before: Kind) -> Kind:
        """Have and do: verbs before what one has or does, otherwise the help of another verb."""
        have = self.words[index].text in HAVE
        if before is K.DETERMINER:
            return K.NOUN
        ahead = index + 1
        while self._ahead(ahead) is K.ADVERB:
            ahead += 1
        if self._ahead(ahead) is not None:
            return K.VERB if have or before is not K.START else K.MODAL
        other = self.words[ahead]
        if other.verb is None or other.form != ("past" if have else "base"):
            return K.VERB
        return K.BE if have else K.MODAL

    def _is_name(self, index: int, before: Kind) -> bool:
        """A capital in mid-sentence, or at its start where a noun would want an article, before a verb or "and"."""
        word = self.words[index]
        if not self.tokens[index][0].isupper() or word.text in PEOPLE:
            return False
        if before is not K.START:
            return True
        if word.noun is None:
            return (word.verb, word.adjective, word.adverb) == (None, None, None)
        ahead, beyond = self._ahead(index + 1), self.tokens[index + 2 : index + 3]
        if ahead is K.LINK:
            return word.singular and bool(beyond) and beyond[0][0].isupper()
        verb_follows = ahead in (K.BE, K.MODAL) or (ahead is None and self.words[index + 1].form in ("s", "past"))
        return word.singular and verb_follows

    def _open(self, word: Word, before: Kind, ahead: Kind | None) -> Kind:
        if word.verb is None:
            return self._no_verb(word, before, ahead)
        if word.form == "ing":
            return self._ing(word, before, ahead)
        if before in (K.DETERMINER, K.ADJECTIVE):
            return self._in_phrase(word, ahead)
        if word.form == "past":
            return K.VERB if word.noun is None or word.perhaps_verb else K.NOUN
        return K.VERB if self._stands_as_verb(word, before, ahead) else self._no_verb(word, before, ahead)

    def _stands_as_verb(self, word: Word, before: Kind, ahead: Kind | None) -> bool:
        if before in (K.TO, K.BE):
            return word.perhaps_verb
        if before in (K.SUBJECT, K.MODAL) or (word.noun is None and word.adjective is None):
            return True
        if before in (K.NOUN, K.NAME, K.OBJECT):
            likely = word.form == "s" or word.rather_verb or (ahead is not None and word.perhaps_verb)
            return likely and not self.has_verb
        if before in (K.LINK, K.START, K.ADVERB):
            likely = ahead in AFTER_A_VERB or (ahead in PERHAPS_AFTER_A_VERB and word.perhaps_verb)
            return likely or word.rather_verb
        return False

    def _ing(self, word: Word, before: Kind, ahead: Kind | None) -> Kind:
        if word.noun is None or before not in (K.DETERMINER, K.ADJECTIVE, K.PREPOSITION):
            return K.VERB
        return K.VERB if before is K.PREPOSITION and ahead not in (K.START, K.LINK, K.PREPOSITION) else K.NOUN

    def _in_phrase(self, word: Word, ahead: Kind | None) -> Kind:
        """After a determiner or an adjective: a noun, unless it qualifies the noun that follows."""
        if word.adjective is not None and ahead is None and (word.noun or 0) <= word.adjective:
            return K.ADJECTIVE
        if word.noun is not None:
            return K.NOUN
        return K.ADJECTIVE if word.form == "past" or word.adjective is not None else K.VERB

    def _no_verb(self, word: Word, before: Kind, ahead: Kind | None) -> Kind:
        if word.noun is not None and (ahead is not None or (word.adjective or -1) <= word.noun):
            rare = max(word.adjective or 0, word.adverb or 0) > RARE * (word.noun + 1)
            return K.ADJECTIVE if rare and before not in (K.DETERMINER, K.PREPOSITION) else K.NOUN
        if word.adjective is not None:
            return K.ADJECTIVE
        if word.adverb is not None or word.text.endswith("ly"):
            return K.ADVERB
        return K.ADJECTIVE if before is K.DETERMINER and ahead is None else K.NOUN  # a word that WordNet does not know
