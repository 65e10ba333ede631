"""The released SGMRI-VQA scorer's behaviour, bug for bug, in a room of its own.

Nothing here is meant to be right: it is meant to give the number that the released code gives, so that it
can be compared with the published tables. The room was written from a description of that behaviour and
from recorded input/output pairs, never from the code itself; ``docs/reference-protocol.md`` says which
parts the recordings fix and which are inference.

The room imports nothing else of the package, and none of its guesses may leak into the ``card`` protocol:
only ``parse.run``, ``score.run`` and the command line import it.
"""

from __future__ import annotations

__all__ = ["ReferenceInputError"]


class ReferenceInputError(ValueError):
    """An input that the room cannot replay: one sentence naming the file, the item and what was expected."""
