"""One letter, or a set of letters, validated against the item's own options. Several candidates left: no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import letters, markers, signals
from slicewise.parse.clean import Clean, clean
from slicewise.parse.lexicon import ORDINALS, latinised

ALPHABET = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
_HEAD = re.compile(
    r"[\s*_#>\"'“”‘’({\[.:`~•-]*(?:(?:most likely|probably|clearly|simply|definitely|the|is|it is|it's|be|that|letter|option|choice|answer|number)\s{1,3}){0,4}"
    r"[(\[{\"']{0,2}(?P<letter>[A-Za-z])(?![\w'’])(?P<close>\s?[)\]}])?(?P<mark>\s{0,2}[.):;,=\-–—]|\s{0,3}\Z|\s{0,3}\n)?",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[ \t*_>#•-]{0,8}[(\[]?(?P<letter>[A-Za-z])(?:[)\].:]|\s?[-–—]\s)[*_]{0,3}[ \t]*(?P<text>[^\n]*)")
_GLUED = re.compile(r"\W*([A-Z]{2,})\W*\Z")
_ORDINAL = re.compile(
    rf"\b(?:the\s)?(?P<n>{'|'.join(ORDINALS)}|last)\s(?:option|choice|answer|one|alternative)\b", re.IGNORECASE
)
_POSTFIX = re.compile(
    r"(?:\b(?:option|choice|answer)\s)?[(\[]?(?<![\w'’.\-])(?P<letter>[A-Z])(?![\w'’])[)\]]?\s{1,3}(?:(?:is|was|seems|appears|must be|would be|looks)(?: to be)?\s)"
    r"(?:(?:clearly|definitely|therefore|thus|likely|probably|also|indeed)\s)?(?:the\s)?(?:only\s)?(?:correct|right|best|true|accurate|most\s(?:likely|appropriate|consistent|accurate|probable|suitable|correct)"
    r"|answer|my (?:answer|choice)|one)\b"
    r"|\b(?P<fit>[A-Z])\s(?:fits best|best fits|matches best|best matches|best describes|remains|is left|it is)\b",
)
_EVERY = re.compile(
    r"\b(?:all|every one|each) (?:of )?(?:the |these |those )?(?:above|options|choices|answers|statements|listed|four|five|three|of them|apply|are (?:correct|true|present|right))\b|\A\W*all(?: of them)?\W*\Z|以上(?:都|全)",
    re.I,
)
_ALL_BUT = re.compile(
    r"\b(?:all|everything|every option)(?: of (?:the|them|these)(?: above)?| options| choices)?\s?,?\s?(?:except(?: for)?|but|excluding|other than|besides|apart from|save)\s(?P<rest>[^.;\n]{1,60})",
    re.I,
)
_NO_OPTION = re.compile(
    r"\b(?:none|neither|no(?:ne)? (?:one )?) ?(?:of (?:the|these|those|them)(?: \w+){0,2}|apply|applies|are correct)?\b",
    re.I,
)
_RANGE = re.compile(
    r"[(\[]?(?<![\w])([A-Z])[)\]]?\s?(?:-|–|—|~|\bto\b|\bthrough\b|\bthru\b|至|到)\s?[(\[]?([A-Z])[)\]]?(?![\w'’])"
)
_VERDICT_YES = r"(?:yes|true|present|correct|right|positive|applies|applicable|selected|visible|seen|✓|✔|✅|√|☑|\[x\])"
_VERDICT_NO = (
    r"(?:no(?:t\b[^\n,;]{0,30})?|false|absent|incorrect|wrong|negative|excluded|does not apply|✗|✘|❌|×|☐|\[ \])"
)
_VERDICT = re.compile(
    rf"(?<![\w])[(\[]?(?P<letter>[A-Z])[)\]]?[.:]?[*_\s]{{0,4}}(?:(?!{_VERDICT_YES}|{_VERDICT_NO})[^\n,;:–—=]{{0,80}}?)\s?(?:[:=–—-]|\bis\b|->|→|\s)\s{{0,3}}[*_]{{0,3}}(?:(?P<yes>{_VERDICT_YES})|(?P<no>{_VERDICT_NO}))(?![\w])",
    re.IGNORECASE,
)
_CHECKED = re.compile(r"\[(?P<on>[xX✓ ]?)\]\s?[(]?(?P<letter>[A-Z])(?![\w'’])")
_SET = re.compile(
    r"\W*(?:(?:only|both|options?|choices?|answers?|letters?|are|is|the)\s){0,3}[(\[{\"']{0,2}[A-Za-z][)\]}\"']{0,2}(?:\s{0,3}(?:,|;|/|&|\+|、|\||\n|\s|(?<=[)\]])(?=[(\[])|\band\b|\bor\b|\bund\b|\bet\b|\by\b|\bas well as\b|-|–|to|through|和|与|及)+\s{0,3}(?:option\s|choice\s)?[(\[\"']{0,2}[A-Za-z][)\]\"']{0,2}){0,30}(?![\w'’])",
    re.IGNORECASE,
)
_SINGLE = re.compile(r"(?<![\w'’])[(\[]?([A-Za-z])[)\]]?(?![\w'’])")
_SET_POSTFIX = re.compile(
    r"(?<![\w])(?P<set>[(\[]?[A-Z][)\]]?(?:\s{0,3}(?:,|;|/|&|\+|\band\b|,\s?and)\s{0,3}[(\[]?[A-Z][)\]]?){0,25})(?![\w'’])\s{1,3}(?:are|is|were)\s(?:both |all |also |the )?(?:correct|right|true|present|applicable|answers?|selected|best|positive)\b"
)


def read_choice(text: str | Clean | None, options: Mapping[str, str] | None = None) -> Reading[str]:
    """Read one option letter.

    Args:
        text: The model's text, cleaned or not.
        options: Letter to text of the item's options; without them any letter is an option.

    Returns:
        A capital; ``unparsed`` with ``multiple_candidates``, ``letter_text_conflict`` or ``invalid_option``.
    """
    prepared = _prepare(text)
    if isinstance(prepared, Reading):
        return prepared
    cleaned, body, flags = prepared
    reader = _One(options or {}, frozenset(options or ALPHABET))
    value, stage = reader.read(body)
    flags += reader.flags
    if value is not None:
        return ok(value, stage, *flags)
    return _without(cleaned.text, flags)


def read_choices(text: str | Clean | None, options: Mapping[str, str] | None = None) -> Reading[list[str]]:
    """Read a set of option letters, sorted; see :func:`read_choice`. An extra letter that is no option stays in it."""
    prepared = _prepare(text)
    if isinstance(prepared, Reading):
        return failed(prepared.outcome, prepared.stage, *prepared.flags)
    cleaned, body, flags = prepared
    reader = _Many(options or {}, frozenset(options or ALPHABET))
    found, stage = reader.read(body)
    flags += reader.flags
    if found:
        return ok(sorted(found), stage, *flags)
    missing = _without(cleaned.text, flags)
    return failed(missing.outcome, missing.stage, *missing.flags)


def _prepare(text: str | Clean | None) -> tuple[Clean, str, list[str]] | Reading[str]:
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    body, foreign = latinised(cleaned.text)
    if not body.isascii():
        body = _HAN_EDGE.sub(" ", body)
    flags = [*cleaned.flags, *(("homoglyph",) if foreign else ()), *(("loop",) if signals.loops(body) else ())]
    return cleaned, body, flags


def _without(text: str, flags: list[str]) -> Reading[str]:
    if signals.refuses(text):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    if "multiple_candidates" not in flags and ("truncated" in flags or signals.looks_cut(text)):
        return failed(Outcome.TRUNCATED, "none", *flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *flags, *(("hedge",) if signals.hedges(text) else ()))


# Han and Hangul are letters to a regex: a blank between them and Latin letters makes word boundaries.
_HAN_EDGE = re.compile(
    "(?<=[\u3040-\u9fff\uac00-\ud7af])(?=[A-Za-z0-9(])|(?<=[A-Za-z0-9)])(?=[\u3040-\u9fff\uac00-\ud7af])"
)


class _Reader:
    """What the readers of one letter and of a set share."""

    def __init__(self, options: Mapping[str, str], allowed: frozenset[str]) -> None:
        self.options, self.allowed = options, allowed
        self.flags: list[str] = []

    def flag(self, name: str) -> None:
        if name not in self.flags:
            self.flags.append(name)

    def standing(self, text: str, *, strong: bool = False) -> list[str]:
        """Distinct letters that are named and neither rejected nor only considered."""
        cut = signals.looks_cut(text) and not re.search(r"[.!?:\n]\W*\w\W*\Z", text[-12:])
        kept: dict[str, None] = {}
        rejected: set[str] = set()
        for mention in letters.mentions(text, self.allowed):
            if mention.rejected:
                rejected.add(mention.letter)
            elif (
                not mention.tentative
                and (mention.strong or not strong)
                and not (cut and mention.end >= len(text.rstrip()))
            ):
                kept[mention.letter] = None
        return [letter for letter in kept if letter not in rejected]

    def items(self, text: str) -> list[tuple[str, str]]:
        """Lines that begin with a letter: the letter and the text after it."""
        found = []
        for line in text.split("\n")[:400]:
            match = _ITEM.match(line)
            if (
                match
                and (match["letter"].isupper() or ")" in line[: match.start("text")])
                and match["letter"].upper() in self.allowed
            ):
                found.append((match["letter"].upper(), match["text"].strip()))
        return found


class _One(_Reader):
    """Reads one letter; one method per rung."""

    def read(self, body: str) -> tuple[str | None, str]:
        clear = markers.look_through(body)
        value = self.json(body)
        if value is not None or self.flags:
            return value, "json"
        value = self.marks(body)
        if value is not None or self.flags:
            return value, "marker"
        for rung, name in (
            (self.whole, "whole"),
            (self.ends, "line"),
            (self.listed, "list"),
            (self.option_text, "option_text"),
            (self.prose, "prose"),
            (self.ordinal, "ordinal"),
        ):
            value = rung(clear)
            if value is not None:
                return value, name
            if self.flags:
                break
        return None, "none"

    def json(self, body: str) -> str | None:
        found = markers.json_answers(body, ("letter", "choice", "option"))
        for value in reversed(found or []):
            read = self.scalar(value[0] if isinstance(value, list) and len(value) == 1 else value)
            if read is not None:
                return read
        return None

    def scalar(self, value: Any) -> str | None:
        if not isinstance(value, str) or not value.strip():
            return None
        inner = markers.boxed(value)
        text = inner[-1][1] if inner else markers.look_through(value)
        return self.content(text)

    def content(self, text: str) -> str | None:
        """The letter that a short, marked content gives: at its head, as an option's text, or the only one in it."""
        text = text.strip()
        exact = letters.same_text(text.rstrip(".").strip(), self.options) if self.options else None
        if exact is not None:
            return exact
        head = self.head(text)
        if head is not None or self.flags:
            return head
        inside = letters.texts_in(text.split("\n")[0], self.options)
        standing = self.standing(text)
        if len(standing) == 1 and (not inside or inside == standing):
            return standing[0]
        if len(inside) == 1 and not standing:
            return inside[0]
        return None

    def head(self, text: str) -> str | None:
        """A letter at the head of a content, if it stands as a letter and not as a word."""
        match = _HEAD.match(text)
        if match is None:
            return None
        written, letter = match["letter"], match["letter"].upper()
        rest = text[match.end("letter") :]
        closed = match["close"] is not None or match["mark"] is not None
        if not closed:
            if written.islower() or (written == "I" and re.match(r"\s+[a-z']", rest)):
                return None
            if letter == "A" and letters.mentions(text[match.start("letter") : match.end("letter") + 30], ("A",)) == []:
                return None
        if re.match(r"[)\]]?\s?\?", rest):
            return None
        if letter not in self.allowed:
            if closed and written.isupper() and not re.match(r"\.\s?[a-z]\.", rest):
                self.flag("invalid_option")
            return None
        named = letters.mentions(text[match.start("letter") :][:200], self.allowed)
        if named and named[0].letter == letter and named[0].rejected:
            return None
        return self.alone(letter, text, match)

    def alone(self, letter: str, text: str, match: re.Match[str]) -> str | None:
        """The letter, unless others are listed with it or its text is another option's."""
        rest = text[match.end("letter") :]
        more = re.match(
            r"[)\]]?\s{0,2}(?:,|;|/|&|\+|、|\band\b|\bor\b|\bund\b)\s{0,3}(?:and\s|or\s)?(?:option\s)?[(\[]?([A-Z])(?![\w'’])",
            rest,
        )
        if (
            more
            and more[1] in self.allowed
            and more[1] != letter
            and letters._rejected(text, match.end("letter") + more.start(1), match.end("letter") + more.end(1)) is False
        ):
            if not (more[1] == "A" and re.match(r"\s[a-z]", rest[more.end(1) :])):
                self.flag("multiple_candidates")
                return None
        said = rest.lstrip(" )].:;,=-–—\t").split("\n")[0]
        other = letters.same_text(said.rstrip("."), self.options) if said else None
        if other is not None and other != letter and letters.bare(self.options.get(letter, "")) != letters.bare(said):
            self.flag("letter_text_conflict")
            return None
        return letter

    def marks(self, body: str) -> str | None:
        """The last mark that names an option; a box whose content is no option is no mark (NVIDIA-NeMo/Skills#1526)."""
        found = markers.find(body)
        clear = markers.look_through(body)
        spots = [(m.start(), m["letter"] or m["fit"]) for m in _POSTFIX.finditer(clear)]
        spots = [
            (at, letter)
            for at, letter in spots
            if letter in self.allowed and not letters._is_word(clear, at + 1, at, "B")
        ]
        for mark in reversed(found):
            later = [letter for at, letter in spots if at > mark.at + len(mark.line)]
            if later:
                return later[-1]
            if mark.kind == "boxed" and not self.bare(mark.line):
                continue
            value = self.content(mark.line if mark.kind != "choose" else mark.line[:80])
            if value is None and mark.kind == "phrase" and not self.flags and mark.block != mark.line:
                value = self.content(mark.block)
            if value is not None or (self.flags and mark.kind != "choose"):
                return value
            self.flags.clear()
        return spots[-1][1] if spots and len({letter for _, letter in spots}) == 1 else None

    def bare(self, content: str) -> bool:
        short = content.strip(" ().[]{}:")
        return (
            (len(short) == 1 and short.isascii() and short.isalpha())
            or letters.same_text(content, self.options) is not None
            or _ITEM.match(content) is not None
        )

    def whole(self, clear: str) -> str | None:
        """The whole text is one letter, one letter with its text, or one option's text."""
        text = clear.strip()
        if len(text) > 400 or "\n" in text:
            return None
        glued = _GLUED.match(text)
        if glued and glued[1] not in self.allowed and letters.same_text(text, self.options) is None:
            return None
        exact = letters.same_text(text.rstrip("."), self.options)
        if exact is not None:
            return exact
        short = text.strip(" .,:;!()[]{}*'\"")
        if len(short) == 1 and short.upper() in self.allowed and short.isalpha():
            return short.upper()
        return (
            self.head(text)
            if re.match(r"[\W_]*(?:option\s|choice\s)?[(\[]?[A-Za-z](?![\w'’-])", text, re.I) and self.heads(text)
            else None
        )

    def heads(self, text: str) -> bool:
        """Whether a one-line text opens with a letter in answer position: "B because ...", "B. cyst", "(B), since"."""
        match = _HEAD.match(text)
        if match is None or match["letter"].islower() and match["close"] is None and match["mark"] is None:
            return False
        named = letters.mentions(text, self.allowed)
        return (
            bool(named) and not named[0].tentative and not named[0].rejected and named[0].start <= match.end("letter")
        )

    def ends(self, clear: str) -> str | None:
        """A line of its own that is one letter: the last one, as first or last line of the reply."""
        lines = [line.strip(" \t.:;!()[]{}*#>'\"") for line in clear.strip().split("\n") if line.strip()]
        if len(lines) < 2:
            return None
        for line in (lines[-1], lines[0]):
            short = re.sub(r"\A(?:option|choice|answer)\s", "", line, flags=re.I)
            if len(short) == 1 and short.upper() in self.allowed and short.isupper():
                return short
        return None

    def listed(self, clear: str) -> str | None:
        """Lines that begin with a letter: one distinct letter answers, the whole list of options does not."""
        items = self.items(clear)
        names = {letter for letter, _ in items}
        if len(names) == 1 and (
            clear.strip().startswith(clear.strip().split("\n")[0]) and self.items(clear.strip().split("\n")[0])
        ):
            return items[0][0]
        return None

    def option_text(self, clear: str) -> str | None:
        if not self.options or self.standing(clear, strong=True):
            return None
        found = letters.texts_in(clear, self.options)
        if len(found) == 1 and not self.standing(clear):
            return found[0]
        return None

    def prose(self, clear: str) -> str | None:
        strong = self.standing(clear, strong=True)
        named = strong or self.standing(clear)
        if len(named) == 1:
            said = letters.texts_in(clear, self.options)
            if not said or named[0] in said or strong:
                return named[0]
            self.flag("letter_text_conflict")
        elif len(named) > 1:
            self.flag("multiple_candidates")
        return None

    def ordinal(self, clear: str) -> str | None:
        """ "The second option", only when the item lists its options."""
        names = list(self.options)
        found = {match["n"].lower() for match in _ORDINAL.finditer(clear)}
        if len(found) != 1 or not names:
            return None
        word = found.pop()
        at = len(names) - 1 if word == "last" else ORDINALS[word] - 1
        return names[at] if at < len(names) else None


