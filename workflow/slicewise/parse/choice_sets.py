"""A set of option letters: lists, ranges, "all but C", verdicts per option. Rejected letters are not in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from slicewise.outcome import Reading, failed, ok
from slicewise.parse import letters, markers, signals
from slicewise.parse.choice_base import ALPHABET, GLUED, LetterReader, missing, prepare
from slicewise.parse.clean import Clean
from slicewise.parse.lexicon import ORDINALS

_EVERY = re.compile(
    r"\bevery (?:option|choice|answer|statement|one)\b"
    r"|\b(?:all|every one|each) (?:of )?(?:the |these |those )?(?:above|options|choices|answers|statements"
    r"|listed|four|five|three|of them|apply|are (?:correct|true|present|right))\b|\A\W*all(?: of them)?\W*\Z"
    r"|以上(?:都|全)",
    re.I,
)
_ALL_BUT = re.compile(
    r"\b(?:all|everything|every option)(?: of (?:the|them|these)(?: above)?| options"
    r"| choices)?\s?,?\s?(?:except(?: for)?|but|excluding|other than|besides|apart from"
    r"|save)\s(?P<rest>[^.;\n]{1,60})",
    re.I,
)
_RANGE = re.compile(
    r"[(\[]?(?<![\w])([A-Z])[)\]]?\s?(?:-|–|—|~|\.{2,3}|\bto\b|\bthrough\b|\bthru\b|至|到)\s?[(\[]?([A-Z])[)\]]?(?![\w'’])"
)
_SET = re.compile(
    r"\W*(?:(?:only|both|either|options?|choices?|answers?|letters?|are|is"
    r"|the)\s){0,3}[(\[{\"']{0,2}[A-Za-z][)\]}\"']{0,2}(?:\s{0,3}(?:,|;|/|&|\+|、|\||\n|\s"
    r"|(?<=[)\]])(?=[(\[])|\band\b|\bor\b|\bund\b|\bet\b|\be\b|\by\b|\bplus\b"
    r"|\bas well as\b|-|–|~|\.{2,3}|to|through|和|与"
    r"|及)+\s{0,3}(?:option\s|choice\s)?[(\[\"']{0,2}[A-Za-z][)\]\"']{0,2}){0,30}(?![\w'’])",
    re.IGNORECASE,
)
_SINGLE = re.compile(r"(?<![\w'’])[(\[]?([A-Za-z])[)\]]?(?![\w'’])")
_SET_POSTFIX = re.compile(
    r"(?<![\w])(?P<set>[(\[]?[A-Z][)\]]?(?:\s{0,3}(?:,|;|/|&|\+|\band\b"
    r"|,\s?and)\s{0,3}[(\[]?[A-Z][)\]]?){0,25})(?![\w'’])\s{1,3}(?:are|is|were)\s(?:both |all |also "
    r"|the )?(?:correct|right|true|present|applicable|answers?|selected|best|positive)\b"
)
_ORDINALS = re.compile(
    rf"\b(?:{'|'.join(ORDINALS)})(?:(?:,\s|,?\sand\s(?:the\s)?)(?:{'|'.join(ORDINALS)})){{1,8}}\s"
    r"(?:options|choices|answers|ones|statements)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"(?:\A|(?<=\n))[ \t]{0,8}\d{1,2}[.)][ \t]+")


def read_choices(text: str | Clean | None, options: Mapping[str, str] | None = None) -> Reading[list[str]]:
    """Read a set of option letters, sorted; see :func:`read_choice`. An extra letter that is no option stays in it."""
    prepared = prepare(text)
    if isinstance(prepared, Reading):
        return failed(prepared.outcome, prepared.stage, *prepared.flags)
    cleaned, body, flags = prepared
    reader = _Many(options or {}, frozenset(options or ALPHABET))
    found, stage = reader.read(body)
    flags += reader.flags
    if found:
        return ok(sorted(found), stage, *flags)
    none = missing(cleaned.text, flags)
    return failed(none.outcome, none.stage, *none.flags)


class _Many(LetterReader):
    """Reads a set of letters; one method per rung."""

    def read(self, body: str) -> tuple[list[str], str]:
        found = self.json(body)
        if found:
            return found, "json"
        body = signals.ends(body)
        clear = markers.look_through(body)
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
            if "alternatives" in self.flags:
                break
            if found:
                return found, name
        return [], "none"

    def json(self, body: str) -> list[str]:
        for value in reversed(
            markers.json_answers(body, ("letters", "choices", "options", "present", "correct", "selected")) or []
        ):
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
        text = _NUMBERED.sub("", text)
        first = text if "\n" not in text else text.replace("\n", " , ")
        run = _SET.match(first)
        if run and self.pure(first, run):
            return self.expand(run[0], lower=run.end() >= len(first.rstrip(" .!")))
        items = self.items(text)
        others = set(self.standing(text)) - {letter for letter, _ in items}
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
        last = list(_SINGLE.finditer(run[0]))[-1]
        if letters.rejected(text, run.start() + last.start(1), run.start() + last.end(1)):
            return False
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
        dotted = re.fullmatch(r"[A-Z](?:\.\s?[A-Z])+\.?", text)
        if dotted and set(text) - set(". ") <= self.allowed:
            return list(dict.fromkeys(c for c in text if c.isalpha()))
        glued = GLUED.match(text)
        if glued and set(glued[1]) <= self.allowed and list(glued[1]) == sorted(set(glued[1])):
            return list(glued[1])
        return None

    def expand(self, run: str, *, lower: bool) -> list[str]:
        """Letters of a run, ranges filled; a letter that is no option stays when it is written like one."""
        out: dict[str, None] = {}
        if re.search(r"\bor\b", run) and not re.search(r"\band\b|&", run):
            self.flag("alternatives")
            return []
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
        return strong or self.standing(clear) or letters.texts_in(clear, self.options) or self.ordinals(clear)

    def ordinals(self, clear: str) -> list[str]:
        """Read "the first and third options"."""
        match = _ORDINALS.search(clear)
        names = list(self.options)
        if match is None or not names:
            return []
        places = {ORDINALS[word.lower()] for word in re.findall("|".join(ORDINALS), match[0], re.IGNORECASE)}
        return [names[place - 1] for place in sorted(places)] if max(places) <= len(names) else []
