"""Boxes in the tags of the model families: Qwen, InternVL, DeepSeek, MiniCPM, GLM, Kosmos, PaliGemma, Florence, XML."""

from __future__ import annotations

import re

from slicewise.parse import frames
from slicewise.parse.box_forms import NUMBER, Candidate, Form, Scan, from_fields, groups, number, numbers_in, plain

_BOX_NAME = r"(?:bbx|bbox(?:_2d|_start|es)?|box(?:es|_2d|_start)?|bb|bounding_?box(?:es)?|rect|det|begin_of_box|roi)"
_OPEN = re.compile(
    rf"(?P<label><\|?(?P<ref>ref|object_ref_start|phrase|p)\|?>(?P<name>[^<>]{{0,300}})"
    rf"(?:</(?:ref|phrase|p)>|<\|(?:/ref|object_ref_end)\|>))"
    rf"|(?P<box><\|?{_BOX_NAME}\|?>|(?<=\{{)(?=<\d))"
    r"|(?P<loc>(?:<loc_?\d{1,4}>\s{0,3}){1,64})"
    r"|(?P<patch>(?:<patch_index_\d{1,4}>\s{0,3}){1,64})"
    r"|(?P<xml><(?:\w{0,12}box\w{0,6}|object|rect|region|annotation|points?|roi)\s[^<>]{1,400}>)"
    r"|(?P<fields>(?:<(?P<tag>[a-z_]{1,12}[0-9]?)>\s{0,5}[-+.\d]{1,20}\s{0,5}</(?P=tag)>\s{0,20}){2,8})"
    r"|(?P<polygon><(?:poly|quad|polygon)>)",
    re.IGNORECASE,
)
_NUMERIC = re.compile(
    r"(?:[\s\d.,;:()\[\]{}+\-%|]|(?<=\d)[eE](?=[+-]?\d)|<\s?[-.\d]{1,20}\s?>|\b(?:nan|inf(?:inity)?|px)\b|\band\b)*",
    re.IGNORECASE,
)
_CLOSE = re.compile(
    rf"\s{{0,5}}(?:</{_BOX_NAME}>|<\|/?(?:box_end|bbox_end|det|end_of_box|bbx|box)\|>|\}})", re.IGNORECASE
)
_NEXT_TAG = re.compile(r"\s{0,5}<\|?/?[a-z]", re.IGNORECASE)
_NONE = re.compile(
    r"\s{0,5}(?:none|null|n/a|no(?:ne)? (?:box|found|finding\w*)|nothing|empty|\[\s*\])\s{0,5}(?=<)", re.IGNORECASE
)
_TEMPLATE = re.compile(r"\s{0,5}[\[({]{1,2}\s?x_?(?:1|min|\s?,)", re.IGNORECASE)
_LOC_DIGITS = re.compile(r"\d+")
_ATTRIBUTE = re.compile(r"([A-Za-z_][\w-]{0,20})\s?=\s?(?:\"([^\"]{0,80})\"|'([^']{0,80})'|([^\s\"'>/]{1,40}))")
_FIELD = re.compile(rf"<([a-z_]{{1,12}}[0-9]?)>\s{{0,5}}({NUMBER})\s{{0,5}}</", re.IGNORECASE)
_SEGMENTS = re.compile(r"(?:<seg\d{3}>)*\s{0,3}([^<>;\n]{0,80})")
_BEFORE = re.compile(r"([^<>\n;.,:]{1,80})\Z")


def scan(text: str, *, polygon: bool = False, shown: frames.Shown) -> Scan:
    """All tagged boxes of a text.

    Args:
        text: The cleaned text.
        polygon: Eight location tokens are the corners of a quadrilateral, read as its enclosing box.
        shown: The frames that an attribute can name.
    """
    out = Scan()
    if "<" not in text:
        return out
    reader = _Tags(text, out, polygon, shown)
    at = 0
    while (match := _OPEN.search(text, at)) is not None:
        at = max(reader.read(match), match.end(), at + 1)
    return out


