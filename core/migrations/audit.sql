-- Events of the audit are only ever added.
CREATE FUNCTION audit_event_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit events are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER audit_event_is_append_only BEFORE DELETE OR UPDATE ON core_auditevent FOR EACH ROW
    EXECUTE FUNCTION audit_event_is_append_only();
CREATE TRIGGER audit_event_is_never_emptied BEFORE TRUNCATE ON core_auditevent FOR EACH STATEMENT
    EXECUTE FUNCTION audit_event_is_append_only();
