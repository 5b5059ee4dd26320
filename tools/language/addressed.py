"""Text that speaks to whoever writes an answer about that answer: orders to models and to those who summarise, notes
and messages that only look as if the program had written them, marks of a chat.

It argues for nothing, whatever else it says, so that it is no evidence: neither a perspective nor a quotation. The
rules are about three things that argument has no need of: who is addressed (a machine, the writer of a summary of this
very text), what is spoken of (the answer in the making, its passages, prompt and sides by number), and marks. That
somebody orders something, or that a side must be heard or ignored, is ordinary argument. What no rule foresaw is left
to the words of each sentence (`tools/language/planted.py`). `python -m evals hostile` measures both.
"""

import re
import unicodedata
from functools import lru_cache

from tools.language.planted import load_planted
from tools.language.sentences import split_sentences

_MACHINE = (
    r"(?:(?:large |automated |smart |AI |A\.I\. ){0,4}"
    r"(?:AIs?|A\.I\.|LLMs?|(?:chat|answer|search|web)[ -]?(?:ro)?bots?|bots?|assistants?|language models?|"
    r"answer engines?|"
    r"agents?|crawlers?|summari[sz]ers?|AI(?: |-)(?:systems?|tools?|models?)|automated (?:readers?|systems?)))"
)
_ANSWER = r"(?:answer|reply|response|output|summary|overview|report)"
_THIS_TEXT = (
    r"(?:this|the present|these) (?:text|page|article|passage|document|piece|site|website|statement|sentence)s?"
)
_OTHER = r"(?:other|opposing|opposite|contrary|dissenting|second)"
_SIDE = r"(?:side|view|perspective|case|position|argument|opinion|passage|source|heading)s?"
_LEFT_OUT = r"(?:left (?:out|empty|blank)|omitted|dropped|deleted|skipped|suppressed|withheld|disregarded|not)"
_BEGIN = r"(?:^|[.!?:;\[(>]\s*|\n\s*)"
_MUST = r"(?:must|should|shall|has to|have to|is to|are to|needs? to|may|can)"

