"""Limits and thresholds of the agent that a person tunes, each with its unit and reason.

Elsewhere: `options.py` has the sizes of `quick`, `normal` and `deep`, and each stage's share of a run's time. Weights
of a ranking stay beside their formula, fitted values are in `weights/`; `tools/limits.py` has the limits of servers,
pages and indexes. Cosines are the embedded encoder's.
"""

# Time. A stage also ends at the run's deadline.

FALLBACK_SHARE, FALLBACK_SECONDS = 0.3, 5.0
"""Share of a stage's time, and the most seconds, that are kept for the embedded provider if a model fails."""
SEARCH_BEFORE_PLAN = 0.45
"""Share of the remaining time for the search before the sides are planned."""
SENTENCE_READING_SHARE = 0.8
"""Share of the time of `write` in which sentences are judged. Sentences that are not judged by then are not quoted."""
RESCORING_SHARE = 0.5
"""Share of the remaining time for the judge's closer reading."""
CHECK_SHARE = 0.5
"""Share of the remaining time for one call that checks claims, because a second call may follow."""
VERIFY_GRACE_SECONDS = 1.0
"""Seconds after the deadline in which judged quotations replace claims that were not checked."""

# Sides

LEAD_POOL, MOST_LEADS, LEAD_PASSAGES = 150, 25, 3
"""Passages that are retrieved for leads, documents with a lead, and passages of a document that are searched for it."""
MOST_SIDES = 6
"""Sides that a model may plan: each is searched, judged and written."""
MOST_OTHER_SIDES = 2
"""Planned sides beside yes and no, because each costs a case."""
MOST_REVIEWED_SIDES = 12
"""Sides that a person may ask for in a review."""
MOST_MINED_ANSWERS, MINED_PASSAGES = 4, 24
"""Mined answers to an open question, and retrieved passages that are mined."""
SAME_SIDE = 0.9
"""Cosine of two statements of one polarity that mean the same side."""
ANSWERS_QUESTION = 0.6
"""Least cosine of the question and a planned yes or no to it."""

# Retrieval and judging

WHOLE_COLLECTION = 150
"""Passages of the searched collections together: up to this number all are judged, whatever a search finds."""
TOO_FAR = 0.25
"""Cosine to the statement: a passage below it is not judged, because it is about something else."""
OFF_QUESTION = 0.35
"""Cosine to the question: a passage below it counts as off the question if the judge cannot tell."""
FIRST_ROUND_PAGES = 2 / 3
"""Share of the web pages for the first round if a second one may follow."""
REQUERY_PASSAGES, REQUERY_WORDS = 3, 6
"""Best passages of a side, and words of them, that make a new query."""
MOST_QUERIES, LONGEST_QUERY = 4, 200
"""New queries of a model for a side, and the characters of one."""
ENOUGH_PASSAGES, ENOUGH_SOURCES = 2, 2
"""Passages and independent sources of a 'supported' side: one witness is not enough."""
EXTRA_PASSAGES = 16
"""Passages that are read beyond the number of claims, because not every passage has a sentence that stands alone."""
FOCUSED_PASSAGES = 10
"""Passages of a side for a follow-up with a focus, the nearest to it."""
UNJUDGED_SUPPORT = 0.3
"""Support of a passage that was not judged: the mean of retrieved passages."""

# Quotations

ON_TOPIC = 0.35
"""Cosine of a sentence to its side's statement or to the question, if it is about them."""
ON_TOPIC_IN_PASSAGE = 0.2
"""The same for a sentence of a passage that has such a sentence."""
ON_POINT = 0.6
"""Cosine of a counter-argument to the claim from which it need not be near the statement."""
ECHO = 0.95
"""Cosine of a sentence to a claim that it only repeats."""
LEAST_SUPPORT = 0.03
"""Probability of support below which a sentence argues for nothing."""
MOST_RESCORED = 20
"""Sentences of a run for the judge's closer reading, which is the slowest."""
UNCLEAR_FACTOR = 0.7
"""Factor of the rank of a sentence that needs its context."""
REPEATS = 0.72
"""Cosine of two sentences that say the same."""
QUOTES_PER_PASSAGE = 2
SAME_RESPONSE = 0.4
"""Mean cosine of two documents' responses in one group, without the question's part."""
RESPONSE_EVIDENCE = 3
"""Sentences of evidence for one thesis."""

