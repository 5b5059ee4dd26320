"""The models in force for a run, and whatever else serves its stages: the indexes over the store, the web."""
