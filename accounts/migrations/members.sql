-- Changes of an annotator's status are only ever added.
CREATE FUNCTION standing_change_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'standing changes are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER standing_change_is_append_only BEFORE DELETE OR UPDATE ON accounts_standingchange FOR EACH ROW
    EXECUTE FUNCTION standing_change_is_append_only();
