"""One option letter, validated against the item's own options. Several candidates left: no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slicewise.outcome import Reading, ok
from slicewise.parse import letters, markers, signals
from slicewise.parse.choice_base import ALPHABET, GLUED, ITEM, LetterReader, missing, prepare
from slicewise.parse.clean import Clean
from slicewise.parse.lexicon import ORDINALS

_HEAD = re.compile(
    r"[\s*_#>\"'“”‘’({\[.:`~•-]*(?:(?:most likely|probably|clearly|simply|definitely|the|is|it is|it's|be"
    r"|that|letter|option|choice|answer|number)\s{1,3}){0,4}"
    r"[(\[{\"']{0,2}(?P<letter>[A-Za-z])(?![\w'’])(?P<close>\s?[)\]}])?(?P<mark>\s{0,2}[.):;,=\-–—]"
    r"|\s{0,3}\Z|\s{0,3}\n)?",
    re.IGNORECASE,
)
_LISTED = re.compile(r"(?<!\w)[(\[]?([A-Z])[)\].:](?=\s)")
_LAST_WORD = re.compile(r"[.!?;:]\s{1,3}[(\[]?([A-Z])[)\]]?[.!\s]{0,4}\Z")
_FIRST_WORD = re.compile(r"\W*([A-Z])[.)]\s")
_ORDINAL = re.compile(
    rf"\b(?:the\s)?(?P<n>{'|'.join(ORDINALS)}|last)\s(?:option|choice|answer|one|alternative)\b", re.IGNORECASE
)
_POSTFIX = re.compile(
    r"(?:\b(?:option|choice|answer)\s)?[(\[]?(?<![\w'’.\-])(?P<letter>[A-Z])(?![\w'’])[)\]]?\s{1,3}(?:(?:is"
    r"|was|seems|appears|must be|would be|looks)(?: to be)?\s)"
    r"(?:(?:clearly|definitely|therefore|thus|likely|probably|also"
    r"|indeed)\s)?(?:the\s)?(?:only\s)?(?:correct|right|best|true|accurate|most\s(?:likely|appropriate"
    r"|consistent|accurate|probable|suitable|correct)"
    r"|more\s(?:likely|consistent|accurate|probable|compatible|suitable|plausible)|better|answer"
    r"|my (?:answer|choice)|one)\b"
    r"|\b(?P<fit>[A-Z])\s(?:fits best|best fits|matches best|best matches|best describes|remains|is left|it is)\b",
)


def read_choice(text: str | Clean | None, options: Mapping[str, str] | None = None) -> Reading[str]:
    """Read one option letter.

    Args:
        text: The model's text, cleaned or not.
        options: Letter to text of the item's options; without them any letter is an option.

    Returns:
        A capital; ``unparsed`` with ``multiple_candidates``, ``letter_text_conflict`` or ``invalid_option``.
    """
    prepared = prepare(text)
    if isinstance(prepared, Reading):
        return prepared
    cleaned, body, flags = prepared
    reader = _One(options or {}, frozenset(options or ALPHABET))
    value, stage = reader.read(body)
    flags += reader.flags
    if value is not None:
        return ok(value, stage, *flags)
    return missing(cleaned.text, flags)


class _One(LetterReader):
    """Reads one letter; one method per rung."""

    def read(self, body: str) -> tuple[str | None, str]:
        value = self.json(body)
        if value is not None or self.flags:
            return value, "json"
        body = signals.ends(body)
        clear = markers.look_through(body)
        value = self.marks(body)
        if value is not None or self.flags:
            return value, "marker"
        for rung, name in (
            (self.whole, "whole"),
            (self.ends, "line"),
            (self.verdict, "verdicts"),
            (self.listed, "list"),
            (self.last_word, "sentence"),
            (self.option_text, "option_text"),
            (self.prose, "prose"),
            (self.ordinal, "ordinal"),
            (self.remaining, "elimination"),
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
            r"[)\]]?\s{0,2}(?:,|;|/|&|\+|、|\band\b|\bor\b|\bund\b)\s{0,3}(?:and\s"
            r"|or\s)?(?:option\s)?[(\[]?([A-Z])(?![\w'’])",
            rest,
        )
        if more and more[1] in self.allowed and more[1] != letter and self.counts(text, match.end("letter"), more):
            self.flag("multiple_candidates")
            return None
        said = rest.lstrip(" )].:;,=-–—\t").split("\n")[0]
        if letters.rejects_own_text(said, self.options.get(letter, "")):
            return None
        other = letters.same_text(said.rstrip("."), self.options) if said else None
        if other is not None and other != letter and letters.bare(self.options.get(letter, "")) != letters.bare(said):
            self.flag("letter_text_conflict")
            return None
        return letter

    def counts(self, text: str, offset: int, more: re.Match[str]) -> bool:
        """Whether the next letter of a list is another candidate, neither rejected nor an article."""
        start, end = offset + more.start(1), offset + more.end(1)
        article = more[1] == "A" and re.match(r"\s[a-z]", text[end:]) is not None
        return not article and not letters.rejected(text, start, end)

    def marks(self, body: str) -> str | None:
        """The last mark that names an option; a box whose content is no option is no mark (NVIDIA-NeMo/Skills#1526)."""
        found = markers.find(body)
        clear = markers.look_through(body)
        spots = [(m.start(), m["letter"] or m["fit"]) for m in _POSTFIX.finditer(clear)]
        spots = [
            (at, letter)
            for at, letter in spots
            if letter in self.allowed and not letters.is_word(clear, at + 1, at, "B")
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
            or ITEM.match(content) is not None
        )

    def whole(self, clear: str) -> str | None:
        """The whole text is one letter, one letter with its text, or one option's text."""
        text = clear.strip()
        if len(text) > 400 or "\n" in text:
            return None
        if len({m[1] for m in _LISTED.finditer(text)} & self.allowed) >= max(3, len(self.options) - 1):
            return None  # the options themselves, one after the other
        glued = GLUED.match(text)
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
        if match is None or (match["letter"].islower() and match["close"] is None and match["mark"] is None):
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

    def verdict(self, clear: str) -> str | None:
        """The one option that a list of verdicts confirms."""
        judged = self.verdicts(clear)
        return judged[0] if judged is not None and len(judged) == 1 else None

    def listed(self, clear: str) -> str | None:
        """Lines that begin with a letter: one distinct letter answers, the whole list of options does not."""
        items = self.items(clear)
        names = {letter for letter, _ in items}
        if (
            len(names) == 1
            and set(self.standing(clear)) <= names
            and (clear.strip().startswith(clear.strip().split("\n")[0]) and self.items(clear.strip().split("\n")[0]))
        ):
            return items[0][0]
        return None

    def last_word(self, clear: str) -> str | None:
        """The last sentence is one letter: "Neither A nor C fits. B."."""
        match = _LAST_WORD.search(clear)
        first = _FIRST_WORD.match(clear)
        if match is None or match[1] not in self.allowed or (first and first[1] != match[1]):
            return None
        return match[1]

    def remaining(self, clear: str) -> str | None:
        """The one option that is left when a text rejects all others, one by one, and stops there."""
        if len(self.options) < 3 or signals.looks_cut(clear):
            return None
        named = letters.mentions(clear, self.allowed)
        out = {mention.letter for mention in named if mention.rejected}
        left = [letter for letter in self.options if letter not in out]
        if len(left) != 1 or any(not mention.rejected for mention in named):
            return None
        self_said = letters.texts_in(clear, self.options)
        return left[0] if not self_said or self_said == left else None

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
        elif len(named) > 1 or (
            not named
            and len({m.letter for m in letters.mentions(clear, self.allowed) if m.tentative and not m.rejected}) > 1
        ):
            self.flag("multiple_candidates")
        return None

    def ordinal(self, clear: str) -> str | None:
        """Read "the second option", only when the item lists its options."""
        names = list(self.options)
        found = {match["n"].lower() for match in _ORDINAL.finditer(clear)}
        if len(found) != 1 or not names:
            return None
        word = found.pop()
        at = len(names) - 1 if word == "last" else ORDINALS[word] - 1
        return names[at] if at < len(names) else None
