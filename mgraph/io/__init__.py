"""Files: edge-list datasets in Parquet, their manifests, and the folders they live in."""
