"""Boxes and their frames: the family's tags, then JSON, then prose; one decoder per declared convention.

The declared convention decides, never the numbers. What a text names itself ("centre", ``x1``, ``width``) settles the
order of four numbers, not their unit. A box belongs to the frame that the text names for it; on a volume a box for
which none is named keeps ``frame=None`` and matches nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from slicewise.geometry import BadBox, Box, Convention, Corners, Settled, Size, decode, extent, settle, span
from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import box_prose, box_tags, frames, jsonish, signals
from slicewise.parse.box_forms import Candidate, Scan, blanked, in_declared_order
from slicewise.parse.box_json import JsonBoxes
from slicewise.parse.clean import Clean, clean
from slicewise.parse.frame_links import link

_FINAL = re.compile(
    r"\b(?:final (?:answer|box(?:es)?|bounding box(?:es)?|coordinates?|location)|(?:the )?answer is"
    r"|answer\s{0,3}:)|<answer>|\\boxed\{",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\b(?:on (?:review|reflection|second thought|closer (?:inspection|look|review))"
    r"|corrected?(?: to)?\b(?! for)|correction|revised?|refined?"
    r"|(?:let me|i(?:'ll| will)) (?:correct|revise|adjust|refine)|updated? (?:box|to)"
    r"|should (?:actually )?be|actually|instead|rather|wait)\b",
    re.IGNORECASE,
)
_DRAFT = re.compile(
    r"\b(?:initial(?:ly)?|at first|first (?:i )?(?:marked|thought|guess|estimate)|draft|originally"
    r"|previously|my first|preliminary|rough(?:ly)?)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|rather than|instead of)\s(?:(?:at|in|on|the|box|inside|within|bounding|bbox)[\s:]){0,4}[\[(<]?\Z",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\A\W*(?:answer\W+)?(?:none|no (?:\w+ ){0,4}?(?:box(?:es)?|finding\w*|lesion\w*|abnormal\w*|object\w*"
    r"|detection\w*|region\w*|evidence|mass\w*|"
    r"fracture\w*|injur\w*|effusion|edema|tear\w*|patholog\w*)|not? (?:applicable|found|present|visible)|n/a"
    r"|nothing|\[\s*\]|\{\s*\})",
    re.IGNORECASE,
)
_NO_BOX = re.compile(
    r"\b(?:no (?:bounding )?(?:box(?:es)?|findings? to locali[sz]e|abnormalit(?:y|ies)|lesions?|focal lesions?)"
    r"|(?:nothing|none) to (?:locali[sz]e|annotate|mark)|(?:cannot|can't|do not|don't) (?:see|locate"
    r"|identify|find|detect) any|there (?:is|are) no\b[^.\n]{0,60}(?:visible|seen"
    r"|present|identified|detected|to locali[sz]e)"
    r"|(?:scan|study|image|slice|volume|knee|brain) (?:is|appears|looks) (?:entirely |completely )?normal)\b",
    re.IGNORECASE,
)
_GRIDS = (999.0, 1000.0)


@dataclass(frozen=True, slots=True)
class BoxContext:
    """What is known about an item before its text is read.

    Attributes:
        convention: The declared convention of the model.
        sizes: Native width and height of each frame shown; ``None`` where it is unknown, which only conventions in
            original pixels allow: nothing is clipped or rejected there.
        sent: Sizes as sent, per frame; empty when they were sent at their native size.
        frame_base: The number that the text gives to the first frame.
        fps: Frames per second, only when declared; without it a timestamp is no frame.
        question_frame: The one frame that the question names, as written.
        polygon: Quadrilaterals count as their enclosing box.
    """

    convention: Convention
    sizes: tuple[Size | None, ...]
    sent: tuple[Size, ...] = ()
    frame_base: int = 1
    fps: float | None = None
    question_frame: int | None = None
    polygon: bool = False

    @property
    def shown(self) -> frames.Shown:
        """The frames as the text can name them."""
        return frames.Shown(len(self.sizes), self.frame_base, self.fps)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A box that was written but does not count as one.

    Attributes:
        frame: 0-based position, or ``None``.
        text: What was written, shortened.
        reason: ``outside_image``, ``no_overlap``, ``frame_out_of_range`` or ``malformed``.
    """

    frame: int | None
    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class BoxesReading:
    """The boxes of a text.

    Attributes:
        reading: The boxes; ``[]`` is a statement that there is none, no value means that nothing could be read.
        rejected: Boxes that were written and do not count.
        emitted: Boxes written, once per frame, before duplicates collapse and with those rejected; malformed ones are
            not boxes and are not in it.
        spans: Where boxes stand in the cleaned text.
    """

    reading: Reading[list[Box]]
    rejected: tuple[Rejected, ...] = ()
    emitted: int = 0
    spans: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class _Found:
    """All candidates of a text with where they were found."""

    candidates: list[Candidate] = field(default_factory=list)
    flags: dict[str, None] = field(default_factory=dict)
    claimed: list[tuple[int, int]] = field(default_factory=list)
    stage: str = "prose"


