"""Whether a text is English, told by its commonest words; good for a flag, not for naming the language."""

import re

from annotation.captions.rewriting.english import ARTICLES, FUNCTION_WORDS, PLURAL_VERB, VERBS

WORDS_TO_TELL = 4  # of a text in Latin letters, before its language is judged
ENGLISH = ARTICLES | FUNCTION_WORDS | VERBS | PLURAL_VERB.keys()
COMMON_ENGLISH = (
    "and is are was were be been being he she they it i you we me us them him has have had do does did not no yes there"
    " what how why all some any each other more very too man woman men women people person"
)
ENGLISH |= set(COMMON_ENGLISH.split())
OTHERS = {
    "de": "der die das den dem des ein eine einen einem einer und oder aber ist sind war waren hat haben wird er sie es"
    " wir ihr ihm ihn sein seine seinen ihre ihren sich nicht mit von vor nach bei zu zum zur aus auf an im am über"
    " unter für durch dann als wie noch auch geht steht sitzt",
    "fr": "le la les un une des du de et ou mais est sont était a ont il elle ils elles lui leur son sa ses ce cette"
    " qui que ne pas avec dans sur sous pour par vers chez au aux en se puis quand comme très",
    "es": "el la los las un una unos unas de del y o pero es son está están era ha han él ella ellos su sus se que no"
    " con en sobre para por hacia al a lo le les cuando como muy mientras",
    "it": "il lo la i gli le un uno una di del della dei e o ma è sono era ha hanno lui lei loro suo sua suoi che non"
    " con in nel nella su sul sulla per da dal dalla al alla ai si mentre quando come molto",
    "nl": "de het een en of maar is zijn was heeft hebben hij zij ze haar hem hun zich niet met van voor naar bij te"
    " uit op in aan over onder door dan als ook nog terwijl",
    "pt": "o a os as um uma uns umas de do da dos das e ou mas é são está estava tem ele ela eles seu sua seus se que"
    " não com em no na nos nas sobre para por ao à pelo pela quando como muito enquanto",
}
FOREIGN = {language: set(words.split()) for language, words in OTHERS.items()}


def is_english(text: str) -> bool:
    letters = [character for character in text if character.isalpha()]
    latin = sum(character < "ɐ" for character in letters)
    if latin < 0.8 * len(letters):
        return False
    words = re.findall(r"[^\W\d_]+", text.lower())
    if len(words) < WORDS_TO_TELL:
        return True
    english = sum(word in ENGLISH for word in words)
    foreign = max(sum(word in common for word in words) for common in FOREIGN.values())
    return english > 0 and english >= foreign
