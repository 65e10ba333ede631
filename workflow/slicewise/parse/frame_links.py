"""Which frame a box belongs to: the reference that governs it in the text, carried on only as far as it is written.

A reference governs the boxes that follow it in its sentence or under its heading. It reaches over one sentence end
only while no box has used it. A reference right after a box ("[..] on frame 3") belongs to that box.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from slicewise.parse.box_forms import Candidate, merged
from slicewise.parse.frames import JOINS, SPANS, Named, Reference, Shown, find, merge, of_numbers

_SENTENCE_END = re.compile(r"[.!?。](?=\s|\Z)(?<!\bvs\.)(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\bapprox\.)")
_POSTFIX = re.compile(
    r"[\s)>\]*`}\"']{0,6}(?:,|\(|\[|-|–|—|@)?\s{0,3}(?:(?:is|are|was|were)\s)?(?:(?:seen|visible|located"
    r"|present|found|appearing|best seen|shown|identified|noted)\s)?"
    r"(?:(?:on|in|at|for|of|from|across|throughout|over|within|during)\s)?(?:the\s)?[(\[]?\s{0,2}\Z",
    re.IGNORECASE,
)
_HEADER = re.compile(r"[\s*_)\]`\"']{0,6}(?:\([^()\n]{0,40}\)[\s*_]{0,4})?(?::|=|–|—|-|→|\|)")
_HEADER_LINE = re.compile(
    r"[\s*_)\]`\"']{0,6}(?:\([^()\n]{0,40}\)[\s*_]{0,4})?:?[\s*_]{0,4}(?:[^\n:.]{0,80}:)?[ \t*_]{0,6}\n"
)
_LETTERS = re.compile(r"[^\W\d_]")
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_BULLET_GAP = re.compile(r"\A[^\n]{0,160}\n[ \t]{0,12}(?:[-*•–]|\d{1,2}[.)]|[a-z][.)])\s[^\n]{0,160}\Z")


def link(text: str, candidates: list[Candidate], shown: Shown, claimed: list[tuple[int, int]]) -> None:
    """Give every candidate without frames of its own those of the reference that governs it, in place."""
    open_ones = [c for c in candidates if c.frames is None]
    if not open_ones or shown.count == 1:
        return
    references = _outside([r for r in find(text, shown)], merged(claimed))
    if not references:
        return
    _Linker(text, open_ones, _joined(text, references, open_ones), shown).run()


def _outside(references: list[Reference], spans: list[tuple[int, int]]) -> list[Reference]:
    """References that do not stand inside something another reader owns."""
    starts = [start for start, _ in spans]
    kept = []
    for reference in references:
        i = bisect_right(starts, reference.start) - 1
        if i < 0 or spans[i][1] <= reference.start:
            kept.append(reference)
    return kept


def _joined(text: str, references: list[Reference], boxes: list[Candidate]) -> list[Reference]:
    """References that only "and", a comma or a range word separates are one."""
    out: list[Reference] = []
    starts = [box.start for box in boxes]
    for reference in references:
        if out and not reference.other and not out[-1].other:
            between = text[out[-1].end : reference.start]
            free = bisect_right(starts, reference.start) == bisect_right(starts, out[-1].start)
            if len(between) < 24 and free and (JOINS.match(between) or SPANS.match(between)):
                named = merge(out[-1].named, reference.named, as_range=SPANS.match(between) is not None)
                out[-1] = Reference(out[-1].start, reference.end, named)
                continue
        out.append(reference)
    return out


# "slices 3 (box [..]), 4 (box [..])": a bare number between two boxes goes on with the reference before it.
_NEXT_NUMBER = re.compile(
    r"[\s)\]>}*_]{0,4}(?:,|;|and|,\s?and|&|\n[-*•\s]{0,6})\s{0,3}(?P<n>\d{1,4})\s{0,3}(?:[:(=–—-]|at\b"
    r"|box\b)\s{0,3}(?:(?:box|bbox|at|bounding box)\b\s{0,3}[:=]?\s{0,3})?[(\[]?\s{0,2}\Z",
    re.IGNORECASE,
)


class _Linker:
    """One pass over boxes and references in the order of the text."""

    def __init__(self, text: str, boxes: list[Candidate], references: list[Reference], shown: Shown) -> None:
        self.shown = shown
        self.group: list[Candidate] = []  # boxes of the governing reference
        self.text, self.boxes, self.references = text, boxes, references
        self.governing: Reference | None = None
        self.heading = False
        self.used = False
        self.free: list[Candidate] = []  # boxes without a frame that a reference right after them may claim
        self.at = 0

    def run(self) -> None:
        pending = list(self.references)
        i = 0
        for box in self.boxes:
            while i < len(pending) and pending[i].start < box.start:
                self.reference(pending[i])
                i += 1
            self.box(box)
        for reference in pending[i:]:
            self.reference(reference)
        self.share()

    def share(self) -> None:
        """One frame per box, in order, where the text says "respectively"."""
        if self.governing is None or not 1 < len(self.group) == len(self.governing.named.positions):
            return
        around = self.text[self.governing.end : self.group[-1].end + 40]
        if "respectively" in around.lower():
            for box, position in zip(self.group, self.governing.named.positions, strict=True):
                box.frames = Named((position,))

    def reference(self, reference: Reference) -> None:
        if self.free and not reference.other and self.is_postfix(reference):
            for box in self.free:
                box.frames = reference.named
            self.free = []
            self.governing, self.at = None, reference.end
            return
        self.free = []
        self.share()
        self.group = []
        self.governing, self.used, self.at = reference, False, reference.end
        line_start = self.text.rfind("\n", 0, reference.start) + 1
        opens_line = not _LETTERS.search(self.text[line_start : reference.start])
        self.heading = opens_line and _HEADER_LINE.match(self.text, reference.end) is not None

    def is_postfix(self, reference: Reference) -> bool:
        between = self.text[self.free[-1].end : reference.start]
        if len(between) > 40 or not _POSTFIX.match(between):
            return False
        header = _HEADER.match(self.text, reference.end)
        return header is None or "(" in between

    def box(self, box: Candidate) -> None:
        gap = self.text[self.at : box.start] if box.start > self.at else ""
        number = _NEXT_NUMBER.match(gap) if self.used and self.governing is not None else None
        if number is not None:
            box.frames = of_numbers(number["n"], self.shown)
        elif self.governing is not None and self.reaches(gap):
            self.group.append(box)
            box.frames = None if self.governing.other else self.governing.named
            self.used = True
            self.free = []
        else:
            if self.used:
                self.governing = None
            if self.free and _SENTENCE_END.search(gap):
                self.free = []
            self.free.append(box)
        self.at = max(self.at, box.end)

    def reaches(self, gap: str) -> bool:
        """Whether the governing reference still holds at the end of the gap."""
        if len(gap) > 600:
            return False
        if self.heading:
            return not _BLANK_LINE.search(gap) or not self.used
        ends = len(_SENTENCE_END.findall(gap))
        if not self.used:
            return ends <= 1 or not _LETTERS.search(gap)
        if ends:
            return False
        return "\n" not in gap or not _LETTERS.search(gap) or (_BULLET_GAP.match(gap) is not None and "\n\n" not in gap)
