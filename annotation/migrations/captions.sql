-- Prompts are only ever added.
CREATE FUNCTION prompt_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'prompts are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER prompt_is_append_only BEFORE DELETE OR UPDATE ON annotation_prompt FOR EACH ROW
    EXECUTE FUNCTION prompt_is_append_only();

-- When a caption's text last changed, whoever changed it.
CREATE FUNCTION caption_change_is_dated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.text_changed_at := clock_timestamp();
    RETURN NEW;
END $$;
CREATE TRIGGER caption_change_is_dated BEFORE UPDATE OF text ON annotation_caption FOR EACH ROW
    WHEN ((old.text IS DISTINCT FROM new.text)) EXECUTE FUNCTION caption_change_is_dated();

-- A query comes from a caption that serves.
CREATE FUNCTION query_caption_serves() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.caption_id IS NOT NULL AND NOT EXISTS (
        SELECT FROM annotation_caption WHERE id = NEW.caption_id AND state IN ('accepted', 'edited')
    ) THEN
        RAISE EXCEPTION 'a query comes from an accepted or edited caption'
            USING ERRCODE = 'integrity_constraint_violation';
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER query_caption_serves BEFORE INSERT OR UPDATE OF caption_id ON annotation_query FOR EACH ROW
    EXECUTE FUNCTION query_caption_serves();

-- How a similarity is computed is a row of its own; rows are only ever added.
CREATE FUNCTION measure_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'measures are append-only' USING ERRCODE = 'integrity_constraint_violation';
END $$;
CREATE TRIGGER measure_is_append_only BEFORE DELETE OR UPDATE ON annotation_measure FOR EACH ROW
    EXECUTE FUNCTION measure_is_append_only();
