-- The statements of populate.py: each section is what follows its name.
-- name: setup
-- What becomes of a batch (round, free slots, begun) and of its slots (round, slot, state, pairs graded; null: all)
CREATE TEMP TABLE kind (kind text, round int, free_slots int, begun bool);
INSERT INTO kind VALUES ('done', 2, 0, true), ('held', 1, 0, true), ('begun', 1, 1, true), ('second', 2, 2, false),
    ('second_begun', 2, 1, true), ('lapsed', 1, 2, true), ('returned', 1, 2, true), ('new', 1, 2, false);
CREATE TEMP TABLE kind_slot (kind text, round int, slot int, state text, graded int);
INSERT INTO kind_slot VALUES
    ('done', 1, 1, 'finished', null), ('done', 1, 2, 'finished', null),
    ('done', 2, 1, 'finished', null), ('done', 2, 2, 'finished', null),
    ('held', 1, 1, 'open', 10), ('held', 1, 2, 'open', 10),
    ('begun', 1, 1, 'finished', null),
    ('second', 1, 1, 'finished', null), ('second', 1, 2, 'finished', null),
    ('second_begun', 1, 1, 'finished', null), ('second_begun', 1, 2, 'finished', null),
    ('second_begun', 2, 1, 'finished', null),
    ('lapsed', 1, 1, 'lapsed', 7), ('returned', 1, 1, 'returned', 12);

CREATE TEMP TABLE laid AS
SELECT i, kind.*, now() - %(days)s * interval '1 day' * (1 - i / (%(batches)s + 1.0)) AS at
FROM generate_series(1, %(batches)s) AS i
JOIN kind ON kind.kind = coalesce((%(kinds)s::text[])[i - %(done)s],
    CASE WHEN i > %(done)s THEN 'new' ELSE 'done' END);
ANALYZE laid;

-- Four different people sit at a done batch, in changing company; each holder of an open slot holds only that one.
CREATE TEMP TABLE assigned AS
SELECT row_number() OVER (ORDER BY laid.i, place.round, place.slot) AS id, laid.i,
    laid.at + place.round * interval '1 hour' AS at, place.round, place.slot, place.state, asked,
    coalesce(place.graded, asked) AS graded,
    (%(people)s::bigint[])[1 + CASE WHEN laid.kind = 'held' THEN (2 * laid.i + place.slot) %% %(busy)s
        ELSE (laid.i + (2 * place.round + place.slot - 3) * (1 + laid.i / %(annotators)s %% (%(annotators)s / 4 - 1)))
            %% CASE WHEN laid.kind = 'done' THEN %(annotators)s ELSE %(busy)s END END] AS annotator
FROM laid JOIN kind_slot place ON place.kind = laid.kind
CROSS JOIN LATERAL (SELECT CASE place.round WHEN 1 THEN %(batch)s ELSE %(escalated)s END AS asked) AS size
WHERE asked > 0;
ANALYZE assigned

-- name: annotation_moment
INSERT INTO annotation_moment (uuid, video_id, start_s, end_s, preview, preview_clip, preview_uuid, preview_state,
    preview_error)
SELECT gen_random_uuid(), video_id, 5 * i, 5 * i + 5, preview, '', gen_random_uuid(), 'ready', ''
FROM generate_series(1000, 999 + %(moments)s) AS i, (SELECT video_id, preview FROM annotation_moment LIMIT 1) AS one

-- name: annotation_query
INSERT INTO annotation_query (id, uuid, project_id, number, text, split, is_placeholder, created_at)
SELECT i, gen_random_uuid(), %(project)s, i, 'Someone does thing number ' || i || '.', 'test', false, at FROM laid

-- name: annotation_candidate
INSERT INTO annotation_candidate (id, query_id, moment_id, rank, similarity, measure_id, source, wordings)
SELECT (i - 1) * %(batch)s + rank, i, first + (i * 7 + rank) %% %(moments)s, rank, 1 - rank / 100.0,
    (SELECT id FROM annotation_measure WHERE name = 'benchmark'), 'similarity', '{}'