class _Tags:
    """State of one pass: the label that holds until the next one."""

    def __init__(self, text: str, out: Scan, polygon: bool, shown: frames.Shown) -> None:
        self.text, self.out, self.polygon, self.shown = text, out, polygon, shown
        self.label: str | None = None
        self.before = 0

    def read(self, match: re.Match[str]) -> int:
        """Take one match; returns where to go on."""
        if match["label"] is not None:
            self.label = match["name"].strip() or None
            self.out.claimed.append(match.span())
            return match.end()
        if match["box"] is not None:
            return self.box(match)
        if match["loc"] is not None:
            return self.locations(match)
        if match["patch"] is not None:
            return self.patches(match)
        if match["fields"] is not None:
            return self.fields(match)
        if match["xml"] is not None:
            return self.attributes(match)
        self.out.flag("polygon")
        return match.end()

    def add(self, start: int, end: int, numbers: tuple[float, ...] | None, form: Form, label: str | None) -> Candidate:
        made = Candidate(start, end, numbers, form, label=label, rung="tag")
        self.out.candidates.append(made)
        return made

    def box(self, match: re.Match[str]) -> int:
        text, start = self.text, match.end()
        run = _NUMERIC.match(text, start)
        stop = run.end() if run else start
        content = text[start:stop]
        closed = _CLOSE.match(text, stop)
        if not content.strip(" \n|"):
            none = _NONE.match(text, start)
            if none:
                self.out.flag("explicit_empty")
            elif _TEMPLATE.match(text, start):
                self.out.flag("template_echo")
            return start
        if not closed and stop < len(text) and not _NEXT_TAG.match(text, stop):
            if _TEMPLATE.match(text, start):
                self.out.flag("template_echo")
            return start  # text or JSON inside the tag: others read it
        return self.numeric(match, content, stop, closed)

    def numeric(self, match: re.Match[str], content: str, stop: int, closed: re.Match[str] | None) -> int:
        end = closed.end() if closed else stop
        angled = "<" in content
        found = (
            groups(content)
            if not angled
            else [(values if len(values) == 4 else None, Form.DECLARED) for values in [numbers_in(content)]]
        )
        if not closed and stop >= len(self.text):
            self.out.flag("truncated")
            if content.rstrip()[-1:] not in tuple("])}>"):  # the last number may be cut
                complete = content.rfind("]")
                found = [*(groups(content[: complete + 1]) if complete > 0 else []), (None, Form.DECLARED)]
        if not found and content.strip() in ("[]", "[ ]", "[[]]", "()"):
            self.out.flag("explicit_empty")
        if len(numbers_in(content)) == 2 and len(found) == 1:
            self.out.flag("point_only")
            found = []
        for numbers, form in found:
            self.add(match.start(), end, numbers, form, self.label)
        self.out.claimed.append((match.start(), end))
        self.before = end
        return end

    def locations(self, match: re.Match[str]) -> int:
        values = [float(token) for token in _LOC_DIGITS.findall(match["loc"])]
        florence = "<loc_" in match["loc"]
        after = _SEGMENTS.match(self.text, match.end())
        if florence:
            label = _BEFORE.search(self.text[max(self.before, match.start() - 80) : match.start()])
            name, end = (label[1].strip(" >") if label else ""), match.end()
        else:
            name, end = (after[1].strip() if after else ""), match.end()
        for box in self.quads(values):
            self.add(match.start(), end, box, Form.DECLARED, name or self.label)
        self.out.claimed.append((match.start(), end))
        self.before = end
        return end

    def quads(self, values: list[float]) -> list[tuple[float, ...] | None]:
        """Groups of four tokens; eight are a quadrilateral when declared, else two boxes if both are upright."""
        if len(values) == 8 and self.polygon:
            return [(min(values[::2]), min(values[1::2]), max(values[::2]), max(values[1::2]))]
        if not values or len(values) % 4:
            return [None]
        fours = [tuple(values[i : i + 4]) for i in range(0, len(values), 4)]
        if len(fours) > 1 and any(f[0] > f[2] or f[1] > f[3] for f in fours):
            return [None]
        return list(fours)

    def patches(self, match: re.Match[str]) -> int:
        values = [float(token) for token in _LOC_DIGITS.findall(match["patch"])]
        if len(values) == 1:
            self.out.flag("point_only")
        elif len(values) % 2:
            self.add(*match.span(), None, Form.DECLARED, self.label)
        else:
            for i in range(0, len(values), 2):
                self.add(*match.span(), (values[i], values[i + 1]), Form.DECLARED, self.label)
        self.out.claimed.append(match.span())
        return match.end()

    def attributes(self, match: re.Match[str]) -> int:
        fields = {m[1]: next(g for g in m.groups()[1:] if g is not None) for m in _ATTRIBUTE.finditer(match["xml"])}
        names = {plain(name): value for name, value in fields.items()}
        if match["xml"][1:6].lower() == "point":
            self.out.flag("point_only")
            self.out.claimed.append(match.span())
            return match.end()
        box = from_fields(fields)
        if box is None:
            written = next(
                (names[key] for key in ("bbox", "box", "bbox2d", "box2d", "coords", "coordinates") if key in names),
                None,
            )
            found = [g for g in groups(written) if g[0]] if written else []
            box = (found[0][0], found[0][1]) if len(found) == 1 and found[0][0] else None
        if box is not None:
            made = self.add(*match.span(), box[0], box[1], names.get("label") or names.get("name") or self.label)
            for key in ("frame", "slice", "frameid", "sliceid", "frameindex", "image", "imageid", "framenumber", "z"):
                if key in names:
                    made.frames = frames.of_field(names[key], self.shown)
                    break
            self.out.claimed.append(match.span())
        return match.end()

    def fields(self, match: re.Match[str]) -> int:
        named = {m[1]: m[2] for m in _FIELD.finditer(match["fields"])}
        box = from_fields(named)
        if box is not None:
            made = self.add(*match.span(), box[0], box[1], self.label)
            for name, value in named.items():
                if plain(name) in ("frame", "slice", "image", "z"):
                    made.frames = frames.of_field(number(value), self.shown)
            self.out.claimed.append(match.span())
        return match.end()
