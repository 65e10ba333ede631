"""The pipeline around the stages: targets, code digests, the run lock, pruning and the guarded commit."""