# Sentences of no side ('also'), and whether the documents are on the question at all

MOST_ALSO, ALSO_PER_DOCUMENT = 15, 2
"""Sentences of an answer and of one document."""
ALSO_ON_QUESTION = 0.35
"""Least cosine of a sentence to the question."""
SURELY_ON_QUESTION = 0.6
"""Cosine of one sentence that alone shows that the documents are on the question."""
NEAREST_SENTENCES, WORDS_WEIGHT, ON_QUESTION_SUM, ON_QUESTION_SAMPLES = 3, 0.3, 0.56, 0.47
"""Otherwise the documents are on the question if the mean cosine of its NEAREST_SENTENCES plus WORDS_WEIGHT times the
share of its words that they hold reaches ON_QUESTION_SUM. The samples have thirty topics, so that something is near
every question: there the mean cosine must also reach ON_QUESTION_SAMPLES. `tests/test_off_topic.py` measures it."""

# Written claims

READ_PASSAGES = 14
"""Passages for a side that no judge of documents chose: more only dilute the request."""
CLEAR_PASSAGES, FILLED_PASSAGES = 32, 12
"""Passages clearly for a side, at most; and the number up to which weaker ones are added."""
OPPOSING_PASSAGES, OBJECTING_PASSAGES = 6, 4
"""Passages against a side that its claims can answer: of a side with a contrary, and of one without."""
SIDE_CLAIMS, ANSWER_CLAIMS, OTHER_CLAIMS = 12, 8, 6
"""Claims for a side of a dispute, for an answer to an open question, and for a way beside yes and no."""
CITED_PASSAGES = 3
"""Passages that one claim cites."""
CRUX_CLAIMS, CRUX_PASSAGES = 6, 2
"""First claims of each side that the crux is written from, and passages of each side that it cites."""
LONGEST_CLAIM = 500
"""Characters of a claim."""
ACCEPTED = 0.5
"""Probability from which a verdict accepts a claim."""
CLEARLY_OPPOSED = -6.0
"""Log odds of the embedded judge below which a claim clearly argues for the other side."""
SAYS_CLAIM, BARELY_SAYS_CLAIM = 0.6, 0.2
"""Shares of a claim's content words in a passage that says it, and in one that does not."""
SEARCHED_PASSAGES = 100
"""Passages of a document, nearest to the cited ones, in which a claim's words are searched."""
SAME_CLAIM = 0.92
"""Cosine of two claims of a side that are merged."""

# The answer

STRONG_SOURCES, STRONG_CLAIMS = 4, 2
"""Independent sources and claims of a 'strong' side."""
UNBALANCED = 2
"""The reader is warned if one side shows more than so many times the claims of the other."""
FEW_UNJUDGED = 5
"""Passages: fewer unjudged ones do not matter to the reader."""

# Lookup: questions of fact, and follow-ups without sides

LOOKUP_POOL, LOOKUP_SECOND_POOL = 60, 180
"""Passages of each query; the second number if a model finds no answer in the first."""
LOOKUP_SENTENCES, LOOKUP_SHOWN, LOOKUP_PICKED = 15, 120, 8
"""Sentences that an answer lists, that a model reads at once, and that it picks."""
LOOKUP_SAME_SUBJECT = 0.25
"""Cosine of a passage to the thread's question from which it is on the subject; more does not rank it higher."""
LOOKUP_RELATED = 0.2
"""Least cosine of a passage to the thread's question with the typed words."""
LOOKUP_NEAR = 0.4
"""Least cosine of the nearest sentence; below it the documents do not speak of the question."""
LOOKUP_KNOWN_WORDS = 0.5
"""Share of a follow-up's words in the documents that is enough without a near sentence."""
MORE_LIKE, MORE_LIKE_WEIGHED = 6, 18
"""Sentences like a quotation that are shown, and that are judged for their stance."""
