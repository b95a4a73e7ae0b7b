-- Candidates are frozen once a batch of their query exists, by similarity and pooled from runs alike.
CREATE FUNCTION candidate_is_frozen() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM judging_batch WHERE query_id = OLD.query_id) THEN
        RAISE EXCEPTION 'candidates of query % are frozen', OLD.query_id
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER candidate_is_frozen BEFORE DELETE OR UPDATE ON annotation_candidate FOR EACH ROW
    EXECUTE FUNCTION candidate_is_frozen();

-- From then on its candidates by similarity are complete; those pooled from runs come behind them.
CREATE FUNCTION candidate_joins_in_order() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    is_begun boolean := EXISTS (SELECT 1 FROM judging_batch WHERE query_id = NEW.query_id);
BEGIN
    IF NEW.source = 'similarity' AND is_begun THEN
        RAISE EXCEPTION 'candidates of query % are frozen', NEW.query_id
            USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.source = 'pooled' AND NOT is_begun THEN
        RAISE EXCEPTION 'query % has no batch yet', NEW.query_id USING ERRCODE = 'integrity_constraint_violation';
    ELSIF NEW.source = 'pooled' AND EXISTS (
        SELECT 1 FROM annotation_candidate WHERE query_id = NEW.query_id AND rank > NEW.rank
    ) THEN
        RAISE EXCEPTION 'a pooled candidate comes behind the last rank'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER candidate_joins_in_order BEFORE INSERT ON annotation_candidate FOR EACH ROW
    EXECUTE FUNCTION candidate_joins_in_order();

-- The bounds of a judged moment stay as they were judged.
CREATE FUNCTION moment_stays_as_judged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM annotation_candidate candidate JOIN judging_pair pair ON pair.candidate_id = candidate.id
            JOIN judging_judgment given ON given.pair_id = pair.id WHERE candidate.moment_id = OLD.id)
        OR EXISTS (SELECT FROM judging_knownpair known JOIN judging_sittinggrade given ON given.known_pair_id = known.id
            WHERE known.moment_id = OLD.id)
    THEN
        RAISE EXCEPTION 'moment % stays as it was judged', OLD.id USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER moment_stays_as_judged BEFORE UPDATE OF video_id, start_s, end_s ON annotation_moment FOR EACH ROW
    WHEN ((((old.video_id IS DISTINCT FROM new.video_id) OR (old.start_s IS DISTINCT FROM new.start_s)) OR (old.end_s IS DISTINCT FROM new.end_s)))
    EXECUTE FUNCTION moment_stays_as_judged();
