"""The agent's components: language, models, store, search and web. None of them imports the package `agent`.

Each package imports only from packages above it in this list (`tests/test_layout.py` checks this). All may import the
modules directly in `tools` (errors, budget, limits, passages, dates, disk, memory).

1. net: HTTP requests with retries.
2. language: English text: sentences, kinds of questions, word rules that check claims.
3. models: chat models, encoders, judges, and the worker thread for embedded models.
4. store: documents, passages and vectors in SQLite, and the indexes built from them.
5. documents: file parsers, and ingest.
6. web: search engines and page fetching.
7. selection: selects passages, and groups theses by meaning. serving: runs vLLM on this machine.
"""
