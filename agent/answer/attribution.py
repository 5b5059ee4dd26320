"""Attribution lines below quotations."""

import re
from collections.abc import Sequence

from agent.answer import wording
from agent.answer.document_list import document_title
from agent.answer.model import Answer, AnswerClaim, AnswerPerspective, Citation
from agent.limits import BARELY_SAYS_CLAIM
from tools.language.grounding import stems
from tools.language.reported_speech import UNNAMED
from tools.translation import in_its_language, in_marks, tr

_RECORD = re.compile(
    r"(?i)\b(?:minutes|transcripts?|hearings?|proceedings|meeting|interview|evidence|debate|panel|hansard)\b"
)


@in_its_language
def source_lines(answer: Answer, claim: AnswerClaim) -> list[tuple[int, str]]:
    """Returns the number of each source of the claim with its attribution: 'Cllr Faulds, Gazette, 12 March, p. 3'."""
    cited = {c.number: c for c in answer.citations}
    return [(n, _in_one_line(answer, cited[n], claim)) for n in claim.citations if n in cited]


def quotes_behind(claim: AnswerClaim, source: Citation) -> list[str]:
    """Returns the source's quotations that support the claim; all its quotations if the answer does not say which."""
    quoted = [quotation.quote for quotation in source.quotations]
    return [q for q in quoted if q == claim.text or q in claim.evidence] or quoted


def numbered_source_lines(answer: Answer, claim: AnswerClaim) -> list[str]:
    """Returns the attribution of each source. If the claim has several sources, each line begins with a number."""
    parts = source_lines(answer, claim)
    return [f"{wording.citation_numbers([number])} {line}" if len(parts) > 1 else line for number, line in parts]


@in_its_language
def repliers(answer: Answer, claim: AnswerClaim) -> dict[str, tuple[AnswerPerspective, AnswerClaim]]:
    """Maps each claim that answers the claim, as 'Cllr Faulds [8]', to its side and itself. If the answer has several
    claims of source 8, the claim's first words follow; all its words if two begin alike."""
    found = dict[str, tuple[AnswerPerspective, AnswerClaim]]()
    for side, c in ((s, c) for s in answer.perspectives for c in s.all_claims if c.text in claim.answered_by):
        source = f"{replier_name(answer, c)} {wording.citation_numbers(c.citations[:1])}"
        named = f"{source} {_words_if_several(answer, c, c.citations)}".rstrip()
        found[named if named not in found else f"{source} {in_marks(c.text, '‘{}’')}"] = side, c
    return found


def met_words(answer: Answer, claim: AnswerClaim) -> str:
    """Returns the first words of the claim that the claim answers, if the answer has several claims of its source."""
    every = (c for side in answer.perspectives for c in side.all_claims)
    met = next((c for c in every if claim.text in c.answered_by), None)
    return _words_if_several(answer, met, claim.answers) if met else ""


def _words_if_several(answer: Answer, claim: AnswerClaim, numbers: Sequence[int]) -> str:
    of_source = [c for s in answer.perspectives for c in s.all_claims if {*numbers[:1]} & {*c.citations}]
    return first_words(claim) if len(of_source) > 1 else ""


def first_words(claim: AnswerClaim) -> str:
    return in_marks(wording.shortened(claim.text, 60), "‘{}’")


def answered_by_line(answer: Answer, claim: AnswerClaim) -> str:
    """Returns 'answered by Cllr Faulds [8], Sample Gazette [2]'; empty without a reply."""
    return tr("answered by {sources}", sources=", ".join(found)) if (found := repliers(answer, claim)) else ""


def replier_name(answer: Answer, reply: AnswerClaim) -> str:
    """Returns the speaker or publisher of a reply."""
    first = [c for c in answer.citations if c.number in reply.citations[:1]]
    speakers = (reply.speaker if reply.quoted else "", *(_speaker(answer, c, reply) for c in first))
    name = next((s for s in speakers if s and not s.startswith(UNNAMED)), "") or next(map(_published, first), "")
    return wording.shortened(name, wording.LONGEST_IN_SHORT)


def short_attribution(answer: Answer, claim: AnswerClaim) -> str:
    """Returns the speaker of a quotation. If the quotation has no side, place and date follow."""
    cited = [c for c in answer.citations if c.number in claim.citations[:1]] if claim.role == "also" else []
    named = [(c, _where_said(c, claim.speaker)[0]) for c in cited]
    speaker = wording.speaker_in_words(claim.speaker)
    facts = [fact for c, name in named for fact in (speaker, name, wording.date_unless_in_title(name, c.date))]
    parts = [wording.shortened(fact, wording.LONGEST_IN_SHORT) for fact in dict.fromkeys(facts)]
    return ", ".join(filter(None, parts)) if facts else claim.speaker


def _in_one_line(answer: Answer, source: Citation, claim: AnswerClaim) -> str:
    quotes = quotes_behind(claim, source)
    places = [where for where in source.quotations if where.quote in quotes]
    if claim.quoted:  # the page is unknown if several quotations of the source could be meant
        places = places[:1] if len(quotes) == 1 else []
    pages = [wording.page_numbers(where) for where in places]
    who, kind = _speaker(answer, source, claim), wording.source_kind(source, source.document_id)
    named = _where_said(source, who)
    who = "" if who == UNNAMED and _is_record(source) else wording.speaker_in_words(who)
    said_already = kind in named[0].casefold() or named[0] == tr("in the minutes of {body}", body=source.publisher)
    if said_already or (kind == tr(wording.TABLE_ROW) and f", {wording.row_name('')}" in named[0]):
        kind = ""
    facts = dict.fromkeys(
        (who, *named, kind, wording.date_unless_in_title(" ".join((who, *named)), source.date), *pages)
    )
    return ", ".join(wording.shortened(fact) for fact in facts if fact)


def _speaker(answer: Answer, source: Citation, claim: AnswerClaim) -> str:
    """Returns the source's speaker. A model sometimes cites a text that does not say the claim. If the quotation of a
    written claim shares too few words with the claim, apart from the question's, and neither the model nor the claim
    names the speaker, the document's author is returned."""
    added = {*stems(claim.text)} - {*stems(answer.neutral_question)}
    held = [len(added & {*stems(quote)}) for quote in quotes_behind(claim, source)]
    other_language = answer.language and not claim.quoted  # words of two languages cannot be compared
    says = claim.quoted or other_language or max(held, default=0) >= BARELY_SAYS_CLAIM * len(added)
    name, said = (re.findall(r"[\w'’-]+", text) for text in (re.split(r", | \(", source.speaker)[0], claim.text))
    if says or (name and (name[-1] in said or source.speaker in claim.speaker.split("; "))):
        return source.speaker or (claim.speaker if claim.quoted else "")
    own = source.collection, source.document_id
    return next((d.author for d in answer.documents if (d.collection, d.id) == own), "")


def _where_said(source: Citation, who: str) -> list[str]:
    """Returns publisher or title. For minutes and other records it returns 'in the minutes of Hill Council'.

    'A. Moen, Hill Council' would suggest that the council employs the speaker.
    """
    if not (who and _is_record(source)):
        return [_published(source)]
    if source.kind == "minutes" and source.publisher:
        return [tr("in the minutes of {body}", body=source.publisher)]
    return [tr("in {title}", title=source.title), source.publisher]


def _is_record(source: Citation) -> bool:
    return bool(source.title and _RECORD.search(f"{source.title} {source.kind}"))


def _published(source: Citation) -> str:
    return source.publisher or document_title(source, source.document_id)
