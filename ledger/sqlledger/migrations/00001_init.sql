-- pos is a position: group sequence number << 34 | job index (position.go).
-- Times are microseconds since 1970; 0 is none.

CREATE TABLE groups (
    seq               {{sequence}},
    id                TEXT NOT NULL UNIQUE,
    tenant            TEXT NOT NULL,
    action            TEXT NOT NULL,
    resource          TEXT NOT NULL,
    dedup_key         TEXT NOT NULL,
    spec              TEXT NOT NULL,
    state             TEXT NOT NULL,
    paused_by         TEXT NOT NULL,
    sealed            BIGINT NOT NULL,
    version           BIGINT NOT NULL,
    total             BIGINT NOT NULL,
    max_cost          BIGINT NOT NULL,
    bytes             BIGINT NOT NULL,
    hash              BIGINT NOT NULL,
    failed_base       BIGINT NOT NULL,
    final_base        BIGINT NOT NULL,
    completions       BIGINT NOT NULL,
    result            TEXT,
    callback_state    TEXT NOT NULL,
    callback_attempts BIGINT NOT NULL,
    created           BIGINT NOT NULL,
    started           BIGINT NOT NULL,
    finished          BIGINT NOT NULL,
    pruned            BIGINT NOT NULL
);
CREATE UNIQUE INDEX groups_key ON groups (tenant, dedup_key) WHERE dedup_key <> '';
CREATE INDEX groups_tenant ON groups (tenant, id);
CREATE INDEX groups_unfinished ON groups (id) WHERE finished = 0;
CREATE INDEX groups_unfinished_tenant ON groups (tenant) WHERE finished = 0;
CREATE INDEX groups_finished ON groups (finished) WHERE finished > 0;

-- Payload of consecutive jobs of one chunk, from the job at pos on.
CREATE TABLE segments (
    pos   {{id}} PRIMARY KEY,
    count BIGINT NOT NULL,
    body  {{blob}} NOT NULL
);

-- One row per chunk in which anything happened; pos is the chunk's first job.
-- sets holds the truth, the numbers are what is asked of it.
CREATE TABLE outcomes (
    pos       {{id}} PRIMARY KEY,
    grp       BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed    BIGINT NOT NULL,
    skipped   BIGINT NOT NULL,
    in_doubt  BIGINT NOT NULL,
    retrying  BIGINT NOT NULL,
    waiting   BIGINT NOT NULL,
    due       BIGINT NOT NULL,
    intents   BIGINT NOT NULL,
    touched   BIGINT NOT NULL,
    bad       BIGINT NOT NULL,
    merges    BIGINT NOT NULL,
    sets      {{blob}} NOT NULL
);
CREATE INDEX outcomes_waiting ON outcomes (grp, due) WHERE waiting > 0;

-- Reasons and values, one row per merge that brought any, in order of id.
CREATE TABLE details (
    id   {{sequence}},
    pos  BIGINT NOT NULL,
    body {{blob}} NOT NULL
);
CREATE INDEX details_pos ON details (pos);

CREATE TABLE outbox (
    id       TEXT NOT NULL PRIMARY KEY,
    grp      BIGINT NOT NULL,
    group_id TEXT NOT NULL,
    url      TEXT NOT NULL,
    state    TEXT NOT NULL,
    attempts BIGINT NOT NULL,
    due      BIGINT NOT NULL,
    created  BIGINT NOT NULL,
    error    TEXT NOT NULL
);
CREATE INDEX outbox_due ON outbox (due) WHERE state = 'pending';
CREATE INDEX outbox_group ON outbox (grp);

CREATE TABLE settings (
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT NOT NULL,
    author TEXT NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (kind, name)
);

-- Every value that a setting had; value is NULL where it was deleted.
CREATE TABLE settings_history (
    id     {{sequence}},
    kind   TEXT NOT NULL,
    name   TEXT NOT NULL,
    value  TEXT,
    author TEXT NOT NULL,
    at     BIGINT NOT NULL
);
CREATE INDEX settings_history_name ON settings_history (kind, name, id);
