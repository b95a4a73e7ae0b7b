-- Columns take plain names. Nothing is read but the catalogue.
ALTER TABLE annotation_captionredo RENAME COLUMN asked_at TO requested_at;
ALTER TABLE annotation_trainset RENAME COLUMN remark TO warning;
