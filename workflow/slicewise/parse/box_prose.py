"""Boxes in prose: bracketed lists, corner points, named coordinates, centre and size, tables, bare numbers after a cue.

Four numbers anywhere are not a box (om-ai-lab/VLM-R1#124): there must be a bracket, a name, or a cue word.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from slicewise.parse import box_tables, frames
from slicewise.parse.box_forms import (
    NUMBER,
    ROLES,
    SEPARATOR,
    UNIT,
    Candidate,
    Form,
    Scan,
    add,
    blanked,
    from_fields,
    from_pairs,
    groups,
    numbers_in,
    plain,
)

_NUM = NUMBER + UNIT
_QUOTED = rf"[\"']?{_NUM}[\"']?"
_LIST = re.compile(
    rf"[\[({{]\s{{0,5}}(?P<body>{_QUOTED}(?:{SEPARATOR}{_QUOTED}){{0,40}})\s{{0,5}},?\s{{0,5}}(?P<open>\\?[\])}}]|\Z)"
)
_POINT_GAP = re.compile(
    r"\s{0,5}(?:,|;|:|-{1,2}>?|–|—|→|/|x)?\s{0,5}(?:to|and|through|until|到|至)?\s{0,5}\Z", re.IGNORECASE
)
# "top left corner at x=30, y=40"; with a width after it the four are named fields
_XY = re.compile(
    rf"\bx\s?[=:]\s?(?P<x>{NUMBER}),?\s(?:and\s)?y\s?[=:]\s?(?P<y>{NUMBER})(?!,?\s(?:and\s)?(?:w|h|width|height)\b)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"(?P<low>(?:top|upper)[\s-]?left|(?:left|top)[\s-](?:top|left)|\btl\b|\bstart(?:ing)?\b|\bmin(?:imum)?\b)"
    r"|(?P<high>(?:bottom|lower)[\s-]?right|\bbr\b|\bend(?:ing)?\b|\bmax(?:imum)?\b)"
    r"|(?P<low_right>(?:top|upper)[\s-]?right|\btr\b)"
    r"|(?P<high_left>(?:bottom|lower)[\s-]?left|\bbl\b)"
    r"|(?P<centre>cent(?:er|re)(?:d|ed)?|midpoint|centroid)"
    r"|(?P<size>\bsize|dimensions?|extent|width[\s,and&/]{1,8}height)",
    re.IGNORECASE,
)
_POINT_TEMPLATE = re.compile(
    r"[(\[]\s?x_?(?P<n>0|1|2|min|max)\s?,\s?y_?(?:0|1|2|min|max)\s?[)\]]\s{0,3}(?:=|:|is|at)?\s{0,3}\Z", re.IGNORECASE
)
_UNIT_AFTER = re.compile(
    r"\s?(?:HU|mm|cm|ms|msec|years?|patients|Hz|T\b|kVp|mAs|%|mg|ml|s\b|seconds?)(?![a-z])", re.IGNORECASE
)
_NOT_A_BOX = re.compile(
    r"(?<![a-z])(?:(?:densit\w*|intensit\w*|attenuation\w*|HU|window\w*|spacing|resolution|matrix|measure\w*|thickness"
    r"|means?|ranges?|scores?|ages?|weights?|times?|options?|shape|image size|voxels?|(?:image )?dimensions?"
    r"|probabilit\w*|confidences?)(?:\s(?:values?|levels?|widths?|units?|readings?|sizes?|spacing|in\s\w{1,12})){0,2}"
    r"\s{0,3}(?:of|:|=|were|are|is)?\s{0,3}"
    r"|(?:signal\w*|levels?|volumes?)(?:\s(?:values?|intensit\w*)){0,2}\s{0,3}(?:of|=|were|are)\s{0,3}"
    r"|(?:refs?|references?|citations?|studies)\.?\s{0,3}:?\s{0,3})\Z",
    re.IGNORECASE,
)
_BOX_WORD = re.compile(
    r"\b(?:bbx|bbox\w*|box(?:es)?|bounding|coordinates?|coords?|located|location|region|roi|rect\w*)\b", re.I
)
_TEMPLATE = re.compile(
    r"[\[({]\s?(?P<names>(?:[a-zA-Z]{1,8}[_ ]?(?:\d|min|max|left|right|top|bottom|center"
    r"|centre)?)(?:\s?,\s?[a-zA-Z]{1,8}[_ ]?(?:\d|min|max|left|right|top|bottom)?){3})\s?[\])}]"
)
_TEMPLATE_BEFORE = re.compile(
    r"(?P<t>[\[({][^\[\](){}\d]{0,30}\d?[^\[\](){}]{1,50}[\])}])\s{0,3}(?:=|:|is|are|format:?)?\s{0,3}\Z"
)
_FIELD_NAME = (
    r"(?:[xy][\s_]?(?:min|max|\d|left|right|top|bottom|start|end|cent(?:er|re)|c)?|(?:min|max|left|top|right"
    r"|bottom|cent(?:er|re)|c)[\s_]?[xy]"
    r"|left|top|right|bottom|width|height|[wh])"
)
_FIELD = re.compile(
    rf"(?<![\w])(?P<name>{_FIELD_NAME})\s{{0,3}}(?:=|:|\bis\b|\bof\b|\bat\b|→"
    rf"|->)?\s{{0,3}}[\"']?(?P<value>{NUMBER}){UNIT}",
    re.IGNORECASE,
)
_FIELD_GAP = re.compile(
    r"[\s,;/|&\"')(]{0,8}(?:and|by|with|the|px|pixels|corner|edge|coordinate)?[\s,;:\"'(]{0,8}\Z", re.IGNORECASE
)
_SPAN = (
    rf"(?:[\s-]?(?:range|axis|coordinates?|direction|extent))?\s{{0,3}}(?:=|:|∈|\bin\b|\bfrom\b|\bbetween\b"
    rf"|\bspan\w*\b|\branges? from\b)?\s{{0,3}}[\[(]?\s?({NUMBER})(?:\s?px)?\s{{0,3}}(?:-|–|—|to|and|,|\.\."
    rf"|~)\s{{0,3}}(?:[xy]\s?[=:]\s?)?({NUMBER})(?:\s?px)?\s?[\])]?"
)
_AXES = re.compile(
    rf"\bx{_SPAN}(?P<gap>[\s,;]{{1,5}}(?:and\s)?)y{_SPAN}|\by{_SPAN}[\s,;]{{1,5}}(?:and\s)?x{_SPAN}", re.IGNORECASE
)
_WIDE = re.compile(
    rf"({NUMBER})\s?(?:px|pixels?)?\s?(?:-\s?)?(?:wide|in width|width)\b|\bwidth\s?(?:of|is|="
    rf"|:)?\s?(?:about |approximately |~)?({NUMBER})",
    re.I,
)
_TALL = re.compile(
    rf"({NUMBER})\s?(?:px|pixels?)?\s?(?:-\s?)?(?:tall|high|in height|height)\b|\bheight\s?(?:of|is|="
    rf"|:)?\s?(?:about |approximately |~)?({NUMBER})",
    re.I,
)
_BY = re.compile(rf"({NUMBER})\s?(?:px|pixels?)?\s?(?:x|×|\*|by)\s?({NUMBER})\s?(?:px|pixels?|box)?", re.IGNORECASE)
_CUE = re.compile(
    r"\b(?P<cue>bbx|bbox(?:_2d)?|bounding[\s_-]box|box(?:_2d)?|coordinates?|coords|xyxy|xywh"
    r"|roi)\b[^\d\[\](){}\n<>|]{0,30}?(?<![\w.\-])"
    rf"(?P<body>{_NUM}(?:{SEPARATOR}{_NUM}){{3,8}})(?=\s*(?:\n|\Z|[;)\].]|,?\s*[A-Za-z\"'“]))",
    re.IGNORECASE,
)
_TWO_PAIRS = re.compile(
    rf"\b(?:bbx|bbox|box|coordinates?|coords"
    rf"|roi)\b[^\d\[\](){{}}\n]{{0,20}}?(?P<body>{NUMBER}\s?,\s?{NUMBER}\s{{0,3}}(?:-|–|to"
    rf"|→)\s{{1,3}}{NUMBER}\s?,\s?{NUMBER})(?![,\d])",
    re.IGNORECASE,
)
_LINE = re.compile(
    rf"(?:\A|\n|:)[ \t*\-•]{{0,6}}(?P<body>{_NUM}(?:[ \t]{{0,5}}[,;][ \t]{{0,5}}{_NUM}"
    rf"|[ \t]{{1,5}}{_NUM}){{3}})[ \t]{{0,5}}[;.]?[ \t]{{0,5}}(?=\n|\Z)"
)


@dataclass(slots=True)
class _Point:
    start: int
    end: int
    values: tuple[float, ...]
    role: str | None


def scan(text: str, shown: frames.Shown) -> Scan:
    """All boxes in prose; spans that other readers own must be blanked already."""
    out = Scan()
    if not any(c.isdigit() for c in text):
        if _TEMPLATE.search(text):
            out.flag("template_echo")
        return out
    if "|" in text or "," in text:
        box_tables.scan(text, shown, out)
    text = blanked(text, out.claimed)
    _brackets(text, out)
    rest = blanked(text, out.claimed)
    _named(rest, out)
    rest = blanked(rest, out.claimed)
    _bare(rest, out)
    if not out.candidates and _template(text):
        out.flag("template_echo")
    out.candidates.sort(key=lambda c: c.start)
    return out


def _template(text: str) -> bool:
    return any("x" in match["names"].lower() and "y" in match["names"].lower() for match in _TEMPLATE.finditer(text))


# --- brackets and points ---------------------------------------------------------------------------------------------


def _brackets(text: str, out: Scan) -> None:
    points = [_Point(*m.span(), (float(m["x"]), float(m["y"])), _role(text, m.start())) for m in _XY.finditer(text)]
    for p in points:
        if text[max(0, p.start - 1) : p.start] == "(" and text[p.end : p.end + 1] == ")":
            p.start, p.end = p.start - 1, p.end + 1
    corners = ("low", "high", "low_right", "high_left")
    points = [p for p in points if p.role in corners or text[p.start] == "("]
    for match in _LIST.finditer(text):
        if not match["open"]:
            out.flag("truncated")
            if text[match.start()] == "[" and numbers_in(match["body"]):
                add(out, *match.span(), None, Form.DECLARED)
            continue
        values = numbers_in(match["body"])
        if len(values) == 2:
            points.append(_Point(*match.span(), values, _role(text, match.start())))
        elif len(values) >= 3 and not _measured(text, match.start(), match.end()):
            _quads(text, match, out)
    _points(text, sorted(points, key=lambda p: p.start), out)


def _quads(text: str, match: re.Match[str], out: Scan) -> None:
    if text[match.start()] == "(" and len(numbers_in(match["body"])) != 4:
        return
    form = _form_before(text, match.start())
    for numbers, found in groups(match["body"]):
        add(out, *match.span(), numbers, form if found is Form.DECLARED else found)


def _measured(text: str, start: int, end: int) -> bool:
    """Whether a list of numbers is something measured rather than a place."""
    if _UNIT_AFTER.match(text, end):
        return True
    before = text[max(0, start - 60) : start]
    return _NOT_A_BOX.search(before) is not None and _BOX_WORD.search(before[-25:]) is None


_TEMPLATE_FORMS: dict[tuple[str, ...], Form] = {
    ("x0", "y0", "x1", "y1"): Form.CORNERS,
    ("first_x", "first_y", "second_x", "second_y"): Form.CORNERS,
    ("x0", "y0", "first_x", "first_y"): Form.CORNERS,
    ("x", "y", "w", "h"): Form.ANCHOR_SIZE,
    ("x0", "y0", "w", "h"): Form.CORNER_SIZE,
    ("cx", "cy", "w", "h"): Form.CENTRE_SIZE,
}


def _form_before(text: str, start: int) -> Form:
    """The order that a literal template right before the numbers names, as in ``[x, y, w, h] = [10, 20, 30, 40]``."""
    match = _TEMPLATE_BEFORE.search(text[max(0, start - 70) : start])
    if match is None:
        return Form.DECLARED
    names = tuple(ROLES.get(plain(name), "") for name in match["t"][1:-1].split(","))
    return _TEMPLATE_FORMS.get(names, Form.DECLARED)


def _role(text: str, start: int) -> str | None:
    before = text[max(0, start - 40) : start]
    template = _POINT_TEMPLATE.search(before)
    if template:
        return "low" if template["n"] in ("0", "1", "min") else "high"
    cut = max(before.rfind(")"), before.rfind("]"), before.rfind("\n"))
    roles = [match.lastgroup for match in _ROLE.finditer(before, cut + 1)]
    return roles[-1] if roles else None


def _points(text: str, points: list[_Point], out: Scan) -> None:
    i = 0
    while i < len(points):
        taken = _pair(text, points, i, out)
        i += taken


def _pair(text: str, points: list[_Point], i: int, out: Scan) -> int:
    """Make a box from the points at ``i`` if they are one; returns how many points were used."""
    here = points[i]
    after = points[i + 1] if i + 1 < len(points) else None
    if after is not None and after.start - here.end <= 60 and after.role != "centre":
        roles = {here.role: here.values, after.role: after.values}
        if "low" in roles and "high" in roles:
            add(out, here.start, after.end, (*roles["low"], *roles["high"]), Form.POINTS)
            return 2
        if "low_right" in roles and "high_left" in roles:
            right, left = roles["low_right"], roles["high_left"]
            add(out, here.start, after.end, (left[0], right[1], right[0], left[1]), Form.POINTS)
            return 2
        if here.role == "centre" and after.role == "size":
            add(out, here.start, after.end, (*here.values, *after.values), Form.CENTRE_SIZE)
            return 2
        if here.role == "low" and after.role == "size":
            add(out, here.start, after.end, (*here.values, *after.values), Form.CORNER_SIZE)
            return 2
        if here.role != "centre" and _POINT_GAP.match(text[here.end : after.start]):
            return _run(text, points, i, out)
    sized = _sized(text, here)
    if sized is not None:
        out.candidates.append(sized)
        out.claimed.append((sized.start, sized.end))
    elif here.role != "size":
        out.flag("point_only")
    return 1


def _run(text: str, points: list[_Point], i: int, out: Scan) -> int:
    """Points in a row: one box per two, or the four corners of one rectangle."""
    end = i + 1
    while end + 1 < len(points) and end - i < 3 and _POINT_GAP.match(text[points[end].end : points[end + 1].start]):
        end += 1
    if end - i == 3:
        four = from_pairs([p.values for p in points[i : end + 1]])
        if len(four) == 1 and four[0][0] is not None:
            add(out, points[i].start, points[end].end, four[0][0], Form.POINTS)
            return 4
    add(out, points[i].start, points[i + 1].end, (*points[i].values, *points[i + 1].values), Form.POINTS)
    return 2


def _sized(text: str, at: _Point) -> Candidate | None:
    """A point with a width and a height in words, after it or right before it."""
    form = {"centre": Form.CENTRE_SIZE, "low": Form.CORNER_SIZE}.get(at.role or "", Form.ANCHOR_SIZE)
    after = text[at.end : at.end + 90].split("\n")[0]
    wide, tall = _WIDE.search(after), _TALL.search(after)
    if wide and tall:
        size = tuple(float(next(g for g in m.groups() if g)) for m in (wide, tall))
        return Candidate(at.start, at.end + max(wide.end(), tall.end()), (*at.values, *size), form)
    by = _BY.search(after)
    if by and form is not Form.ANCHOR_SIZE:
        return Candidate(at.start, at.end + by.end(), (*at.values, float(by[1]), float(by[2])), form)
    low = max(0, at.start - 60)
    before = _BY.search(text, low, at.start)
    if before and form is Form.CENTRE_SIZE:
        return Candidate(before.start(), at.end, (*at.values, float(before[1]), float(before[2])), form)
    return None


# --- names and cues --------------------------------------------------------------------------------------------------


def _named(text: str, out: Scan) -> None:
    for match in _AXES.finditer(text):
        a, b, c, d, e, f, g, h = (match[i] for i in _AXIS_GROUPS)
        x0, x1, y0, y1 = (a, b, c, d) if a else (g, h, e, f)
        if a or g:
            add(out, *match.span(), (float(x0), float(y0), float(x1), float(y1)), Form.CORNERS)
    run: list[re.Match[str]] = []
    text = blanked(text, out.claimed)
    for match in _FIELD.finditer(text):
        if run and not _FIELD_GAP.match(text[run[-1].end() : match.start()]):
            run = []
        run = [*run[-7:], match]
        box = from_fields({m["name"]: float(m["value"]) for m in run}) if len(run) >= 4 else None
        if box is not None:
            add(out, run[0].start(), run[-1].end(), *box)
            run = []


_AXIS_GROUPS = (1, 2, 4, 5, 6, 7, 8, 9)


def _bare(text: str, out: Scan) -> None:
    for match in _CUE.finditer(text):
        values = numbers_in(match["body"])
        form = {"xyxy": Form.CORNERS, "xywh": Form.ANCHOR_SIZE}.get(match["cue"].lower(), Form.DECLARED)
        add(out, match.start("body"), match.end("body"), values if len(values) == 4 else None, form)
    for match in _TWO_PAIRS.finditer(blanked(text, out.claimed)):
        add(out, match.start("body"), match.end("body"), numbers_in(match["body"]), Form.POINTS)
    text = blanked(text, out.claimed)
    for match in _LINE.finditer(text):
        add(out, match.start("body"), match.end("body"), numbers_in(match["body"]), Form.DECLARED)
