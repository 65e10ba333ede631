"""Boxes in tables: columns by name (``frame x1 y1 x2 y2``, ``slice bbox``), Markdown or comma-separated."""

from __future__ import annotations

import re

from slicewise.parse import frames
from slicewise.parse.box_forms import ROLES, Form, Scan, add, from_fields, groups, plain

_ROW = re.compile(r"(?:\A|(?<=\n))[ \t]*\|?(?P<cells>[^\n|]{0,200}(?:\|[^\n|]{0,200}){1,12})\|?[ \t]*(?=\n|\Z)")
_CSV_HEAD = re.compile(
    r"(?:\A|(?<=\n))[ \t]*(?P<cells>[A-Za-z_][\w ]{0,20}(?:,[ \t]?[A-Za-z_][\w ]{0,20}){3,8})[ \t]*\n"
)
_FRAME_COLUMNS = frozenset(
    ["frame", "frames", "slice", "slices", "image", "frameid", "sliceid", "framenumber", "slicenumber", "no", "z"]
)
_BOX_COLUMNS = frozenset(
    [
        "bbox",
        "box",
        "boundingbox",
        "bbx",
        "coordinates",
        "coords",
        "boxes",
        "bbox2d",
        "location",
        "xyxy",
        "xywh",
        "boundingboxcoordinates",
    ]
)
_LABEL_COLUMNS = ("label", "finding", "name", "class", "abnormality", "description", "object", "type")


def scan(text: str, shown: frames.Shown, out: Scan) -> None:
    """Add the boxes of all tables of a text: Markdown rows and comma-separated lines under a header."""
    head: list[str] | None = None
    last = -1
    for match in _ROW.finditer(text) if "|" in text else ():
        cells = [cell.strip(" *`\t") for cell in match["cells"].split("|")]
        if head is not None and match.start() - last <= 2 and len(cells) == len(head):
            if not all(set(cell) <= set("-: ") for cell in cells):
                _row(dict(zip(head, cells, strict=True)), match, shown, out)
        else:
            head = _header(cells)
        last = match.end()
    for match in _CSV_HEAD.finditer(text):
        head = _header([cell.strip() for cell in match["cells"].split(",")])
        at = match.end()
        while head is not None and (row := re.compile(r"[^\n]{1,200}(?=\n|\Z)").match(text, at)):
            cells = [cell.strip() for cell in row[0].split(",")]
            if len(cells) != len(head):
                break
            _row(dict(zip(head, cells, strict=True)), row, shown, out)
            at = row.end() + 1


def _header(cells: list[str]) -> list[str] | None:
    names = [re.sub(r"\(.*?\)", "", cell) for cell in cells]
    known = [plain(name) for name in names]
    roles = {ROLES.get(name) for name in known} - {None}
    if len(roles) >= 4 or any(name in _BOX_COLUMNS for name in known):
        return [name if name else f"column {i}" for i, name in enumerate(names)]
    return None


def _row(fields: dict[str, str], match: re.Match[str], shown: frames.Shown, out: Scan) -> None:
    named = {plain(name): value for name, value in fields.items()}
    boxes: list[tuple[tuple[float, ...] | None, Form]] = []
    direct = from_fields(fields)
    if direct is not None:
        boxes = [direct]
    else:
        cell = next((named[key] for key in named if key in _BOX_COLUMNS), "")
        form = {"xyxy": Form.CORNERS, "xywh": Form.ANCHOR_SIZE}
        key = next((key for key in named if key in _BOX_COLUMNS), "")
        if any(c.isdigit() for c in cell):
            boxes = [
                (n, form.get(key, f) if f is Form.DECLARED else f) for n, f in groups(re.sub(r"</?\w{2,12}>", "", cell))
            ]
    at = next((frames.of_field(named[key], shown) for key in named if key in _FRAME_COLUMNS), None)
    label = next((named[key] for key in _LABEL_COLUMNS if key in named), None)
    for numbers, form_found in boxes:
        made = add(out, *match.span(), numbers, form_found)
        made.frames, made.label, made.rung = at, label or None, "table"
