-- What was submitted stays; so does what was said about it, though it can be taken back.
CREATE TRIGGER written_query_is_kept BEFORE UPDATE ON judging_writtenquery FOR EACH ROW
    WHEN (ROW (OLD.assignment_id, OLD.clip_id, OLD.writer_id, OLD.key, OLD.text, OLD.type, OLD.start_s, OLD.end_s)
        IS DISTINCT FROM
        ROW (NEW.assignment_id, NEW.clip_id, NEW.writer_id, NEW.key, NEW.text, NEW.type, NEW.start_s, NEW.end_s))
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER query_check_is_kept BEFORE UPDATE ON judging_querycheck FOR EACH ROW
    WHEN (OLD.undone_at IS NOT NULL
        OR ROW (OLD.query_id, OLD.checker_id, OLD.decision, OLD.reason, OLD.note, OLD.start_s, OLD.end_s)
        IS DISTINCT FROM ROW (NEW.query_id, NEW.checker_id, NEW.decision, NEW.reason, NEW.note, NEW.start_s, NEW.end_s))
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER written_query_is_not_deleted BEFORE DELETE ON judging_writtenquery FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();
CREATE TRIGGER query_check_is_not_deleted BEFORE DELETE ON judging_querycheck FOR EACH ROW
    EXECUTE FUNCTION row_is_kept();

-- Checkers of the project decide, each about the queries of others, and within the video.
CREATE FUNCTION query_check_is_of_a_checker() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    facts record;
BEGIN
    SELECT query.writer_id, video.duration_s INTO facts
        FROM judging_writtenquery query JOIN judging_writingclip clip ON clip.id = query.clip_id
        JOIN judging_writinground round ON round.id = clip.round_id
        JOIN annotation_video video ON video.id = clip.video_id
        JOIN accounts_membership member ON member.project_id = round.project_id AND member.user_id = NEW.checker_id
            AND 'checker' = ANY (member.roles)
        WHERE query.id = NEW.query_id FOR SHARE OF member;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not check query %', NEW.checker_id, NEW.query_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF facts.writer_id = NEW.checker_id THEN
        RAISE EXCEPTION 'nobody checks their own query' USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.end_s > facts.duration_s THEN
        RAISE EXCEPTION 'the moment ends after its video' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER query_check_is_of_a_checker BEFORE INSERT ON judging_querycheck FOR EACH ROW
    EXECUTE FUNCTION query_check_is_of_a_checker();
