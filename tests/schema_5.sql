-- The tables of Steelman's files before revisions; in schema 4 `corrections` was missing.
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE collections (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE, encoder TEXT NOT NULL,
    created_at TEXT NOT NULL, person TEXT NOT NULL
);
CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    collection_id INTEGER NOT NULL REFERENCES collections ON DELETE CASCADE,
    external_id TEXT NOT NULL, shown_id TEXT NOT NULL, origin TEXT NOT NULL, content_hash TEXT NOT NULL,
    title TEXT NOT NULL, url TEXT NOT NULL, publisher TEXT NOT NULL, kind TEXT NOT NULL, date TEXT NOT NULL,
    language TEXT NOT NULL, ingested_at TEXT NOT NULL,
    author TEXT NOT NULL, provenance TEXT NOT NULL, readers INTEGER NOT NULL,
    UNIQUE (collection_id, external_id)
);
CREATE INDEX documents_by_origin ON documents (collection_id, origin);
CREATE TABLE passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
    position INTEGER NOT NULL, text TEXT NOT NULL, speaker TEXT NOT NULL,
    section TEXT NOT NULL, form TEXT NOT NULL, page INTEGER NOT NULL, last_page INTEGER NOT NULL
);
CREATE INDEX passages_by_document ON passages (document_id);
CREATE TABLE vectors (passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE, vector BLOB NOT NULL);
CREATE TABLE sentence_vectors (
    passage_id INTEGER PRIMARY KEY REFERENCES passages ON DELETE CASCADE,
    sentences INTEGER NOT NULL, vectors BLOB NOT NULL
);
CREATE TABLE removals (
    number INTEGER PRIMARY KEY AUTOINCREMENT, collection_id INTEGER NOT NULL, passage_id INTEGER NOT NULL
);
CREATE TABLE indexes (
    name TEXT PRIMARY KEY, making TEXT NOT NULL, passage INTEGER NOT NULL, removal INTEGER NOT NULL
);
CREATE TABLE runs (
    id TEXT PRIMARY KEY, thread TEXT NOT NULL, question TEXT NOT NULL, options TEXT NOT NULL,
    status TEXT NOT NULL, created_at TEXT NOT NULL, finished_at TEXT,
    owner TEXT, heartbeat REAL, error TEXT, answer TEXT, person TEXT NOT NULL
);
CREATE INDEX runs_by_thread ON runs (thread, created_at);
CREATE TABLE threads (
    thread TEXT NOT NULL, person TEXT NOT NULL, name TEXT NOT NULL DEFAULT '', removed_at REAL,
    PRIMARY KEY (thread, person)
);
CREATE TABLE events (
    run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    number INTEGER NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, data TEXT NOT NULL,
    PRIMARY KEY (run_id, number)
) WITHOUT ROWID;
CREATE TABLE web_documents (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL, url TEXT NOT NULL, original TEXT NOT NULL,
    title TEXT NOT NULL, publisher TEXT NOT NULL, kind TEXT NOT NULL, date TEXT NOT NULL, text TEXT NOT NULL,
    language TEXT NOT NULL, owner TEXT NOT NULL, author TEXT NOT NULL,
    UNIQUE (run_id, url)
);
CREATE TABLE web_passages (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    document_id INTEGER NOT NULL REFERENCES web_documents ON DELETE CASCADE,
    position INTEGER NOT NULL, text TEXT NOT NULL, vector BLOB NOT NULL, speaker TEXT NOT NULL,
    section TEXT NOT NULL, form TEXT NOT NULL, page INTEGER NOT NULL, last_page INTEGER NOT NULL
);
CREATE INDEX web_passages_by_document ON web_passages (document_id);
CREATE TABLE api_keys (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, digest BLOB NOT NULL UNIQUE, created_at TEXT NOT NULL, revoked_at TEXT
);
CREATE TABLE api_runs (
    run_id TEXT PRIMARY KEY REFERENCES runs ON DELETE CASCADE, key_id TEXT NOT NULL, idempotency_key TEXT,
    UNIQUE (key_id, idempotency_key)
);
CREATE TABLE run_passages (
    passage_id INTEGER NOT NULL, run_id TEXT NOT NULL, passage TEXT NOT NULL, vector BLOB NOT NULL,
    PRIMARY KEY (passage_id, run_id)
) WITHOUT ROWID;
CREATE INDEX run_passages_by_run ON run_passages (run_id);
CREATE TABLE ballots (
    id INTEGER PRIMARY KEY, question TEXT NOT NULL UNIQUE, answer TEXT NOT NULL, ranked TEXT NOT NULL,
    providers TEXT NOT NULL, seed INTEGER NOT NULL
);
CREATE TABLE votes (
    ballot_id INTEGER NOT NULL REFERENCES ballots ON DELETE CASCADE, voter TEXT NOT NULL, kind TEXT NOT NULL,
    answer_left INTEGER NOT NULL, choices TEXT NOT NULL, reason TEXT NOT NULL, PRIMARY KEY (ballot_id, voter)
) WITHOUT ROWID;
CREATE TABLE corrections (
    id INTEGER PRIMARY KEY, run_id TEXT NOT NULL REFERENCES runs ON DELETE CASCADE,
    claim TEXT NOT NULL, target TEXT NOT NULL, person TEXT NOT NULL, at TEXT NOT NULL);
