"""Option letters in prose: which are named, which are rejected, and which are only words.

"A meniscus tear", "I think", "class C", "hepatitis B" and "B-lines" name no option.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_LIST = (
    r"(?:\s{0,3}(?:,|;|/|&|\+|、|\band\b|\bor\b|\bund\b|\bet\b|\by\b|,\s?and|,\s?or)\s{0,3}(?:option\s"
    r"|choice\s)?[(\[]?[A-Z][)\]]?(?![\w'’]))*"
)
_MENTION = re.compile(
    r"(?:\b(?:options?|choices?|answers?|alternatives?|letters?"
    r"|statements?)\s{0,3}[:#]?\s{0,3}[(\[]?(?P<named>[A-Za-z])[)\]]?(?![\w'’]|-\w))"
    r"|(?P<paren>(?<![\w)])[(\[]\s?(?P<inside>[A-Za-z])\s?[)\]])"
    r"|(?P<bare>(?<![\w'’.\-/])(?P<capital>[A-Z])(?![\w'’]|\.[A-Za-z]|-[a-zA-Z]{2}|-\d|/[A-Za-z]{2}))"
)
_FUNCTION = (
    r"(?:is|was|are|were|because|since|as|and|or|for|due|given|but|not|seems?|appears?|looks?|would|could"
    r"|might|may|best|fits?|matches|"
    r"describes|represents|corresponds|remains|can|cannot|can't|isn't|has|have|shows?|with the|over|than"
    r"|versus|vs|only|alone|also|here|if|so|plus|et|und|y|e|maybe|perhaps|probably|possibly)"
)
_ARTICLE_NEXT = re.compile(rf"\s{{1,3}}(?!{_FUNCTION}\b)[a-z0-9]", re.IGNORECASE)
_PRONOUN_NEXT = re.compile(r"\s{1,3}[a-z']|['’]", re.IGNORECASE)
_CLINICAL = re.compile(
    r"(?:\b(?:class|type|grade|stage|hepatitis|vitamin|group|category|segment|level|zone|views?|series|phase"
    r"|panel|fig(?:ure)?|plane|weber|stanford|"
    r"debakey|child-pugh|pugh|factor|protein|sequence|point|vertebrae?|fracture|subtype|variant|score"
    r"|influenza|streptococcus|lobe|image|slice|frame|"
    r"part|section|case|patient|haemophilia|hemophilia|bosniak|le fort|schatzker|garden|mason|tile|region"
    r"|lesion|mass|nodule|plate|tank|plan))\s{1,3}\Z",
    re.IGNORECASE,
)
_BEFORE_NO = re.compile(
    r"\b(?:not|n't|never|neither|nor|without|rul(?:e|es|ed|ing) out|exclud\w+|eliminat\w+|reject\w*"
    r"|except(?: for)?|other than|rather than|instead of|unlike|"
    r"incorrect|wrong|dismiss\w*|discard\w*|cross(?:ed)? out|than|versus|vs\.?|less likely|cannot be"
    r"|can't be|isn't|aren't|whereas|while|unlikely)"
    r"(?:\s(?:be|is|are|the|options?|choices?|answers?|it|both|either|letters?"
    r"|likely))*[\s:,(\[]{0,4}(?:(?:options?|choices?)\s)?[(\[]?\Z",
    re.IGNORECASE,
)
_LISTED_BEFORE = re.compile(
    r"(?:[(\[]?[A-Z][)\]]?\s{0,3}(?:,|;|/|&|\+|\band\b|\bor\b|,\s?and|,\s?or)\s{0,3}(?:options?\s"
    r"|choices?\s)?[(\[]?)+\Z"
)
_LISTED_AFTER = re.compile(r"[)\]]?" + _LIST)
_AFTER_NO = re.compile(
    r"(?![)\]]?[.,;]?\s{0,3}(?:and |but )?not\s{1,3}(?:option\s|choice\s)?[(\[]?[A-Z](?!\w))"  # "B, not A" rejects A
    r"(?:[)\].:,\"']{0,3}\s{0,3}(?:[-–—=:]\s{0,3})?|\s?\?\s{1,3})(?:(?:which|that|both|all|also|therefore|thus|clearly|most"
    r"|would|looked|yet|and|but)\s)*"
    r"(?:is|are|was|were|can be|could be|may be|looks?|seems?|appears?|has been|have been"
    r"|be)?\s{0,2}(?:also |both |all |clearly |therefore |thus |most |very |quite |each )*"
    r"(?:not\b|n't\b|incorrect|wrong|false|unlikely|less likely|less consistent|excluded|eliminated"
    r"|ruled out|rejected|absent|untrue|inconsistent|impossible|improbable|"
    r"too\b|cannot|can't|doesn't|does not|do not|don't|didn't|isn't|aren't|wasn't|out\b|no\b|✗|❌|×)",
    re.IGNORECASE,
)
_TENTATIVE = re.compile(
    r"[)\]]?(?:\s{0,3}(?:,|and|or)\s{0,3}[(\[]?[A-Z][)\]]?){0,6}\s{1,3}(?:(?:would|could|might|may|can)\b"
    r"|(?:is|are|seems?|looks?)\s(?:both |all |also |equally )?"
    r"(?:possible|plausible|conceivable|tempting|candidates?)\b)",
    re.IGNORECASE,
)
_CLAUSE_START = re.compile(r"[.;!?\n](?=\s|\Z)|\b(?:but|however|so|therefore|thus|hence)\b", re.IGNORECASE)


_MOST = 400  # mentions looked at: nobody argues longer, a loop may


@dataclass(frozen=True, slots=True)
class Mention:
    """A letter named in a text.

    Attributes:
        letter: The capital.
        start: Where it stands.
        end: Where it ends.
        strong: Named as an option ("option B", "(B)"), not only a capital that stands alone.
        rejected: Negated, eliminated or compared against.
        tentative: Only considered ("A would show ...").
    """

    letter: str
    start: int
    end: int
    strong: bool
    rejected: bool
    tentative: bool


def mentions(text: str, letters: Iterable[str]) -> list[Mention]:
    """All mentions of options from left to right, without capitals that are words or parts of clinical terms."""
    allowed = frozenset(letters)
    found: list[Mention] = []
    for match in _MENTION.finditer(text):
        if len(found) >= _MOST:
            break
        written = match["named"] or match["inside"] or match["capital"]
        strong = match["capital"] is None
        if match["inside"] and written.islower() and written not in "abcdefgh":
            continue
        if (
            match["named"]
            and written.islower()
            and (written == "a" or len(allowed) == 26)
            and not match[0].rstrip().endswith((")", "]"))
        ):
            continue
        letter = written.upper()
        if letter not in allowed or (not strong and is_word(text, match.end(), match.start(), written)):
            continue
        found.append(
            Mention(
                letter, match.start(), match.end(), strong, rejected(text, match.start(), match.end()),
                _TENTATIVE.match(text, match.end()) is not None,
            )
        )  # fmt: skip
    return found


def is_word(text: str, end: int, start: int, letter: str) -> bool:
    """Whether a capital that stands alone is a word or part of a clinical term."""
    if _CLINICAL.search(text[max(0, start - 24) : start]):
        return True
    if letter == "A":
        return _ARTICLE_NEXT.match(text, end) is not None
    return letter == "I" and _PRONOUN_NEXT.match(text, end) is not None


def rejected(text: str, start: int, end: int) -> bool:
    """Whether the words around a mention negate or eliminate it, alone or in a list."""
    low = max(0, start - 80)
    before = text[low:start]
    cut = 0
    for stop in _CLAUSE_START.finditer(before):
        cut = stop.end()
    before = before[cut:]
    listed = (
        _LISTED_BEFORE.search(before)
        if before.rstrip(" ([")[-3:].endswith((",", ";", "/", "&", "+", "and", "or"))
        else None
    )
    if _BEFORE_NO.search(before) or (listed and _BEFORE_NO.search(before[: listed.start()])):
        return True
    after = _LISTED_AFTER.match(text, end, min(len(text), end + 60))
    return _AFTER_NO.match(text, after.end() if after else end) is not None


def rejects_own_text(said: str, option: str) -> bool:
    """Whether a text is the option's own text followed by its rejection, as in "simple cyst is wrong because"."""
    own = option.casefold().strip()
    return bool(own) and said.casefold().startswith(own) and _AFTER_NO.match(said, len(own)) is not None