def read_boxes(text: str | Clean | None, context: BoxContext) -> BoxesReading:
    """Read the boxes of a model's text.

    Args:
        text: The text, cleaned or not.
        context: Declared convention, frame sizes and numbering.

    Returns:
        Boxes in native pixels with 0-based frame positions.
    """
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return BoxesReading(failed(cleaned.outcome, cleaned.stage, *cleaned.flags))
    found = locate(cleaned.text, context)
    return _decoded(cleaned, found, context)


def reread(text: str | Clean | None, context: BoxContext, convention: Convention) -> BoxesReading:
    """The same text under another convention: for the convention warning only, never for a score."""
    return read_boxes(text, replace(context, convention=convention))


def locate(text: str, context: BoxContext) -> _Found:
    """Find the candidates of a cleaned text and link them to frames."""
    found = _Found()
    body = re.sub(r"<\|(?:begin|end)_of_box\|>", lambda m: " " * len(m[0]), text) if "_of_box|>{" in text else text
    tags = box_tags.scan(body, polygon=context.polygon, shown=context.shown)
    _take(found, tags)
    rest = blanked(body, tags.claimed, "\1")
    spans, json_scan, nested = _json(rest, context)
    _take(found, json_scan)
    found.claimed += [(start, end) for start, end in spans if any(start <= c.start < end for c in json_scan.candidates)]
    prose = box_prose.scan(blanked(rest, spans, "\1"), context.shown)
    _take(found, prose)
    if not found.candidates and nested:
        _nested(found, nested, context)
    else:
        found.candidates.sort(key=lambda c: (c.start, c.end))
        link(text, found.candidates, context.shown, found.claimed)
    found.candidates = _latest(text, found.candidates)
    found.stage = min((c.rung for c in found.candidates), key=_RUNGS.index, default="prose")
    return found


_RUNGS = ("tag", "json", "json_text", "table", "prose")


def _take(found: _Found, scan: Scan) -> None:
    found.candidates += scan.candidates
    found.claimed += scan.claimed
    found.flags.update(scan.flags)


def _json(text: str, context: BoxContext) -> tuple[list[tuple[int, int]], Scan, list[tuple[str, tuple[int, int]]]]:
    """Boxes of every JSON value, the spans of values that held some, and strings to read when there were none."""
    out = Scan()
    spans: list[tuple[int, int]] = []
    nested: list[tuple[str, tuple[int, int]]] = []
    for value in jsonish.find(text) if "{" in text or '":' in text else ():
        before, flags = len(out.candidates), set(out.flags)
        reader = JsonBoxes((value.start, value.end), context.shown, out)
        reader.collect(value.value)
        spans.append((value.start, value.end))
        if len(out.candidates) > before or set(out.flags) - flags:
            out.flags.update(value.repairs)
        if len(out.candidates) == before:
            nested += [(leaf, (value.start, value.end)) for leaf in reader.texts]
    return spans, out, nested


def _nested(found: _Found, nested: list[tuple[str, tuple[int, int]]], context: BoxContext) -> None:
    """Boxes inside the strings of a JSON answer."""
    for leaf, where in nested:
        tags = box_tags.scan(leaf, polygon=context.polygon, shown=context.shown)
        prose = box_prose.scan(blanked(leaf, tags.claimed, "\1"), context.shown)
        inner = sorted([*tags.candidates, *prose.candidates], key=lambda c: (c.start, c.end))
        link(leaf, inner, context.shown, [*tags.claimed, *prose.claimed])
        for candidate in inner:
            candidate.start, candidate.end = where
            candidate.rung = "json_text"
        found.candidates += inner
        found.flags.update({**tags.flags, **prose.flags})


def _latest(text: str, candidates: list[Candidate]) -> list[Candidate]:
    """Without drafts: what stands before an explicit correction or before the final answer is withdrawn."""
    if len(candidates) < 2 or candidates[0].start == candidates[-1].start:
        return candidates
    candidates = [c for c in candidates if not _DENIED.search(text[max(0, c.start - 30) : c.start])] or candidates
    start = 0
    finals = [m.end() for m in _FINAL.finditer(text)]
    after = [i for i, c in enumerate(candidates) if finals and c.start >= finals[-1] - 1]
    if after:
        start = after[0]
    for i in range(max(start, 1), len(candidates)):
        gap = text[candidates[i - 1].end : candidates[i].start][:400]
        if len(gap) > 3 and _CORRECTION.search(gap):
            lead = text[max(0, candidates[start].start - 60) : candidates[start].start]
            if _DRAFT.search(lead) or re.search(
                r"review|correct|revis|refine|second thought|closer|wait", gap, re.IGNORECASE
            ):
                start = i
    return candidates[start:]


