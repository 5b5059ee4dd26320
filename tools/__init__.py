"""What the agent works with: language, models, the store, search and the web.

A package imports only what stands before it here (`tests/test_layout.py` checks it), and any of them the modules of
`tools` itself (errors, budget, passages, disk, memory):

1. net: requests over HTTP, with retries.
2. language: English text: sentences, kinds of questions, grounding.
3. models: chat models, encoders, judges, and the worker that runs the embedded ones.
4. store: documents, passages and vectors in SQLite, and the indexes over them.
5. documents: readers of files, and what makes documents of them.
6. web: search engines, and the pages that they find.
7. selection, serving: few passages out of many, theses and groups; vLLM on this machine (a module).
"""
