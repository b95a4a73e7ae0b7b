"""The little English that the rules need: words by kind, sentences as tokens, and whether a text is English at all."""

import re
from dataclasses import dataclass
from itertools import chain

TITLE_NOUN = {  # title as written, lower case and without its stop -> the noun that stays, "" for none
    **dict.fromkeys(["mr", "mrs", "ms", "miss", "sir", "madam", "mister"], ""),
    **dict.fromkeys(["dr", "doctor"], "doctor"),
    "father": "priest",
    "sister": "nun",
    **dict.fromkeys(["det", "detective", "decetive", "dectective", "detctive", "detecive"], "detective"),
    **dict.fromkeys(["capt", "captain"], "captain"),
    **dict.fromkeys(["prof", "professor"], "professor"),
    **dict.fromkeys(["lt", "lieutenant"], "lieutenant"),
    **dict.fromkeys(["sgt", "sergeant"], "sergeant"),
    **dict.fromkeys(["col", "colonel"], "colonel"),
    **{noun: noun for noun in ("nurse", "officer", "agent", "judge", "mayor", "chief", "uncle", "aunt", "rabbi")},
    **{noun: noun for noun in ("president", "senator", "reverend", "coach", "surgeon", "waitress")},
}
PLURAL_TITLES = {"drs": "doctor", "doctors": "doctor", "detectives": "detective", "agents": "agent"}
PLURAL_TITLES |= {"officers": "officer", "nurses": "nurse", "surgeons": "surgeon"}
TITLE_GENDER = {**dict.fromkeys(["mr", "sir", "mister", "uncle"], "M")}
TITLE_GENDER |= dict.fromkeys(["mrs", "ms", "miss", "madam", "aunt", "waitress", "sister"], "F")

