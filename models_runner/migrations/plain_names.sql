-- Columns take plain names. Nothing is read but the catalogue.
ALTER TABLE models_runner_run RENAME COLUMN remarks TO warnings;
ALTER TABLE models_runner_scoring RENAME COLUMN remarks TO warnings;
