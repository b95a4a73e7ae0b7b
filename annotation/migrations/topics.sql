-- Versions of topics are only ever added, and the title of the last one is the text of its query when it is added.
CREATE FUNCTION topic_version_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'versions of topics are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER topic_version_is_append_only BEFORE DELETE OR UPDATE ON annotation_topicversion FOR EACH ROW
    EXECUTE FUNCTION topic_version_is_append_only();

CREATE FUNCTION topic_version_has_the_text() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM annotation_topicversion WHERE topic_id = NEW.topic_id AND version > NEW.version)
        AND NOT EXISTS (SELECT FROM annotation_query WHERE id = NEW.topic_id AND text = NEW.title) THEN
        RAISE EXCEPTION 'the title of a topic is the text of its query'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER topic_version_has_the_text BEFORE INSERT ON annotation_topicversion FOR EACH ROW
    EXECUTE FUNCTION topic_version_has_the_text();

-- The text of a topic's query stays from its first candidate on: moments were ranked by it.
CREATE FUNCTION topic_text_stays() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM annotation_topic WHERE query_id = NEW.id)
        AND EXISTS (SELECT FROM annotation_candidate WHERE query_id = NEW.id) THEN
        RAISE EXCEPTION 'the text of a topic stays once moments are ranked by it'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER topic_text_stays BEFORE UPDATE OF text ON annotation_query FOR EACH ROW
    WHEN (OLD.text IS DISTINCT FROM NEW.text) EXECUTE FUNCTION topic_text_stays();
