"""Answers: run a model over a benchmark's items. Every backend answers in text."""
