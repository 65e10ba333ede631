"""Boxes in JSON objects of any shape: flat, nested, parallel lists, named corners, frames as fields or as keys."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from slicewise.parse import frames
from slicewise.parse.box_forms import ROLES, Candidate, Form, Scan, from_fields, from_pairs, groups, number, plain
from slicewise.parse.jsonish import CutDict, CutList

BOX_KEYS = frozenset([
    "bbox", "bbox2d", "box", "box2d", "boxes", "bboxes", "boundingbox", "boundingboxes", "bndbox", "bb",
    "bboxlist", "boxlist", "bbx", "bbxs", "rect", "rectangle", "bbox2ds", "boxes2d", "bboxes2d",
])  # fmt: skip
_SOFT_KEYS = frozenset([
    "position", "positions", "location", "locations", "coordinates", "coords", "coordinate", "region",
    "regions", "roi", "area",
])  # fmt: skip
_ORDERED_KEYS = {
    "xyxy": Form.CORNERS, "bboxxyxy": Form.CORNERS, "boxxyxy": Form.CORNERS, "xywh": Form.CORNER_SIZE,
    "bboxxywh": Form.CORNER_SIZE, "boxxywh": Form.CORNER_SIZE, "cxcywh": Form.CENTRE_SIZE,
    "bboxcxcywh": Form.CENTRE_SIZE,
}  # fmt: skip
FRAME_KEYS = frozenset([
    "frame", "frames", "frameid", "frameids", "frameindex", "frameindices", "frameidx", "framenumber",
    "framenumbers", "frameno", "framenum", "slice", "slices", "sliceid", "sliceindex", "sliceindices",
    "sliceidx", "slicenumber", "slicenumbers", "sliceno", "slicenum", "image", "images", "imageid",
    "imageindex", "imageidx", "imagenumber", "img", "imgid", "imgidx", "z", "zindex", "slicerange",
    "framerange", "framelist", "slicelist", "index", "idx",
])  # fmt: skip
TIME_KEYS = frozenset(["time", "timestamp", "timestamps", "t", "seconds", "sec", "timesec", "ts", "timeseconds"])
_FIRST_KEYS = frozenset(
    ["startframe", "framestart", "startslice", "slicestart", "firstframe", "firstslice", "fromframe", "zstart", "zmin"]
)
_LAST_KEYS = frozenset(
    ["endframe", "frameend", "endslice", "sliceend", "lastframe", "lastslice", "toframe", "zend", "zmax"]
)
_LABEL_KEYS = (
    "label", "labels", "name", "class", "category", "finding", "findings", "object", "type", "description",
    "abnormality", "text",
)  # fmt: skip
_POINT_KEYS = frozenset(["point", "point2d", "points", "points2d", "keypoints", "keypoint"])
REASONING_KEYS = frozenset(
    ["reasoning", "thought", "thoughts", "thinking", "think", "rationale", "explanation", "analysis", "reason"]
)
_CORNER_KEYS = frozenset(["corners", "vertices", "polygon", "cornerpoints"])
_FRAME_AS_KEY = re.compile(r"\s*(?:frame|slice|image|img)s?[\s_#.-]{0,3}\d", re.IGNORECASE)
# Keys whose object may be keyed by label; the outermost object has none.
_CONTAINERS = frozenset(
    ["", "detections", "findings", "objects", "results", "annotations", "answer", "predictions", "abnormalities",
     "lesions", "localization", "localizations", "slices", "frames", "images", "output", "labels",
     *BOX_KEYS, *_SOFT_KEYS]
)  # fmt: skip
_MEASURED = re.compile(
    r"densit|intensit|window|range|spacing|size|shape|dimension|score|\bhu\b|confiden|probab|crop|resolution|affine"
    r"|origin|time|date|slice|frame|point|count|ids?\b|volume|mean|std",
    re.IGNORECASE,
)
_EMPTY_WORDS = re.compile(r"\s*(?:none|null|n/?a|no\b.{0,40}|not\b.{0,40}|nothing|empty|-)?\s*\.?\s*\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Inherited:
    frames: frames.Named | None = None
    label: str | None = None
    in_frames: bool = False  # inside an object whose keys are frame numbers
    key: str = ""


class JsonBoxes:
    """Collects the boxes of one JSON value."""

    def __init__(self, span: tuple[int, int], shown: frames.Shown, out: Scan) -> None:
        self.span, self.shown, self.out = span, shown, out
        self.texts: list[str] = []  # strings that may hold boxes of another syntax
        self.stack: list[tuple[Any, _Inherited]] = []

    def collect(self, value: Any) -> None:
        """Walk the value without recursion, in its own order."""
        self.stack = [(value, _Inherited())]
        while self.stack:
            node, inherited = self.stack.pop()
            if isinstance(node, dict):
                self.stack += reversed(self.object(node, inherited))
            elif isinstance(node, list):
                if inherited.key in BOX_KEYS or inherited.key in _ORDERED_KEYS or inherited.in_frames:
                    form = _ORDERED_KEYS.get(inherited.key, Form.DECLARED)
                    self.stack += reversed(self.boxes(node, inherited, form, soft=False))
                else:
                    self.stack += [(item, inherited) for item in reversed(node)]
            elif isinstance(node, str) and inherited.key not in REASONING_KEYS:
                self.texts.append(node)

    def add(self, numbers: tuple[float, ...] | None, form: Form, inherited: _Inherited) -> None:
        """Note one box or malformed box."""
        self.out.candidates.append(
            Candidate(*self.span, numbers, form, frames=inherited.frames, label=inherited.label, rung="json")
        )

    def object(self, node: dict[str, Any], inherited: _Inherited) -> list[tuple[Any, _Inherited]]:
        """Read one object; returns its children that are still to be walked."""
        keys = {name: plain(name) for name in node}
        own = replace(inherited, key="", in_frames=False)
        named = self.frames_of(node, keys)
        if named is not None:
            own = replace(own, frames=named)
        label = next(
            (node[n] for want in _LABEL_KEYS for n, k in keys.items() if k == want and isinstance(node[n], str)), None
        )
        if label is not None:
            own = replace(own, label=label.strip() or None)
        if isinstance(node, CutDict) and own.frames is None and self.shown.count > 1:
            self.out.flag("truncated")
        if self.parallel(node, keys, own):
            return []
        corners = from_fields(node)
        if corners is not None:
            self.add(*corners, own)
        children: list[tuple[Any, _Inherited]] = []
        for name, key in keys.items():
            children += self.field(name, key, node[name], own, inherited, has_box=corners is not None)
        return children

    def field(
        self, name: str, key: str, value: Any, own: _Inherited, inherited: _Inherited, *, has_box: bool
    ) -> list[tuple[Any, _Inherited]]:
        """Read one field of an object; returns its children that are still to be walked."""
        if key in BOX_KEYS or key in _ORDERED_KEYS or key in _SOFT_KEYS:
            return self.box_field(key, value, own)
        if key in _CORNER_KEYS and isinstance(value, list):
            self.corner_list(value, own)
            return []
        if key in _POINT_KEYS and not has_box:
            self.out.flag("point_only")
            return []
        if _FRAME_AS_KEY.match(name) or (inherited.key in ("frames", "slices", "images") and name.strip().isdigit()):
            at = frames.of_field(name, self.shown)
            return [(value, replace(own, frames=at, in_frames=True, key=""))]
        if key in REASONING_KEYS or (key in ROLES and not isinstance(value, (dict, list))):
            return []
        if isinstance(value, list) and self.keyed_by_label(name, value, own, inherited):
            return []
        if isinstance(value, (dict, list)):
            return [(value, replace(own, key=key))]
        if isinstance(value, str) and key not in _LABEL_KEYS[:8] and key not in FRAME_KEYS:
            self.texts.append(value)
        return []

    def keyed_by_label(self, name: str, value: list[Any], own: _Inherited, inherited: _Inherited) -> bool:
        """Read ``{"cyst": [100, 200, 300, 400]}``: the key is what the box shows, or the number of its frame."""
        quads = value if all(isinstance(item, list) and len(item) == 4 for item in value) else [value]
        if not quads or any(len(quad) != 4 or any(number(v) is None for v in quad) for quad in quads):
            return False
        if (
            isinstance(value, CutList)
            or _MEASURED.search(name)
            or not (inherited.key in _CONTAINERS or name.strip().isdigit())
        ):
            return False
        if name.strip().isdigit() and self.shown.count > 1:
            own = replace(own, frames=frames.of_field(name, self.shown))
        elif not name.strip().isdigit():
            own = replace(own, label=name.strip())
        for quad in quads:
            self.quad(quad, own, Form.DECLARED, soft=False)
        return True

    def box_field(self, key: str, value: Any, own: _Inherited) -> list[tuple[Any, _Inherited]]:
        """Read the value of a key that holds boxes; returns objects that are still to be walked."""
        soft = key in _SOFT_KEYS
        form = _ORDERED_KEYS.get(key, Form.DECLARED)
        if isinstance(value, dict):
            return [(value, own)] if value else []
        if isinstance(value, str):
            self.box_text(value, own, form, soft=soft)
        elif isinstance(value, list):
            return self.boxes(value, own, form, soft=soft)
        elif value is None:
            self.out.flag("explicit_empty")
        elif not soft:
            self.add(None, form, own)
        return []

    def box_text(self, value: str, own: _Inherited, form: Form, *, soft: bool) -> None:
        """Read boxes that stand in a string."""
        if _EMPTY_WORDS.match(value):
            if not soft:
                self.out.flag("explicit_empty")
            return
        if re.search(r"[A-Za-z]{2}", re.sub(r"</?\w{2,12}>|\bpx\b", "", value)):
            self.texts.append(value)
            return
        for numbers, found in groups(re.sub(r"</?\w{2,12}>", "", value)):
            if numbers is not None or not soft:
                self.add(numbers, form if found is Form.DECLARED else found, own)

    def boxes(self, value: list[Any], own: _Inherited, form: Form, *, soft: bool) -> list[tuple[Any, _Inherited]]:
        """Read a list under a box key: four numbers, corner pairs, boxes, or objects."""
        if not value:
            if isinstance(value, CutList):
                self.out.flag("truncated")
            elif not soft:
                self.out.flag("explicit_empty")
            return []
        later: list[tuple[Any, _Inherited]] = []
        todo = [value]
        while todo:
            node = todo.pop()
            if isinstance(node, dict):
                later.append((node, own))
            elif isinstance(node, str) and number(node) is None:
                self.box_text(node, own, form, soft=soft)
            elif isinstance(node, list):
                todo += self.boxes_or_numbers(node, own, form, soft=soft)
            elif not soft:
                self.add(None, form, own)
        return later

    def boxes_or_numbers(self, node: list[Any], own: _Inherited, form: Form, *, soft: bool) -> list[Any]:
        """Read a list of numbers or of corner pairs; otherwise return its items, last first."""
        if any(isinstance(item, (list, dict, str)) and number(item) is None for item in node):
            return [] if self.points(node, own) else list(reversed(node))
        self.quad(node, own, form, soft=soft)
        return []

    def quad(self, node: list[Any], own: _Inherited, form: Form, *, soft: bool) -> None:
        """Read one list of numbers: a box when it has exactly four."""
        if isinstance(node, CutList):
            self.out.flag("truncated")
            self.add(None, form, own)
            return
        values = [number(item) for item in node]
        good = len(values) == 4 and all(value is not None for value in values)
        if good:
            self.add(tuple(value for value in values if value is not None), form, own)
        elif not soft and values:
            self.add(None, form, own)
        elif not values and not soft:
            self.out.flag("explicit_empty")

    def points(self, node: list[Any], own: _Inherited) -> bool:
        """Whether the list was corner pairs such as ``[[30, 40], [60, 80]]``."""
        pairs = [item for item in node if isinstance(item, list) and len(item) == 2 and not isinstance(item, CutList)]
        if len(pairs) != len(node) or len(node) % 2:
            return False
        values = [[number(v) for v in pair] for pair in pairs]
        if any(v is None for pair in values for v in pair):
            return False
        for numbers, form in from_pairs([[v for v in pair if v is not None] for pair in values]):
            self.add(numbers, form, own)
        return True

    def corner_list(self, value: list[Any], own: _Inherited) -> None:
        """Four corners, each ``[x, y]`` or ``[x, y, slice]`` with one slice: their rectangle."""
        corners = [[number(v) for v in item] for item in value if isinstance(item, list) and len(item) in (2, 3)]
        flat = [[v for v in corner if v is not None] for corner in corners]
        if len(flat) < 2 or any(len(corner) != len(flat[0]) for corner in flat):
            self.add(None, Form.POINTS, own)
            return
        slices = {corner[2] for corner in flat if len(corner) == 3}
        if len(slices) == 1:
            own = replace(own, frames=frames.of_field(slices.pop(), self.shown))
        for numbers, form in from_pairs([corner[:2] for corner in flat]):
            self.add(numbers, form, own)

    def parallel(self, node: dict[str, Any], keys: dict[str, str], own: _Inherited) -> bool:
        """Whether frames and boxes stood in two lists of one length, item by item."""
        lists = {key: node[name] for name, key in keys.items() if isinstance(node[name], list)}
        boxes = next(
            (lists[key] for key in ("boxes", "bboxes", "bbox2d", "box2d", "bbox", "box") if key in lists), None
        )
        numbers = next((lists[key] for key in lists if key in FRAME_KEYS), None)
        if boxes is None or numbers is None or len(boxes) != len(numbers) or len(boxes) < 2:
            return False
        if not all(isinstance(box, list) and len(box) == 4 for box in boxes):
            return False
        labels: list[Any] = next((lists[key] for key in ("labels", "label", "names", "classes") if key in lists), [])
        for i, (box, at) in enumerate(zip(boxes, numbers, strict=True)):
            label = labels[i] if i < len(labels) and isinstance(labels[i], str) else own.label
            self.quad(box, replace(own, frames=frames.of_field(at, self.shown), label=label), Form.DECLARED, soft=False)
        return True

    def frames_of(self, node: dict[str, Any], keys: dict[str, str]) -> frames.Named | None:
        """The frames that an object names in its own fields."""
        first = next((number(node[name]) for name, key in keys.items() if key in _FIRST_KEYS), None)
        last = next((number(node[name]) for name, key in keys.items() if key in _LAST_KEYS), None)
        if first is not None and last is not None:
            return frames.of_runs([(int(first), int(last))], self.shown)
        for name, key in keys.items():
            value = node[name]
            if key in ("slicerange", "framerange") and isinstance(value, list) and len(value) == 2:
                ends = [number(item) for item in value]
                if ends[0] is not None and ends[1] is not None:
                    return frames.of_runs([(int(ends[0]), int(ends[1]))], self.shown)
            if key in FRAME_KEYS and (
                not isinstance(value, list) or all(not isinstance(v, (dict, list)) for v in value)
            ):
                named = frames.of_field(value, self.shown)
                if named is not None:
                    return named
            if key in TIME_KEYS:
                named = frames.of_time_field(value, self.shown)
                if named is not None:
                    return named
        return None