FROM laid, generate_series(1, %(batch)s) AS rank,
    (SELECT max(id) - %(moments)s + 1 AS first FROM annotation_moment) AS moment

-- name: judging_batch
INSERT INTO judging_batch (id, uuid, project_id, query_id, number, round, state, priority, is_paused, is_pilot,
    free_slots, begun, created_at, done_at)
SELECT i, gen_random_uuid(), %(project)s, i, 1, round, CASE kind WHEN 'done' THEN 'done' ELSE 'open' END, 0, false,
    false, free_slots, begun, at, CASE kind WHEN 'done' THEN at + interval '1 day' END FROM laid

-- name: judging_batchreview
INSERT INTO judging_batchreview (batch_id, decision, suggestion, reason, decided_at)
SELECT i, 'close', 'close', '', at + interval '2 days' FROM laid WHERE kind = 'done'

-- name: judging_pair
INSERT INTO judging_pair (id, uuid, batch_id, candidate_id, state, relevance, reason)
SELECT (i - 1) * %(batch)s + rank, gen_random_uuid(), i, (i - 1) * %(batch)s + rank,
    CASE WHEN kind = 'done' THEN 'settled' WHEN round = 1 THEN 'open' WHEN rank <= %(escalated)s THEN 'escalated'
        ELSE 'settled' END,
    CASE WHEN kind = 'done' AND rank <= %(escalated)s THEN 2 WHEN kind = 'done' OR (round = 2 AND rank > %(escalated)s)
        THEN (i + rank) %% 5 END, ''
FROM laid, generate_series(1, %(batch)s) AS rank

-- name: judging_assignment
INSERT INTO judging_assignment (id, uuid, project_id, batch_id, round, slot, annotator_id, state, shuffle_seed,
    pair_ids, gold_ids, expires_at, created_at, ended_at)
SELECT id, gen_random_uuid(), %(project)s, i, round, slot, annotator, state, id,
    ARRAY(SELECT (i - 1) * %(batch)s + (place + i * 7) %% asked + 1
        FROM generate_series(0, asked - 1) AS place ORDER BY place), '{}',
    CASE state WHEN 'open' THEN now() + interval '10 days' ELSE at + interval '20 minutes' END, at,
    CASE WHEN state <> 'open' THEN at + interval '20 minutes' END
FROM assigned

-- name: judging_judgment
INSERT INTO judging_judgment (uuid, pair_id, assignment_id, annotator_id, occurrence, round, slot, grade, revision,
    position, previous_grade, comment, active_ms, source, guideline_id, policy_id, created_at)
SELECT gen_random_uuid(), (i - 1) * %(batch)s + rank, id, annotator, 0, round, slot,
    CASE WHEN rank > %(escalated)s THEN (i + rank) %% 5 WHEN round = 2 THEN 2 ELSE 4 * (slot - 1) END, 0, place + 1,
    CASE WHEN place > 0 THEN 2 END, '', 1000 + i * 37 %% 30000,
    'person', %(guideline)s, %(policy)s, at + place * interval '7 seconds'
FROM assigned, generate_series(0, graded - 1) AS place,
    LATERAL (SELECT (place + i * 7) %% asked + 1 AS rank) AS shown

-- name: queue
-- The newest finished queries wait again, with twenty candidates for a second batch
CREATE TEMP TABLE queued AS SELECT id, query_id FROM judging_batch
WHERE state = 'done' AND number = 1 ORDER BY done_at DESC LIMIT %(queries)s;
-- Candidates join frozen lists
SET LOCAL session_replication_role = replica;
INSERT INTO annotation_candidate (query_id, moment_id, rank, similarity, measure_id, source, wordings)
SELECT query_id, moment.first + (query_id * 7 + rank) %% moment.n, rank, 1 - rank / 100.0,
    (SELECT id FROM annotation_measure WHERE name = 'benchmark'), 'similarity', '{}'
FROM queued, generate_series(21, 40) AS rank,
    (SELECT max(id) - 9999 AS first, 10000 AS n FROM annotation_moment) AS moment;
SET LOCAL session_replication_role = origin;
DELETE FROM judging_batchreview WHERE batch_id IN (SELECT id FROM queued)