NOUN_OF = {"M": "man", "F": "woman", "N": "person"}
PLURAL_OF = {"man": "men", "woman": "women", "person": "people"}
NUMBERS = ["no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
ORDINALS = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth"]

ARTICLES = {"a", "an", "the"}
OWNERS = {"his", "her", "their", "my", "our", "your", "its", "this", "that", "another"}
RELATIONS = set(
    "friend girlfriend boyfriend wife husband mother father mom dad mommy daddy son daughter brother sister"
    " grandmother grandfather grandma baby child boss partner roommate fiancee fiance date patient colleague"
    " assistant coworker co-worker neighbor cousin ex bride groom lover ex-wife ex-husband ex-girlfriend"
    " ex-boyfriend client victim suspect student teacher guy man woman girl boy lady monkey dog cat killer witness"
    " lawyer bartender waiter intern resident team nephew niece grandson granddaughter stepmother stepfather"
    " mother-in-law father-in-law psychiatrist therapist secretary nanny landlord superintendent ghost character"
    " singer actor actress host widow twin buddy".split()
) | {noun for noun in TITLE_NOUN.values() if noun}
ADJECTIVES = set(
    "young younger old older little angry upset sick shirtless pregnant naked confused drunk sleeping injured dead"
    " sad unconscious happy excited nervous fake real past present future crying sleepy worried poor tired"
    " blindfolded scared fat skinny thin tall short blonde unhappy surprised shocked bald dying annoyed frustrated"
    " smiling laughing seated standing dressed-up elderly wounded stunned disappointed terrified grumpy handcuffed"
    " ghostly teenage teenaged bloody bleeding bewildered weeping giggling amused curious stressed embarrassed"
    " anxious".split()
)
ALSO_PREPOSITIONS = {"past"}  # of the adjectives
LISTENERS = set(
    "as when while after before if once because since until though although and but where then so that who which"
    " whether or".split()
)
PREPOSITIONS = set(
    "in at on with to from of for by into onto over under behind beside near next inside outside across through"
    " toward towards against between along around up down off out away about without like among past".split()
)
ADVERBS = set(
    "then also just both still almost always never again now soon not even back together finally once too first"
    " suddenly".split()
)
VERBS = set(
    "walk talk sit stand look turn hold take put get give run come go leave enter pick pull push point hand open"
    " close tell ask say speak smile laugh cry hug kiss grab reach throw place move show play lie lay drink eat"
    " watch wave answer nod shake raise lift lower touch wear read write type drop hit punch kick slap jump fall"
    " rise stop start begin try continue follow approach lean step bend kneel climb drive ride cook pour fill cut"
    " carry bring set make do have be hang call dial knock ring greet introduce argue fight explain discuss describe"
    " converse chat whisper yell shout scream sing dance appear seem feel find see hear listen think know want need"
    " use help pass offer hide catch toss slide slam shut roll rub pat tap stroke scratch wipe wash clean brush comb"
    " tie button zip remove dress undress change check examine inspect study search dig pack unpack load stare gaze"
    " glance peek wink frown glare stretch yawn sleep wake rest relax wait return arrive head rush hurry storm"
    " stumble trip crawl spin swing bow clap cheer celebrate toast sip bite chew swallow spit blow smell sniff"
    " breathe cough sneeze gasp sigh moan groan shrug shiver tremble react respond reply agree disagree refuse"
    " accept receive sign draw paint print press squeeze pinch poke tickle chase escape shoot aim fire stab attack"
    " grasp gesture motion signal indicate wrap unwrap tear rip break fix repair build work join meet visit invite"
    " accompany escort guide lead lock unlock flip adjust straighten fold unfold cover uncover reveal present"
    " demonstrate sort shuffle deal count pay buy sell order serve share exchange trade swap copy complain apologize"
    " thank congratulate comfort console confront interrogate question interview joke tease flirt propose announce"
    " admit confess deny insist suggest warn threaten remind recall realize notice recognize believe doubt wonder"
    " decide plan prepare finish end lose win hope wish love like hate enjoy perform stay keep let live die happen"
    " let's exit interrupt ignore observe slip snap tilt squat duck dump empty eye face force grin grip handcuff"
    " inject insert interact kill lick measure miss pace peel peer plug pop pose pretend proceed rock scoot scold"
    " shift shave smoke snatch snuggle spray spread stack steal stick stir strip struggle submit support surprise"
    " sweep swipe switch tend toss treat twist unfold wander watch wheel wipe wrestle bang beat become bump burst"
    " buzz clasp click collapse compare consider cross cuddle curl do dry dust embrace express extend flick float"
    " flop fly fumble gather giggle grimace guard heat hop hurl jog juggle lunge mention nudge operate park pin"
    " pluck pounce pray preach protect quiz race rattle regain relay rest roar rummage sanitize scan scoff scoop"
    " scribble separate settle shove shuffle slump smack smash smirk snore soak sob splash squint startle strike"
    " stroll strum stuff suck supervise surround tackle tape taste testify text throw thumb toss tow trace trail"
    " transfer tug tumble type uncuff unbutton untie view vomit weep whistle withdraw withstand".split()
)
ONLY_VERBS = set(  # that are no nouns, so that nobody owns them
    "are were have do eat sit stand go come wear enter leave speak bring begin become continue converse discuss explain"
    " follow carry give get grab keep listen put run say see seem tell take think wait walk".split()
)
IRREGULAR = {"is": "are", "was": "were", "has": "have", "does": "do", "goes": "go", "isn't": "aren't"}
IRREGULAR |= {"wasn't": "weren't", "doesn't": "don't", "hasn't": "haven't"}

PAST = set(
    "came gave threw thew took went sat stood got put said told ran held made had did was were met left lent found"
    " saw heard felt knew thought spoke wrote read ate drank drove rode fell rose began kept led lay lost paid sang"
    " drew shook wore woke broke bent hung dug hid hit cut let set shut can could will would may might must should"
    " do does lend heave knee".split()
)
MATTER = {"green", "grey", "amber", "wood", "heat", "storm", "ginger", "jade", "spain", "fields", "bell", "april"}
THINGS = set(
    "number numbers key keys party paint wall walls door doors plant plants tree trees plan plans keeper music"
    " bench guests".split()
)
FUNCTION_WORDS = set(chain(ARTICLES, OWNERS, LISTENERS, PREPOSITIONS, ADVERBS))
TITLES = r"(?:Drs?|Mrs?|Ms|Prof|Det|Capt|Lt|Sgt|Col|Sr|Jr)"
GLUED = re.compile(rf"\b({TITLES}\.)(?=[A-Z])")  # "Dr.House"
GLUED_SENTENCES = re.compile(r"(?<=[a-z][.!?])(?=[A-Z][a-z])")
COUPLE = re.compile(
    r"\b(Mr|Mrs|Dr|Ms)\.? (and|&) (Mr|Mrs|Dr|Ms)\.? (?=([A-Z]\w+))", re.IGNORECASE
)  # "Mr. and Mrs. Geller"
TOKEN = re.compile(rf"{TITLES}\.|[OD]'[A-Za-z]\w+|'s\b|\w+(?:-\w+)*(?:'(?!s\b)[A-Za-z]+)?|[^\w\s]", re.IGNORECASE)
WORDS_TO_TELL = 4  # of a text in Latin letters, before its language is judged
COMMON_ENGLISH = (
    "and is are was were be been being he she they it i you we me us them him has have had do does did not no yes there"
    " what how why all some any each other more very too man woman men women people person"
)
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


def _third_persons(verb: str) -> list[str]:
    if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
        return [verb + "es"]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        return [verb[:-1] + "ies"]
    return [verb + "s"]


PLURAL_VERB = {form: verb for verb in VERBS for form in _third_persons(verb)} | IRREGULAR  # "walks" -> "walk"


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


ENGLISH = ARTICLES | FUNCTION_WORDS | VERBS | PLURAL_VERB.keys()
ENGLISH |= set(COMMON_ENGLISH.split())


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
