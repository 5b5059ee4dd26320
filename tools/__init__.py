"""The agent's components: language, models, the store, search and the web. They know nothing of runs.

Each package imports only from packages above it in this list (`tests/test_layout.py` checks it). All may import the
modules of `tools` itself (errors, budget, passages, disk, memory).

1. net: HTTP requests with retries.
2. language: English text: sentences, kinds of questions, grounding.
3. models: chat models, encoders, judges, and the worker that runs the embedded ones.
4. store: documents, passages and vectors in SQLite, and the indexes built from them.
5. documents: file readers, and ingest.
6. web: search engines, and the pages that they find.
7. selection, serving: selection of passages, theses and groups; vLLM on this machine.
"""
