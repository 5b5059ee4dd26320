"""Limits and thresholds of the agent that a person tunes, each with its unit and reason.

Other numbers are elsewhere. `options.py` has the sizes of `quick`, `normal` and `deep`, and each stage's share of a
run's time. `tools/limits.py` has the limits of servers, pages and indexes. Fitted values are in `weights/`. Weights of
a ranking stay beside their formula. All cosines fit the embedded encoder.
"""

# Time. A stage also ends at the run's deadline.

FALLBACK_SHARE, FALLBACK_SECONDS = 0.3, 5.0
"""Share of a stage's time that is kept for the embedded provider if a model fails; and the most seconds kept."""
SEARCH_BEFORE_PLAN = 0.45
"""Share of the remaining time for the search before the sides are planned."""
SENTENCE_READING_SHARE = 0.8
"""Share of `write`'s time for judging sentences. Sentences that are not judged by then are not quoted."""
RESCORING_SHARE = 0.5
"""Share of the remaining time for the closer reading: the judge's larger model scores likely quotations again."""
CHECK_SHARE = 0.5
"""Share of the remaining time for one call that checks claims, because a second call may follow."""
VERIFY_GRACE_SECONDS = 1.0
"""Seconds after the deadline in which judged quotations replace claims that were not checked."""

# Sides

LEAD_POOL, MOST_LEADS, LEAD_PASSAGES = 150, 25, 3
"""Example sentences (leads) for the planner: passages retrieved, documents with a lead, passages per document."""
MOST_SIDES = 6
"""Sides that a model may plan. Each side costs a search, judging and writing."""
MOST_OTHER_SIDES = 2
"""Planned sides beside yes and no. Each side costs a written case."""
MOST_REVIEWED_SIDES = 12
"""Sides that a person may ask for in a review."""
MOST_MINED_ANSWERS, MINED_PASSAGES = 4, 24
"""Answers to an open question that are taken from passages, and passages searched for such answers."""
SAME_SIDE = 0.9
"""Cosine from which two statements of the same polarity count as the same side."""
SAME_WORDS = 0.8
"""Share of one statement's content words that the other has, from which the two count as the same side."""
ANSWERS_QUESTION = 0.6
"""Least cosine of a planned yes or no to the question."""

# Retrieval and judging

WHOLE_COLLECTION = 150
"""Passages of all searched collections together. Up to this number every passage is judged, retrieved or not."""
TOO_FAR = 0.25
"""Least cosine of a passage to the statement. A passage below this cosine is off topic and is not judged."""
OFF_QUESTION = 0.35
"""Least cosine to the question of a passage on the question, if the judge gives no verdict."""
FIRST_ROUND_PAGES = 2 / 3
"""Share of the web pages for the first round if a second one may follow."""
REQUERY_PASSAGES, REQUERY_WORDS = 3, 6
"""Best passages of a side that give words for a new query, and number of these words."""
MOST_QUERIES, LONGEST_QUERY = 4, 200
"""New queries that a model makes for a side, and characters of one query."""
ENOUGH_PASSAGES, ENOUGH_SOURCES = 2, 2
"""Passages and independent sources of a 'supported' side: one witness is not enough."""
EXTRA_PASSAGES = 16
"""Passages selected beyond the number of claims, because some have no sentence that is clear without context."""
FOCUSED_PASSAGES = 10
"""Passages of a side in a follow-up with a focus: the passages most similar to the focus."""
UNJUDGED_SUPPORT = 0.3
"""Assumed support of a passage that was not judged: the mean support of retrieved passages."""

# Quotations

ON_TOPIC = 0.35
"""Cosine to the side's statement or to the question from which a sentence is on topic."""
ON_TOPIC_IN_PASSAGE = 0.2
"""A lower cosine that suffices if the passage has a sentence above ON_TOPIC."""
ON_POINT = 0.6
"""Cosine to the claim from which a counter-argument is on topic even if it is not near the statement."""
ECHO = 0.95
"""Cosine to the claim from which a sentence only repeats the claim."""
LEAST_SUPPORT = 0.03
"""Probability of support below which a sentence argues for nothing."""
MOST_RESCORED = 20
"""Sentences of a run that get the judge's closer reading, which is slow."""
UNCLEAR_FACTOR = 0.7
"""Factor on the score of a sentence that is not clear without context."""
REPEATS = 0.72
"""Cosine from which two sentences say the same."""
QUOTES_PER_PASSAGE = 2
AS_GOOD = 0.1
"""A quotation whose score is at most this much below the best one's is about as good."""
SAME_RESPONSE = 0.4
"""Mean cosine, without the question's direction, from which documents' responses form one group."""
RESPONSE_EVIDENCE = 3
"""Sentences of evidence for one thesis."""

