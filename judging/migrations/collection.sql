-- Writers and checkers see what other people wrote: who has graded in the project becomes neither.
DROP TRIGGER membership_of_staff_has_no_grades ON accounts_membership;
CREATE TRIGGER membership_of_staff_has_no_grades BEFORE INSERT OR UPDATE OF roles ON accounts_membership
    FOR EACH ROW WHEN (NEW.roles && '{lead,admin,writer,checker}') EXECUTE FUNCTION membership_of_staff_has_no_grades();

-- Queries of a round follow one rule, so the round keeps it.
CREATE FUNCTION writing_round_keeps_its_rules() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'writing round % keeps its rules', OLD.uuid USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER writing_round_keeps_its_rules BEFORE UPDATE ON judging_writinground FOR EACH ROW
    WHEN (ROW (OLD.share_v, OLD.share_t, OLD.share_vt, OLD.queries_per_clip, OLD.queries_per_visit, OLD.least_tokens,
        OLD.most_overlap, OLD.project_id) IS DISTINCT FROM ROW (NEW.share_v, NEW.share_t, NEW.share_vt,
        NEW.queries_per_clip, NEW.queries_per_visit, NEW.least_tokens, NEW.most_overlap, NEW.project_id))
    EXECUTE FUNCTION writing_round_keeps_its_rules();

-- A clip is handed to writers of its project alone.
CREATE FUNCTION clip_assignment_is_of_a_writer() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM FROM accounts_membership member JOIN judging_writingclip clip ON clip.id = NEW.clip_id
        JOIN judging_writinground round ON round.id = clip.round_id AND round.project_id = NEW.project_id
        WHERE member.project_id = NEW.project_id AND member.user_id = NEW.writer_id AND 'writer' = ANY (member.roles)
        FOR SHARE OF member;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % does not write in project %', NEW.writer_id, NEW.project_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER clip_assignment_is_of_a_writer BEFORE INSERT ON judging_clipassignment FOR EACH ROW
    EXECUTE FUNCTION clip_assignment_is_of_a_writer();

-- A query lies within its video, is of a type of its round, and of the writer who has the clip; none is too many.
CREATE FUNCTION written_query_fits_its_round() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    facts record;
BEGIN
    SELECT round.*, clip.n_queries, video.duration_s, held.n_queries AS n_own INTO facts
        FROM judging_clipassignment held JOIN judging_writingclip clip ON clip.id = held.clip_id
        JOIN judging_writinground round ON round.id = clip.round_id
        JOIN annotation_video video ON video.id = clip.video_id
        WHERE held.id = NEW.assignment_id AND held.clip_id = NEW.clip_id AND held.writer_id = NEW.writer_id
            AND held.state = 'open'
        FOR NO KEY UPDATE OF held, clip;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'account % has not got clip %', NEW.writer_id, NEW.clip_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.end_s > facts.duration_s THEN
        RAISE EXCEPTION 'the query ends after its video' USING ERRCODE = 'integrity_constraint_violation';
    ELSIF (CASE NEW.type WHEN 'v' THEN facts.share_v WHEN 't' THEN facts.share_t ELSE facts.share_vt END) = 0 THEN
        RAISE EXCEPTION 'the round asks for no query of type %', NEW.type
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF facts.n_queries >= facts.queries_per_clip OR facts.n_own >= facts.queries_per_visit THEN
        RAISE EXCEPTION 'the clip has its queries' USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER written_query_fits_its_round BEFORE INSERT ON judging_writtenquery FOR EACH ROW
    EXECUTE FUNCTION written_query_fits_its_round();
