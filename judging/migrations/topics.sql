-- An assignment of a topic keeps which version of it is shown; one of another query keeps none.
CREATE FUNCTION assignment_shows_its_topic() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    topic bigint;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.topic_version_id IS DISTINCT FROM OLD.topic_version_id THEN
        RAISE EXCEPTION 'an assignment keeps the version of its topic that it shows'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    SELECT annotation_topic.query_id INTO topic FROM judging_batch
        JOIN annotation_topic ON annotation_topic.query_id = judging_batch.query_id WHERE judging_batch.id = NEW.batch_id;
    IF topic IS DISTINCT FROM (SELECT topic_id FROM annotation_topicversion WHERE id = NEW.topic_version_id) THEN
        RAISE EXCEPTION 'an assignment shows a version of its own topic'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER assignment_shows_its_topic BEFORE INSERT OR UPDATE OF topic_version_id, batch_id ON judging_assignment
    FOR EACH ROW EXECUTE FUNCTION assignment_shows_its_topic();