# --- option texts ----------------------------------------------------------------------------------------------------

_NOT_WORD = re.compile(r"[^\w%./+<>=-]+")
_TRIM = ".,;:-/=+<> "
_TEXT_NO = re.compile(
    r"\b(?:no|not|without|n't|neither|nor|rul(?:e|ed|es|ing) out|exclud\w+|unlike|rather than|instead of"
    r"|less likely|unlikely|than|versus|vs|absence of|negative for|eliminat\w+)"
    r"(?:\s(?:be|is|a|an|the|likely|consistent with|typical of|suggestive of|for|of|any))*\s?\Z"
)
_TEXT_NO_AFTER = re.compile(
    r"\s(?:is|are|was|were|would be|can be|seems)\s(?:not|unlikely|less likely|excluded|ruled out|incorrect"
    r"|wrong|absent|eliminated)\b"
)


def plain(text: str) -> str:
    """Lower case, punctuation and runs of blanks as one blank; decimals and signs stay."""
    words = (word.strip(_TRIM) for word in _NOT_WORD.sub(" ", text.casefold()).split())
    return " ".join(word for word in words if word)


def bare(text: str) -> str:
    """:func:`plain` without a leading article."""
    out = plain(text)
    for article in ("a ", "an ", "the ", "it is ", "this is "):
        if out.startswith(article):
            out = out[len(article) :]
    return _OF_THESE.sub(r"\g<how> of the above", out) if _OF_THESE.match(out) else out


_OF_THESE = re.compile(
    r"(?P<how>none|all)(?: of)?(?: the| these| those)?(?: above| options| choices| answers| these| those| them)+\Z"
)


def same_text(text: str, options: Mapping[str, str]) -> str | None:
    """The letter of the option whose text is exactly the given one, or ``None``."""
    wanted = bare(text)
    found = [letter for letter, option in options.items() if bare(option) == wanted and wanted]
    return found[0] if len(found) == 1 else None


def texts_in(text: str, options: Mapping[str, str]) -> list[str]:
    """Letters of the options whose text stands in the given one as whole words and is not negated, longest first.

    A text that only stands inside a longer option's text does not count (citadel-ai/langcheck#204).
    """
    body = f" {plain(text[:20_000])} "
    taken: list[tuple[int, int]] = []
    found: dict[str, int] = {}
    for letter, option in sorted(options.items(), key=lambda item: -len(item[1])):
        wanted = f" {bare(option)} "
        if len(wanted) < 4:
            continue
        at = body.find(wanted)
        while at >= 0:
            inside = (at + 1, at + len(wanted) - 1)
            if not any(s <= inside[0] and inside[1] <= e for s, e in taken):
                taken.append(inside)
                negated = _TEXT_NO.search(body[max(0, at - 40) : at + 1].rstrip() + " ") or _TEXT_NO_AFTER.match(
                    body, inside[1]
                )
                if not negated:
                    found.setdefault(letter, at)
            at = body.find(wanted, at + 1) if len(taken) < 200 else -1
    return sorted(found, key=lambda letter: found[letter])
