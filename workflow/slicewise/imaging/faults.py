"""What can go wrong with a volume, with a code that stays the same."""

from __future__ import annotations

from enum import StrEnum

from slicewise.errors import UserError


class Code(StrEnum):
    """First word of an error; a caller may branch on it."""

    NOT_LOADED = "E_NOT_LOADED"
    NOT_FOUND = "E_NOT_FOUND"
    BAD_INDEX = "E_BAD_INDEX"
    BAD_WINDOW = "E_BAD_WINDOW"
    EMPTY_MASK = "E_EMPTY_MASK"
    GEOMETRY_MISMATCH = "E_GEOMETRY_MISMATCH"
    FORMAT = "E_FORMAT"
    HU_SUSPECT = "E_HU_SUSPECT"
    BACKEND_UNAVAILABLE = "E_BACKEND_UNAVAILABLE"
    UNKNOWN_ANATOMY = "E_UNKNOWN_ANATOMY"
    LIMIT = "E_LIMIT"


class ImagingError(UserError):
    """A fault of the input or of the request; the message starts with its code.

    Attributes:
        code: The stable code.
    """

    def __init__(self, code: Code, message: str) -> None:
        self.code = code
        super().__init__(f"{code}: {message}")
