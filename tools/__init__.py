"""The agent's components: language, models, store, search and web. None of them depends on the code of runs.

Each package imports only from packages above it in this list (`tests/test_layout.py` checks this). All may import the
modules directly in `tools` (errors, budget, limits, passages, dates, disk, memory).

1. net: HTTP requests with retries.
2. language: English text: sentences, kinds of questions, grounding.
3. models: chat models, encoders, judges, and the worker thread for embedded models.
4. store: documents, passages and vectors in SQLite, and the indexes built from them.
5. documents: file parsers, and ingest.
6. web: search engines and page fetching.
7. selection: selection of passages and grouping of theses. serving: vLLM on this machine.
"""
