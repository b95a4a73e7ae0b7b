-- Tables, columns, constraints and functions take the plain word for how far an annotator is: status. Nothing is read
-- but the catalogue, so the size of the tables does not matter.
ALTER TABLE accounts_standingchange RENAME TO accounts_statuschange;
ALTER TABLE accounts_statuschange RENAME COLUMN from_standing TO from_status;
ALTER TABLE accounts_statuschange RENAME COLUMN to_standing TO to_status;
ALTER TABLE accounts_membership RENAME COLUMN standing TO status;
ALTER TRIGGER standing_change_is_append_only ON accounts_statuschange RENAME TO status_change_is_append_only;
ALTER FUNCTION standing_change_is_append_only() RENAME TO status_change_is_append_only;
CREATE OR REPLACE FUNCTION status_change_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'status changes are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;

-- Constraints, with the indexes behind them; then the other indexes and the sequences.
DO $$
DECLARE
    item record;
BEGIN
    FOR item IN
        SELECT con.conrelid::regclass AS owner, con.conname AS name FROM pg_constraint con
        WHERE con.connamespace = current_schema()::regnamespace AND con.conrelid::regclass::text LIKE 'accounts\_%'
            AND con.contype <> 't' AND con.conname LIKE '%standing%'
    LOOP
        EXECUTE format('ALTER TABLE %s RENAME CONSTRAINT %I TO %I', item.owner, item.name,
            left(replace(item.name, 'standing', 'status'), 63));
    END LOOP;
    FOR item IN
        SELECT rel.oid::regclass AS owner, rel.relname AS name FROM pg_class rel
        WHERE rel.relnamespace = current_schema()::regnamespace AND rel.relkind IN ('i', 'S')
            AND rel.relname LIKE '%standing%'
    LOOP
        EXECUTE format('ALTER %s %s RENAME TO %I', CASE WHEN item.name LIKE '%\_seq' THEN 'SEQUENCE' ELSE 'INDEX' END,
            item.owner, left(replace(item.name, 'standing', 'status'), 63));
    END LOOP;
END $$;
