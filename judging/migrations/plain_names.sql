-- Tables, columns, constraints, indexes and functions take plain names. Nothing is read but the catalogue, so the size of
-- the tables does not matter.
ALTER TABLE judging_sitting RENAME TO judging_examattempt;
ALTER TABLE judging_sittinggrade RENAME TO judging_examgrade;
ALTER TABLE judging_examgrade RENAME COLUMN sitting_id TO exam_attempt_id;
ALTER TABLE judging_examgrade RENAME COLUMN attempt TO try_number;
ALTER TABLE judging_gatequestion RENAME TO judging_screeningquestion;
ALTER TABLE judging_gateattempt RENAME TO judging_screeningattempt;
ALTER TABLE judging_screeningattempt RENAME COLUMN asked TO questions;
ALTER TABLE judging_policy RENAME COLUMN gate_is_open TO screening_is_open;
ALTER TABLE judging_policy RENAME COLUMN gate_questions TO screening_questions;
ALTER TABLE judging_policy RENAME COLUMN gate_passing TO screening_passing;
ALTER TABLE judging_policy RENAME COLUMN gate_attempts TO screening_attempts;
ALTER TABLE judging_assignment RENAME COLUMN seat TO slot;
ALTER TABLE judging_judgment RENAME COLUMN seat TO slot;
ALTER TABLE judging_batch RENAME COLUMN free_seats TO free_slots;
ALTER TABLE judging_flaganswer RENAME COLUMN words TO text;
ALTER TABLE judging_recut RENAME COLUMN asked_by_id TO requested_by_id;
ALTER TABLE judging_recut RENAME COLUMN asked_at TO requested_at;
ALTER TRIGGER sitting_grade_is_asked_for ON judging_examgrade RENAME TO exam_grade_is_asked_for;
ALTER TRIGGER sitting_grade_is_kept ON judging_examgrade RENAME TO exam_grade_is_kept;
ALTER TRIGGER gate_attempt_is_kept ON judging_screeningattempt RENAME TO screening_attempt_is_kept;
ALTER TRIGGER gate_attempt_stays ON judging_screeningattempt RENAME TO screening_attempt_stays;
ALTER FUNCTION sitting_grade_is_asked_for() RENAME TO exam_grade_is_asked_for;
ALTER FUNCTION gate_attempt_stays() RENAME TO screening_attempt_stays;

-- Constraints, with the indexes behind them; then the other indexes and the sequences. Of two words that hold one
-- another the longer comes first.
DO $$
DECLARE
    plain text[][] := ARRAY[
        ['sitting_grade_once_per_pair_and_attempt', 'exam_grade_once_per_pair_and_try'],
        ['judging_sittinggrade_sitting_id', 'judging_examgrade_exam_attempt_id'],
        ['judging_sittinggrade_attempt', 'judging_examgrade_try_number'],
        ['judging_sittinggrade', 'judging_examgrade'],
        ['judging_sitting', 'judging_examattempt'],
        ['sitting_grade', 'exam_grade'],
        ['sitting', 'exam_attempt'],
        ['judging_gate', 'judging_screening'],
        ['gate_', 'screening_'],
        ['seat', 'slot'],
        ['asked_by', 'requested_by']
    ];
    pair text[];
    item record;
BEGIN
    FOREACH pair SLICE 1 IN ARRAY plain LOOP
        FOR item IN
            SELECT con.conrelid::regclass AS owner, con.conname AS name FROM pg_constraint con
            WHERE con.connamespace = current_schema()::regnamespace AND con.conrelid::regclass::text LIKE 'judging\_%'
                AND con.contype <> 't' AND strpos(con.conname, pair[1]) > 0
        LOOP
            EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', item.owner, item.name,
                left(replace(item.name, pair[1], pair[2]), 63));
        END LOOP;
        FOR item IN
            SELECT rel.oid::regclass AS owner, rel.relname AS name, rel.relkind AS kind FROM pg_class rel
            LEFT JOIN pg_index index ON index.indexrelid = rel.oid
            LEFT JOIN pg_depend dep ON dep.objid = rel.oid AND dep.deptype = 'i' AND rel.relkind = 'S'
            WHERE rel.relnamespace = current_schema()::regnamespace AND rel.relkind IN ('i', 'S')
                AND coalesce(index.indrelid, dep.refobjid)::regclass::text LIKE 'judging\_%'
                AND strpos(rel.relname, pair[1]) > 0
        LOOP
            EXECUTE format('ALTER %s %s RENAME TO %I', CASE item.kind WHEN 'S' THEN 'SEQUENCE' ELSE 'INDEX' END,
                item.owner, left(replace(item.name, pair[1], pair[2]), 63));
        END LOOP;
    END LOOP;
END $$;

