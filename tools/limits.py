"""Limits and thresholds of `tools` that several modules use or that a person tunes. Each has its unit and its reason.

Fitted values are stored in files. `weights/judge/calibration.json` has the judge's calibration and `threshold`, the
lowest probability that counts as support. `weights/quoting.json` has the thresholds of quotations (`QuotingWeights`).
`selection.py` has the weights of the selection, beside their formula.
"""

# Time, in seconds. A silence is the time without a byte from the server. A call also ends at the deadline of the
# stage that makes the call.

CONNECT_SECONDS = 5.0
"""Longest wait for a connection. Servers on the internet answer within a second."""
SEARCH_SECONDS = 20.0
"""Longest silence of a search engine."""
LONGEST_TURN = 10.0
"""Longest wait for the turn at a service that limits requests. A search that waits longer delays the whole answer."""
DUCKDUCKGO_SECONDS = 10.0
"""Limit of one request to DuckDuckGo. DuckDuckGo is fast or does not answer at all."""
PAGE_SECONDS = 12.0
"""Limit of a web page with its redirects. A slow page must not delay the other pages."""
BROWSER_SECONDS = 15.0
"""Limit of a page in the browser. Most pages show their text within three seconds."""
PAGE_READING_SECONDS = 10.0
"""Processor time of the process that parses a page."""
CHAT_SECONDS = 120.0
"""Longest silence of a chat model. Local models process a long prompt for a minute and more."""
ENDPOINT_SECONDS = 30.0
"""Longest silence of a judge or an encoder on a server."""
CHROMA_SECONDS = 10.0
"""Longest silence of a Chroma server."""
BUSY_SECONDS = 30
"""Longest wait for another process's write to the database (docs/reliability.md)."""
OUTAGE_SECONDS = 60.0
"""Longest wait of a run for a database server that does not answer."""
INDEX_LOCK_SECONDS = 60.0
"""Longest wait for another process's write to an index."""

# Retries of HTTP requests

ATTEMPTS = 3
"""Attempts of one request, including the first."""
FIRST_PAUSE = 0.5
"""Seconds before the second attempt. Each further pause is twice as long as the previous pause."""
LONGEST_PAUSE = 30.0
"""Seconds. If a server's Retry-After is longer, the request fails."""

MODEL_REQUESTS = 32
"""Open requests to one model server. vLLM computes many requests together; further requests wait in this process."""

# Sizes

LARGEST_REPLY = 20_000_000
"""Bytes of one HTTP reply, decompressed. A hostile server must not fill the memory."""
LONGEST_CHAT_REPLY = 100_000
"""Characters of a chat model's reply. This is several times the longest answer."""
LARGEST_PAGE = 5_000_000
"""Bytes of a web page or PDF, decompressed."""
LONGEST_PAGE = 300_000
"""Characters of a web page's text: about 50,000 words."""
FEWEST_PAGE_WORDS = 60
"""Words. Shorter pages are mostly error pages and teasers."""
MOST_PDF_PAGES = 60
"""Pages of a PDF from the web."""
BROWSER_REQUESTS, BROWSER_BYTES, BROWSER_MEGABYTES = 150, 25_000_000, 1024
"""Requests of one page in the browser, their bytes together, and the memory of each of the browser's processes."""
PAGE_READING_MEGABYTES = 1024
"""Memory of the process that parses a page."""

# Retrieval and judging

PASSAGE_WORDS = 100
"""Words of a passage, as in the papers (BERDS §4)."""
RRF_K = 60
"""Constant of reciprocal rank fusion, as in its paper (Cormack, Clarke and Büttcher 2009)."""
CLEAR = 0.8
"""Least probability of a clear verdict on a passage, from a judge that reads whole passages."""
CLEAR_GRADE, WEAK_GRADE, NO_GRADE = 0.95, 0.65, 0.05
"""Probabilities of a chat model's grades: clear support, weak support, none."""
PASSAGES_PER_CALL = 40
"""Passages that a chat model judges in one call. With more passages, a model judges less carefully."""
CLAIMS_PER_CALL = 64
"""Claims that a chat model checks in one call."""
CONCURRENT_CALLS = 8
"""Concurrent calls of a chat model that judges or checks."""