def _decoded(cleaned: Clean, found: _Found, context: BoxContext) -> BoxesReading:
    flags = [*cleaned.flags, *found.flags]
    boxes: dict[tuple[int | None, float, float, float, float], Box] = {}
    rejected: list[Rejected] = []
    emitted = repeats = malformed = 0
    for candidate in found.candidates:
        written = cleaned.text[candidate.start : candidate.end][:120]
        if candidate.numbers is None:
            malformed += 1
            rejected.append(Rejected(None, written, "malformed"))
            continue
        places, outside, noticed = _places(candidate, context)
        flags += noticed
        emitted += len(places) + outside
        rejected += [Rejected(None, written, "frame_out_of_range")] * outside
        for place in places:
            box, reason, noticed = _box(candidate, place, context)
            flags += noticed
            if reason == "not_finite" or reason == "not_four_numbers" or reason == "no_patch_index":
                malformed, emitted = malformed + 1, emitted - 1
                rejected.append(Rejected(place, written, "malformed"))
            elif box is None:
                rejected.append(Rejected(place, written, reason or "outside_image"))
            elif box.key in boxes:
                repeats += 1
            else:
                boxes[box.key] = box
    if repeats:
        flags.append(f"duplicates_removed:{repeats}")
    if malformed:
        flags.append(f"invalid_dropped:{malformed}")
    reading = _outcome(cleaned, list(boxes.values()), emitted, flags, found.stage)
    return BoxesReading(reading, tuple(rejected), emitted, tuple((c.start, c.end) for c in found.candidates))


def _places(candidate: Candidate, context: BoxContext) -> tuple[list[int | None], int, list[str]]:
    """The frames of a candidate: positions, how many named ones do not exist, flags."""
    if len(context.sizes) == 1:
        return [0], 0, []
    named = candidate.frames
    if named is not None and (named.positions or named.outside):
        return list(named.positions), named.outside, list(named.flags)
    flags = [*(named.flags if named else ()), "frame_missing"]
    if context.question_frame is not None and (named is None or not named.flags):
        position = context.question_frame - context.frame_base
        if 0 <= position < len(context.sizes):
            return [position], 0, ["frame_from_question"]
    return [None], 0, flags


def _box(candidate: Candidate, place: int | None, context: BoxContext) -> tuple[Box | None, str | None, list[str]]:
    numbers = in_declared_order(candidate.numbers or (), candidate.form, context.convention)
    native = context.sizes[place or 0]
    sent = context.sent[place or 0] if context.sent else None
    try:
        corners: Corners = decode(numbers, context.convention, sent=sent, native=native or (1, 1))
    except BadBox as error:
        return None, str(error), []
    flags = ["scale_suspect"] if _suspect(numbers, context.convention) else []
    settled = (
        _sorted(corners)
        if native is None
        else settle(corners, native=native, covered=extent(context.convention, native))
    )
    flags += settled.flags
    if settled.corners is None:
        return None, settled.reason, flags
    return Box(place, *settled.corners, label=candidate.label), None, flags


def _sorted(corners: Corners) -> Settled:
    """The rules that need no image size."""
    x0, y0, x1, y1 = corners
    inverted = ("inverted_repaired",) if x0 > x1 or y0 > y1 else ()
    flat = ("zero_area",) if x0 == x1 or y0 == y1 else ()
    return Settled((min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)), (*inverted, *flat))


def _suspect(numbers: tuple[float, ...], convention: Convention) -> bool:
    """Whether the numbers look like another unit than the declared one: flagged, never rescaled."""
    whole = span(convention)
    if whole in _GRIDS:
        return max(numbers) <= 1 and any(n != int(n) for n in numbers)
    return whole == 1.0 and max(numbers) > 1.5


def _outcome(cleaned: Clean, boxes: list[Box], emitted: int, flags: list[str], stage: str) -> Reading[list[Box]]:
    text = cleaned.text
    if boxes or emitted:
        if signals.loops(text):
            flags.append("loop")
        return ok(boxes, stage, *flags)
    malformed = any(flag.startswith("invalid_dropped") for flag in flags)
    if not malformed and ("explicit_empty" in flags or _NONE.match(text) or _NO_BOX.search(text[:2000])):
        return ok([], "explicit_empty", *flags, "explicit_empty")
    if signals.refuses(text):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    if "truncated" in flags or signals.open_ended(text):
        return failed(Outcome.TRUNCATED, "none", *flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *flags)
