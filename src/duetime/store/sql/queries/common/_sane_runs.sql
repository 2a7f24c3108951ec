-- The runs of a figure; none where the row holds what no worker has counted.
CASE WHEN f.runs BETWEEN 0 AND 1000000000000 THEN f.runs ELSE 0 END
