"""The one door to any language model: every paid call is content-hashed, stored, priced and resumable in one place."""