class _Many(_Reader):
    """Reads a set of letters; one method per rung."""

    def read(self, body: str) -> tuple[list[str], str]:
        clear = markers.look_through(body)
        found = self.json(body)
        if found:
            return found, "json"
        judged = self.verdicts(clear)
        if judged is not None:
            return judged, "verdicts"
        found = self.marks(body)
        if found:
            return found, "marker"
        for rung, name in (
            (self.content, "whole"),
            (self.stated, "statement"),
            (self.lines, "list"),
            (self.prose, "prose"),
        ):
            found = rung(clear)
            if found:
                return found, name
        return [], "none"

    def json(self, body: str) -> list[str]:
        for value in reversed(markers.json_answers(body, ("letters", "choices", "options")) or []):
            if isinstance(value, list):
                out: dict[str, None] = {}
                for item in value[:64]:
                    if isinstance(item, str):
                        out.update(dict.fromkeys(self.content(markers.look_through(item))))
                if out:
                    return list(out)
            elif isinstance(value, str):
                inner = markers.boxed(value)
                found = self.content(inner[-1][1] if inner else markers.look_through(value))
                if found:
                    return found
        return []

    def marks(self, body: str) -> list[str]:
        found = markers.find(body)
        for mark in reversed(found):
            content = self.content(mark.line)
            if mark.block != mark.line and all(
                self.items(line) or _SET.fullmatch(line.strip() + " ")
                for line in mark.block.split("\n")
                if line.strip()
            ):
                content = self.content(mark.block) or content
            if content and not (mark.kind == "boxed" and len(markers.boxed(body)) > 1 and len(content) == 1):
                return content
            if content:
                return list(
                    dict.fromkeys(letter for _, inside in markers.boxed(body) for letter in self.content(inside))
                )
        return []

    def content(self, text: str) -> list[str]:
        """A set in a short text: all, all but some, a range, glued capitals, a list, option texts."""
        text = text.strip()
        if not text or len(text) > 2000:
            return []
        special = self.special(text)
        if special is not None:
            return special
        first = text if "\n" not in text else text.replace("\n", " , ")
        run = _SET.match(first)
        if run and self.pure(first, run):
            return self.expand(run[0], lower=run.end() >= len(first.rstrip(" .!")))
        items = self.items(text)
        others = set(self.standing(text, strong=True)) - {letter for letter, _ in items}
        if items and not others and len(items) == len([line for line in text.split("\n") if line.strip()]):
            return list(dict.fromkeys(letter for letter, _ in items))
        return self.with_texts(text)

    def pure(self, text: str, run: re.Match[str]) -> bool:
        """Whether a run of letters is the content itself: it ends there, or what follows does not reject it."""
        rest = text[run.end() :]
        if not _SINGLE.search(run[0]):
            return False
        if not rest.strip(" .!)]}*\"'"):
            return True
        return re.match(
            r"\s{0,3}[.;:(]|\s{1,3}(?:because|since|as|are|is|apply|were|due|given)\b(?! not|n't)", rest
        ) is not None and not letters.mentions(rest, self.allowed)

    def special(self, text: str) -> list[str] | None:
        exact = letters.same_text(text.rstrip("."), self.options)
        if exact is not None:
            return [exact]
        but = _ALL_BUT.search(text)
        if but and self.options:
            without = {m[1].upper() for m in _SINGLE.finditer(but["rest"])} | set(
                letters.texts_in(but["rest"], self.options)
            )
            if without & self.allowed:
                return [letter for letter in self.options if letter not in without]
        if _EVERY.search(text[:200]) and not re.search(r"\bnot all\b", text, re.I):
            named = [letter for letter, option in self.options.items() if _EVERY.search(option)]
            return named[:1] or list(self.options)
        glued = _GLUED.match(text)
        if glued and set(glued[1]) <= self.allowed and list(glued[1]) == sorted(set(glued[1])):
            return list(glued[1])
        return None

    def expand(self, run: str, *, lower: bool) -> list[str]:
        """Letters of a run, ranges filled; a letter that is no option stays when it is written like one."""
        out: dict[str, None] = {}
        for match in _RANGE.finditer(run):
            first, last = sorted((match[1], match[2]))
            if {first, last} <= self.allowed and not re.search(r"\bto\b.{0,3}\Z", run[: match.start(1)]):
                out.update(dict.fromkeys(letter for letter in ALPHABET if first <= letter <= last))
                self.flag("letter_range")
        for match in _SINGLE.finditer(run):
            written = match[1]
            if written.islower() and not (lower and (written != "a" or len(run.strip()) < 60)):
                continue
            if written.upper() in self.allowed:
                out[written.upper()] = None
            elif written.isupper():
                self.flag("invalid_option")
                out[written] = None
        return list(out) if set(out) & self.allowed else []

    def with_texts(self, text: str) -> list[str]:
        """Letters with their texts in a row, or the texts alone."""
        named = self.standing(text)
        said = letters.texts_in(text, self.options)
        return named or said

    def verdicts(self, clear: str) -> list[str] | None:
        """A verdict per option: "A: present, B: absent" or check boxes."""
        boxes = {m["letter"]: bool(m["on"].strip()) for m in _CHECKED.finditer(clear) if m["letter"] in self.allowed}
        if len(boxes) >= 2 and any(boxes.values()):
            return [letter for letter, on in boxes.items() if on]
        judged: dict[str, bool] = {}
        for match in _VERDICT.finditer(clear):
            if match["letter"].isupper() and match["letter"] in self.allowed:
                judged[match["letter"]] = match["yes"] is not None
        if len(judged) >= 2 and any(judged.values()) and len(judged) >= min(len(self.options) or 2, 3):
            return [letter for letter, yes in judged.items() if yes]
        return None

    def stated(self, clear: str) -> list[str]:
        out: dict[str, None] = {}
        for match in _SET_POSTFIX.finditer(clear):
            out.update(dict.fromkeys(self.expand(match["set"], lower=False)))
        return list(out)

    def lines(self, clear: str) -> list[str]:
        items = self.items(clear)
        names = list(dict.fromkeys(letter for letter, _ in items))
        return names if names and len(names) < max(len(self.options), 2) else []

    def prose(self, clear: str) -> list[str]:
        strong = self.standing(clear, strong=True)
        return strong or self.standing(clear) or letters.texts_in(clear, self.options)
