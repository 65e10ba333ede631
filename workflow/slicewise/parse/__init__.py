"""Readers of model output for the ``card`` protocol: a fixed ladder of named rungs that never guesses.

``clean`` first (Unicode, reasoning blocks, chat tokens), then the family's tags, JSON and prose. Every reading says
which rung decided (``stage``) and what was noticed on the way (``flags``).
"""

from __future__ import annotations

PARSER_VERSION = "1.0.0"  # in every parsed row; raise it with every change that can alter a reading