# Sentences of no side ('also'), and whether the documents are on the question at all

MOST_ALSO, ALSO_PER_DOCUMENT = 15, 2
"""Sentences of no side: in an answer, and from one document."""
ALSO_ON_QUESTION = 0.35
"""Least cosine of a sentence to the question."""
SURELY_ON_QUESTION, SHORT_ON_QUESTION = 0.6, 0.7
"""A single sentence with this cosine to the question proves that the documents are on the question; and a short
sentence with the second cosine, because short sentences are near more questions."""
NEAREST_SENTENCES, WORDS_WEIGHT, ON_QUESTION_SUM, ON_QUESTION_SAMPLES = 3, 0.3, 0.56, 0.47
"""Otherwise a sum must reach ON_QUESTION_SUM: the mean cosine of the NEAREST_SENTENCES to the question, plus
WORDS_WEIGHT times the share of the question's words in the documents. The samples have thirty topics, so some sentence
is near every question. For the samples the mean cosine must also reach ON_QUESTION_SAMPLES. `tests/test_off_topic.py`
measures these values."""

# Written claims

READ_PASSAGES = 14
"""Passages for a side if no judge of documents chose them. More passages only dilute the request."""
CLEAR_PASSAGES, FILLED_PASSAGES = 32, 12
"""The most passages for a side that the writer gets if all are clearly for it. If fewer than the second number are
clear, weaker passages fill up to that number."""
OPPOSING_PASSAGES, OBJECTING_PASSAGES = 6, 4
"""Passages against a side that the writer gets: if the side has an opposing side, and if it has none."""
ANSWERED_PASSAGES = 3
"""Among them, the passages of people whom the side's own passages name. Half of them remain for other sources."""
SIDE_CLAIMS, ANSWER_CLAIMS, OTHER_CLAIMS = 12, 8, 6
"""Claims for a side of a dispute, for an answer to an open question, and for a side beside yes and no."""
CITED_PASSAGES = 3
"""Passages that one claim cites."""
CRUX_CLAIMS, CRUX_PASSAGES = 12, 2
"""For the crux (the point on which the dispute depends): the first claims of each side that the model reads, and the
passages of each side that the crux cites."""
LONGEST_CLAIM = 500
"""Characters of a claim."""
MOST_TRANSLATED = 80
"""Quotations that a model translates for one answer."""
ACCEPTED = 0.5
"""Probability from which a verdict accepts a claim."""
CLEARLY_OPPOSED = -6.0
"""Log odds of the embedded judge below which a claim clearly argues for the other side."""
SAYS_CLAIM, BARELY_SAYS_CLAIM = 0.6, 0.2
"""Share of a claim's content words from which a passage says the claim, and share below which it does not."""
SEARCHED_PASSAGES = 100
"""Passages of a document in which a claim's words are searched: the passages closest to the cited passages."""
SAME_CLAIM = 0.92
"""Cosine from which two claims of a side are merged."""

# The answer

STRONG_SOURCES, STRONG_CLAIMS = 4, 2
"""Independent sources and claims of a 'strong' side."""
MOST_GAPS = 3
"""Sentences that name a gap in the evidence. Two sides and the gaps fit on one printed page."""
FIRST_ALSO = 5
"""The number of `also` sentences that are shown; the others are folded."""
UNBALANCED = 2
"""The reader is warned if one side has more than this many times the claims of the other side."""
FEW_UNJUDGED = 5
"""The answer reports unjudged passages only if there are more than this number."""

# Lookup: questions of fact, and follow-ups without sides

LOOKUP_SEARCH = 0.6
"""Share of the time of a lookup for searching the internet, if no collection is searched."""
LOOKUP_POOL, LOOKUP_SECOND_POOL = 60, 180
"""Passages retrieved for each query. If a model finds no answer, the second number is used."""
LOOKUP_SENTENCES, LOOKUP_SHOWN, LOOKUP_PICKED = 15, 120, 8
"""Sentences that an answer lists, sentences that a model reads at once, and sentences that a model picks."""
LOOKUP_SAME_SUBJECT = 0.25
"""Cosine to the thread's question from which a passage is on the subject. A higher cosine does not raise its rank."""
LOOKUP_RELATED = 0.2
"""Least cosine of a passage to the thread's question with the typed words."""
LOOKUP_NEAR = 0.4
"""Least cosine of the most similar sentence. Below this cosine the documents say nothing on the question."""
LOOKUP_KNOWN_WORDS = 0.5
"""If the documents contain this share of a follow-up's words, no sentence needs the cosine LOOKUP_NEAR."""
MORE_LIKE, MORE_LIKE_WEIGHED = 6, 18
"""Sentences similar to a quotation: the number shown, and the number judged for their stance."""
