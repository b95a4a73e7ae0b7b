-- Time that was measured is paid for, so it stays with the query and the check.
DROP TRIGGER written_query_is_kept ON judging_writtenquery;
CREATE TRIGGER written_query_is_kept BEFORE UPDATE ON judging_writtenquery FOR EACH ROW
    WHEN (ROW (OLD.assignment_id, OLD.clip_id, OLD.writer_id, OLD.key, OLD.text, OLD.type, OLD.start_s, OLD.end_s,
        OLD.active_ms) IS DISTINCT FROM
        ROW (NEW.assignment_id, NEW.clip_id, NEW.writer_id, NEW.key, NEW.text, NEW.type, NEW.start_s, NEW.end_s,
        NEW.active_ms))
    EXECUTE FUNCTION row_is_kept();
DROP TRIGGER query_check_is_kept ON judging_querycheck;
CREATE TRIGGER query_check_is_kept BEFORE UPDATE ON judging_querycheck FOR EACH ROW
    WHEN (OLD.undone_at IS NOT NULL
        OR ROW (OLD.query_id, OLD.checker_id, OLD.decision, OLD.reason, OLD.note, OLD.start_s, OLD.end_s, OLD.active_ms)
        IS DISTINCT FROM
        ROW (NEW.query_id, NEW.checker_id, NEW.decision, NEW.reason, NEW.note, NEW.start_s, NEW.end_s, NEW.active_ms))
    EXECUTE FUNCTION row_is_kept();
