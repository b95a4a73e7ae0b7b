-- What an annotator gave, gold included.
CREATE VIEW judging_owngrade AS
SELECT uuid, pair_id, assignment_id, annotator_id, grade, comment, created_at
FROM judging_judgment WHERE assignment_id IS NOT NULL
UNION ALL
SELECT uuid, pair_id, assignment_id, annotator_id, grade, comment, created_at FROM judging_goldgrade;