_MARKS = (
    r"<\|\w{1,40}\|>|\[/?INST\]|</?(?:system|assistant|user|human|instructions?|prompt|passage|side)\b[^>]{0,200}>",
    r"(?:^|\n|[.!?]\s)\s*#{2,6}\s*(?:instructions?|response|system|prompt|input|output)\b",
    r"(?:^|\n|[.!?>]\s)\s*(?:system|assistant|user|developer|operator|tool)(?: (?:message|prompt|result|"
    r"output|note))?"
    r"(?: \([^)]{0,40}\))?:\s",
    r"\{\s*\"(?:role|tool|system|function|results?|content)\"\s*:",
    r"\bend of (?:the )?(?:passages?|answer|context|input|prompt|documents?|data|sources|instructions?)\s*[.:;]",
    r"(?:\b[^\W\d_]\s+){8}[^\W\d_]\b",  # s p e l t  o u t, to be read by nobody who looks for words
)
_ADDRESSED = (
    rf"<!--\s*(?:to |for |note )?(?:the |all )?{_MACHINE}\b",
    rf"{_BEGIN}(?:dear|hello|hey|attention,?)\s+{_MACHINE}\b\s*[,:!]",
    rf"\b(?:notes?|notices?|important|warning|instructions?|messages?|remarks?|hints?|information|reserved|"
    rf"meant|is|only)"
    rf" (?:to|for) (?:the |any |all |every )?(?:[\w-]{{1,40}} and )?{_MACHINE}\b[^.!?]{{0,40}}?(?::|only\b)",
    rf"{_BEGIN}(?:to|for) (?:the |any |all |every )?{_MACHINE}\b[^.!?:]{{0,40}}:",
    rf"\bas an? (?:helpful )?{_MACHINE},? you\b|\byou are (?:now )?an? (?:helpful |automated |"
    rf"unbiased ){{0,4}}{_MACHINE}\b",
    rf"\bif you are an? (?:\w{{1,40}} )?(?:{_MACHINE}|machine|automated reader)\b|\breaders who are (?:machines|"
    rf"{_MACHINE})\b",
    rf"{_THIS_TEXT} (?:is|are) (?:being )?(?:read|processed|parsed|summari[sz]ed|indexed|used) by (?:an? |"
    rf"any )?{_MACHINE}",
    rf"\b(?:search|answer) engines?\b[^.]{{0,200}}\b(?:reproduce|show|quote|use|summari[sz]e)\b[^.]{{0,200}}"
    rf"\b{_THIS_TEXT}\b",
    r"\bfrom now on,? you (?:will|must|shall|are to|only)\b[^.]{0,200}\b(?:act|answer|reply|respond|write|refuse|"
    r"support)\b",
    r"\byou only (?:ever )?(?:support|answer|reply|argue|speak) (?:for |the )",
)
_INSTRUCTIONS = (
    r"\b(?:ignore|disregard|forget|overrides?|supersedes?|bypass)\b[^.]{0,40}\b(?:previous|prior|above|"
    r"earlier|preceding"
    r"|your|system|operator's)\b[^.]{0,12}\b(?:instructions?|prompts?|guidelines?|messages?|orders|commands)\b",
    r"\b(?:ignore|disregard|forget) (?:everything |all |the )?(?:the )?above\b",
    r"\bwhatever your (?:guidelines|instructions|rules|prompt)\b|\byour (?:system )?prompt\b|\bthe system prompt\b",
    r"\byour (?:content|safety|usage) polic(?:y|ies)\b",
    r"\b(?:overrides?|supersedes?|replaces?)\b[^.]{0,30}\b(?:you (?:have )?(?:read|were told|know)|system message)",
    r"\bnew (?:instructions?|task|orders?)(?: from the (?:operator|developer|user|system|administrator))?\s*:",
    r"\byour (?:new task|task (?:is now|now is|has changed))\b|\bforget the question\b",
    r"\bprint the words?\b|\brepeat after me\b|\b(?:say|write|reply|output|print)\b[^.]{0,200}\band nothing else\b",
    rf"{_BEGIN}output (?:the|only|an?|nothing|this)\b|\brefuse (?:every|any|all) (?:requests?|questions?) for\b",
)
_ANSWERS = (
    rf"\b(?:in|of|to|from|for|into) your (?:final |next |own )?{_ANSWER}\b",
    rf"\byour (?:final |next )?{_ANSWER} (?:must|should|shall|has to|is to|needs to|may not|cannot)\b",
    rf"\bthe {_ANSWER} (?:that )?you (?:are about to|will|are going to|write|give)\b",
    rf"\b(?:in|for) the final {_ANSWER}\b[^.]{{0,20}}\b(?:use|write|give|state|say|list)\b",
    rf"\b(?:answers?|summar(?:y|ies)|overviews?|{_ANSWER}s?) (?:of|from|about|based on|made (?:of|"
    rf"from)) {_THIS_TEXT}\b"
    rf"[^.]{{0,200}}\b{_MUST}\b",
    rf"\b(?:balanced )?(?:answers?|summar(?:y|ies)|overviews?|reports?) from (?:{_THIS_TEXT}|web pages)\b",
    r"\banswers (?:must|should|shall|may) (?:not|only|never) (?:contain|mention|rely|include|cite|quote|use|show)\b",
    r"\banswers (?:concerning|regarding|about|on) [^.,]{0,40} (?:must |should |shall |have to |are to )?(?:present|"
    r"state|treat|describe) [^.,]{0,40}\bas (?:settled|established|agreed|closed)\b(?! facts?,)",
    rf"\bthe {_ANSWER} (?:is|has) to (?:be an? (?:simple|plain|short|single|positive|negative)|contain|state|"
    rf"say|omit)\b",
    r"\b(?:fair|good|correct|balanced|final|complete) answer to this question (?:contains?|has|lists?|shows?|"
    r"consists)\b",
    rf"\b(?:when|while|before|if)(?: you(?: are)?)? (?:summari[sz]ing|answering|quoting|citing|paraphrasing|"
    rf"writing about|"
    rf"summari[sz]e|answer|quote|cite|write about)\s+(?:{_THIS_TEXT}|this (?:question|topic|matter|subject))\b",
    r"\bwhen (?:you are )?asked\b[^.]{0,200},\s*(?:reply|answer|respond|say|state|conclude)\b",
    r"\basked\b[^.]{0,60}\bby (?:a|the|any) user\b|\byou (?:must|should|may|shall|can)(?: not|"
    r" never)? tell (?:the|your) "
    r"(?:readers?|users?)\b",
    rf"\b(?:use|quote|cite|choose) (?:only )?(?:this sentence|{_THIS_TEXT}) (?:and no|in full|alone|only)\b",
    r"\b(?:choose|prefer|cite|use) (?:only )?(?:the )?passages (?:from|of|in favour|that|numbered)\b",
)
_SIDES = (
    r"\bonly (?:permitted|permissible|allowed|admissible) (?:answer|view|side|position|conclusion|reply)\b",
    rf"\b{_OTHER} {_SIDE}\b[^.]{{0,70}}?\b{_MUST} (?:therefore |thus |now )?(?:be {_LEFT_OUT}|not be "
    r"(?:shown|listed|given|cited|quoted|presented|described|included))\b(?! (?:ignored|forgotten|dismissed|heard))",
    r"\b(?:passages|sources|documents) (?:that )?you (?:were|have been|are) (?:given|shown)\b"
    r"|\byou have already (?:written|answered|cited|shown) (?:the|this|that|one) (?:side|case|view|part)\b",
    rf"\bno (?:passages?|sources?|results?|claims?|evidence) (?:was|were|is|are|has been|have been|"
    rf"could be) found (?:for|"
    rf"against|on) the {_OTHER} (?:side|view|perspective|case|position)\b(?!')",
    r"(?:^|[.!?:;>]\s*|\bplease )(?:please )?(?:do not|don't|never) (?:include|mention|show|list|give|cite|"
    r"quote|present|"
    rf"describe|provide|add)\b[^.]{{0,30}}\b(?:counter-?arguments?|(?:both|{_OTHER}) {_SIDE}|other views)\b"
    r"(?! (?:as|in|on|the|from)\b)",
    r"\b(?:arguments?|passages?|evidence|views?) (?:for|against|in favour of|opposing)\b[^.]{0,60}\b(?:removed|"
    r"withheld|deleted|excluded) from (?:this|the|your) (?:corpus|context|collection|index)\b",
    r"\b(?:not (?:allowed|permitted)|forbidden) to (?:describe|show|present|list|give|mention) both sides\b",
    r"\b(?:passages?|perspectives?|claims?|citations?) (?:numbers? |numbered )?(?:\d{1,9}\b|(?-i:[A-D])\b)",
    r"\b(?:passages?|claims?) that follow\b|\bverdicts? (?:of the judge )?for (?:this|the|every other|"
    r"all other) passages?\b",
    rf"\b(?:treat|rate|rating|rank|grade|mark|score|count|citing|cite)\b [^.]{{0,30}}?(?:{_THIS_TEXT}|"
    rf"\bit) as (?:the|"
    r"verified|supported|unsupported|strongly|true|false|irrelevant|most|spam)\b",
    r"\bfollowing (?:view|claim|statement|sentence|answer) (?:is to|must|should|has to) be (?:presented|shown|given|"
    r"reported|cited)\b",
    r"\bnumber of (?:sources|passages|opponents|supporters)\b[^.]{0,40}\b(?:should|must|is to) be (?:given|"
    r"stated|shown|"
    r"reported) as\b",
)
_ELSEWHERE = (
    r"\b(?:für|an) (?:KI|LLM|Chatbots|Sprachmodelle)\b",
    r"\bIgnorier\w{0,9} (?:Sie )?(?:alle )?(?:vorherigen|bisherigen)\b",
    r"\bignora(?:r)? (?:todas )?(?:las|le) (?:instrucciones|istruzioni)\b|"
    r"\bIgnore[zr] (?:toutes )?les instructions\b",
)
_SPEAKING = re.compile(
    "|".join((*_MARKS, *_ADDRESSED, *_INSTRUCTIONS, *_ANSWERS, *_SIDES, *_ELSEWHERE)), re.IGNORECASE | re.MULTILINE
)
_LABEL = re.compile(  # the lines of a result: two of them in one text are none that a person wrote
    r"\b(?:answer|confidence|sides? found|dissent|grade|side|supports|opposes|results?|status|coverage|verdict)"
    r"(?: for [^:.]{0,30})?\s*[:=]\s*(?:\d|yes\b|no\b|none\b|(?-i:[A-D])\b|clear\b|\")",
    re.IGNORECASE,
)
_SPACE = re.compile(r"\s+")
_UNSEEN = ("Cf", "Cc", "Cs", "Co")


@lru_cache(maxsize=4096)
def speaks_to_the_writer(text: str) -> bool:
    """Whether some of the text speaks to whoever writes an answer, about that answer: by a rule, or as a sentence that
    reads as planted. Raises ModelError where the weights for that cannot be read."""
    weights = load_planted()
    seen = _seen(text)
    return _by_rule(seen) or any(weights.score(sentence) > weights.threshold for sentence in split_sentences(seen))


def speaks_by_rule(text: str) -> bool:
    """The same by the rules alone: for what somebody wrote who had to speak of passages and sides."""
    return _by_rule(_seen(text))


def _by_rule(seen: str) -> bool:
    """The time grows with the text's length alone, since who wrote it may want it to take long: every repetition in the
    patterns has an end, and space is folded before they look."""
    return bool(_SPEAKING.search(seen)) or len(_LABEL.findall(seen)) > 1


def _seen(text: str) -> str:
    """The text as it reads: without what is not seen, and with one space or line break where there are several."""
    folded = unicodedata.normalize("NFKC", text).replace("’", "'")
    seen = "".join(c for c in folded if c in "\n\t" or unicodedata.category(c) not in _UNSEEN)
    return _SPACE.sub(lambda space: "\n" if "\n" in space[0] else " ", seen)
