"""Yes or no: a mark, then the first word, then a sentence of its own, then a plain negation. Never a substring."""

from __future__ import annotations

import re
from typing import Any

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import jsonish, markers, signals
from slicewise.parse.box_forms import plain as key
from slicewise.parse.box_json import REASONING_KEYS
from slicewise.parse.clean import Clean, clean
from slicewise.parse.restated import opposites, restated

_YES = (
    r"yes|yeah|yep|yup|yea|affirmative|correct|true|indeed|(?:certainly|definitely|absolutely|of course)(?! not)"
    r"|positive|present|ja|oui|sí|sì|si|sim|да|はい"
    r"|예|네|نعم|हाँ|हां|evet|tak|có"
)
_NO = (
    r"no(?!\.[ \t]?\d)|nope|nah|negative|incorrect|false|none|absent|not at all|not present|not seen|not visible"
    r"|not detected|not identified|certainly not"
    r"|definitely not|absolutely not|of course not|nein|non|não|nao|нет|いいえ|아니요|아니오|لا|नहीं|hayır|nie|nee|không"
)
_HAN_NO = r"没有|沒有|不是|不存在|未见|未見|不正确|不正確|不对|否|无|無|不"
_HAN_YES = r"是的|存在|正确|正確|可见|可見|有|对的|对|是(?!否)"
_TOKEN = re.compile(
    rf"(?P<yes>(?<!\w)(?:{_YES})(?!\w)(?!['’]\w)(?!-\w)|{_HAN_YES})"
    rf"|(?P<no>(?<!\w)(?:{_NO})(?!\w)(?!['’]\w)(?!-\w)|{_HAN_NO})",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"[\s*_#>\"'“”‘’(\[{`.,:;!\-–—•✅❌✓✗☑►]*(?:(?:well|so|ok|okay|hmm|sure|thus|therefore|overall"
    r"|based on (?:the|this|these) [^,.\n]{0,60}"
    r"|(?:while |although )?i(?:'m| am) (?:not|only|just) an? [^,.;\n]{0,40}[,;] but)[,:]?\s)?"
    r"(?:(?:it is|it's|that is|that's|this is) )?",
    re.IGNORECASE,
)
_IDIOM = re.compile(
    r"\b(?:there (?:is|can be|remains) )?(?:no|without(?: a| any)?|beyond(?: any"
    r"| a)?)\s(?:shadow of a\s)?(?:doubt|question|denying|mistake|problem)(?:\s(?:that|about it))?"
    r"|\bno (?:sooner|longer|matter|wonder|less than|more than|later than|other than|one)\b|\bnot only\b|\bnumber no\.",
    re.IGNORECASE,
)
_EITHER = re.compile(
    r"\byes\s?(?:/|or|and|\|)\s?no\b|\bno\s?(?:/|or)\s?yes\b|\btrue\s?(?:/|or)\s?false\b", re.IGNORECASE
)
_HEDGED_LEAD = re.compile(
    r"\A\W*(?:it(?:'s| is) )?(?:maybe|perhaps|possibly|probably|likely|most likely|presumably|not (?:sure"
    r"|certain|clear)|unclear|uncertain|i(?:'m| am) not sure)\b",
    re.IGNORECASE,
)
_ABSENT = (
    r"(?:not (?:present|seen|visible|evident|identified|detected|found|observed|noted|demonstrated"
    r"|visuali[sz]ed|there|apparent|appreciated|shown)"
    r"|absent|n't (?:present|seen|visible|any))"
)
_PRESENT = r"(?:present|seen|visible|evident|identified|detected|found|observed|noted|there)"
_NEGATED = re.compile(
    rf"\b(?:is|are|was|were|be|been)(?: also| clearly| currently)? {_ABSENT}\b|\bthere(?:'s| is| are| was"
    rf"| were) (?:no|not)\b|\bthere (?:isn't|aren't)\b"
    r"|\A\W*(?:no|not?) (?:evidence|sign|signs|indication)\b|\bno (?:evidence|signs?|indication"
    r"|findings?) of\b|\babsen(?:t|ce of)\b"
    r"|\b(?:do|does|did|can)(?: not|n't|not) (?:see|show|reveal|demonstrate|identify|find|detect|contain"
    r"|have|exhibit|appreciate)\b|\bcannot (?:see|identify|detect|find)\b"
    r"|\bfail(?:s|ed)? to (?:show|reveal|demonstrate|identify|detect|depict)\b"
    r"|\bnegative for\b|\bfree of\b|\bruled out\b|\bwithout (?:any )?(?:evidence|signs?)\b|\bkein(?:e"
    r"|en)? (?:hinweis|anzeichen)\b|\bno (?:obvious |definite |acute |visible |focal "
    r"|such )?\w+[^.;,]{0,60}\b(?:is|are|was|were) " + _PRESENT + r"\b",
    re.IGNORECASE,
)
_ASSERTED = re.compile(
    rf"\b(?:is|are|was|were) (?:clearly |indeed |definitely |also )?{_PRESENT}\b|\bexists?\b"
    rf"|\bthere(?:'s| is| are) (?:a|an|clear|definite|evidence|some|multiple|several)\b",
    re.IGNORECASE,
)
_POSITIVE_FOR = re.compile(r"\A\W*(?:the \w+ is |study is |it is )?positive for\b", re.IGNORECASE)
_CLAUSE = re.compile(
    r"[,;:.!?\n]|\b(?:but|however|although|though|whereas|while|yet|except|because|since|as)\b", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?\n。!?])\s*")
_CORRECTED = re.compile(
    r"\b(?:actually|wait|correction|on (?:second thought|review|reflection|closer (?:inspection|look"
    r"|review))|scratch that|let me correct|i (?:was wrong|take that back)|sorry)\b[^.\n]{0,40}?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUESTION_STOP = frozenset([
    "is", "are", "was", "were", "there", "a", "an", "the", "any", "of", "in", "on", "this", "that", "these",
    "those", "do", "does", "did", "can", "could", "has", "have", "evidence", "sign", "signs", "image", "images",
    "scan", "mri", "ct", "volume", "slice", "slices", "frame", "seen", "visible", "present", "show", "shows",
    "you", "see", "it", "and", "or", "for", "with", "to", "be",
])  # fmt: skip


def read_yes_no(text: str | Clean | None, question: str | None = None) -> Reading[str]:
    """Read ``"yes"`` or ``"no"``.

    Args:
        text: The model's text, cleaned or not.
        question: The question; lets a bare predicate ("Not normal.") answer it and tells contradictions apart.

    Returns:
        ``"yes"`` or ``"no"``; ``unparsed`` with the flag ``hedge``, ``contradiction`` or ``conflict`` when it commits
        to neither. A statement that only implies the answer is ``unparsed``.
    """
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    flags = list(cleaned.flags)
    body = cleaned.text
    if signals.loops(body):
        flags.append("loop")
    value, stage = _from_json(body)
    body = signals.ends(body)
    if value is None:
        value, stage = _from_marks(body)
    if value is not None:
        return ok(value, stage, *flags)
    if jsonish.strict(body) is not None:  # its own fields have not answered; its punctuation is no prose
        return _nothing(body, flags)
    shown = _without_questions(markers.look_through(body).replace("’", "'"))
    told = _EITHER.search(shown[:200])
    if told and _TOKEN.match(after := shown[told.end() :].lstrip(" )].:?!\n")):  # "Answer yes or no. Yes"
        shown = after
    plain = _IDIOM.sub(lambda m: " " * len(m[0]), shown)
    return _prose(body, plain, question, flags, idiom=_IDIOM.search(shown[:200]) is not None)


_ASKED = re.compile(r"\A[^.!?\n]{0,300}\?\s*(?=\S)")


def _without_questions(text: str) -> str:
    """The text without questions that it begins with: an echo, or one that the model asks itself."""
    for _ in range(3):
        rest = _ASKED.sub("", text)
        if rest == text:
            break
        text = rest
    return text


def _prose(body: str, plain: str, question: str | None, flags: list[str], *, idiom: bool) -> Reading[str]:
    if signals.refuses(body):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    if _HEDGED_LEAD.match(plain) or _EITHER.search(plain):
        return failed(Outcome.UNPARSED, "none", *flags, "hedge" if _HEDGED_LEAD.match(plain) else "conflict")
    value, stage, noticed = _leading(plain, question)
    if value is not None:
        return ok(value, stage, *flags, *noticed)
    if noticed:
        return failed(Outcome.UNPARSED, stage, *flags, *noticed)
    value, stage, noticed = _later(plain, question)
    if value is not None:
        return ok(value, stage, *flags, *noticed)
    if idiom and not plain.strip(" .,!\n"):  # "No doubt."
        return ok("yes", "idiom", *flags)
    if idiom and _ASSERTED.search(plain) and not _NEGATED.search(plain):  # "No doubt, there is a mass"
        return ok("yes", "idiom", *flags)
    return _nothing(body, [*flags, *noticed])


def _nothing(body: str, flags: list[str]) -> Reading[str]:
    if signals.hedges(body):
        flags.append("hedge")
    elif "truncated" in flags or signals.looks_cut(body):
        return failed(Outcome.TRUNCATED, "none", *flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *flags)


def _from_json(body: str) -> tuple[str | None, str]:
    found = markers.json_answers(body, ("yesno", "isabnormal", "present"))
    for value in found[::-1] if found else _lone_fields(body):
        if isinstance(value, bool):
            return ("yes" if value else "no"), "json"
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, str):
            read = _head(markers.look_through(value))
            if read is not None:
                return read, "json"
    return None, ""


def _lone_fields(body: str) -> list[Any]:
    """The one field of a JSON reply that says yes or no, whatever it is called; none when several do."""
    whole = jsonish.strict(body)
    if whole is None or not isinstance(whole.value, dict):
        return []
    fields = {name: value for name, value in whole.value.items() if key(name) not in REASONING_KEYS}
    said = [
        value
        for value in fields.values()
        if (isinstance(value, bool) and len(fields) == 1) or (isinstance(value, str) and _head(value) is not None)
    ]
    return said if len(said) == 1 else []


def _from_marks(body: str) -> tuple[str | None, str]:
    """The last mark whose content begins with yes or no."""
    for mark in reversed(markers.find(body)):
        turned = _NOT_BUT.match(mark.line)
        if turned is not None and turned["said"].lower() != turned["instead"].lower():
            return turned["instead"].lower(), "marker"
        if mark.kind == "choose" and _CONDITION.search(body[max(0, mark.at - 120) : mark.at]):
            continue
        value = _head(mark.line)
        if value is not None and not re.match(r"[^?]{0,8}\?", mark.line):
            return value, {"tag": "answer_tag", "boxed": "boxed"}.get(mark.kind, "marker")
    return None, ""


def _head(content: str) -> str | None:
    """Yes or no at the head of a short content; ``None`` for "no doubt" and for a noun after "no" in a mark."""
    if _EITHER.match(content.strip()) or _HEDGED_LEAD.match(content):
        return None
    content = _IDIOM.sub("", content)
    lead = _LEAD.match(content)
    match = _TOKEN.match(content, lead.end() if lead else 0)
    if match is None:
        short = content.strip(" .()[]{}*'\"").lower()
        return {"y": "yes", "n": "no"}.get(short)
    return "yes" if match["yes"] else "no"


_NOT_BUT = re.compile(
    r"\W*not (?P<said>yes|no)\b\W{0,4}(?:but |it is |it's |rather )?(?P<instead>yes|no)\b", re.IGNORECASE
)
_CONDITION = re.compile(r"\b(?:if|unless)\b[^.!?\n]*\Z", re.IGNORECASE)
_WORDY = frozenset(
    {"correct", "true", "positive", "present", "certainly", "definitely", "absolutely", "indeed", "si", "tak", "có"}
)
_WORDY_NO = frozenset({"incorrect", "false", "negative", "none", "absent", "non", "nie"})


def _leading(plain: str, question: str | None) -> tuple[str | None, str, list[str]]:
    """The first word of the text, unless the clause that it opens says the opposite."""
    stripped = plain.strip(" \n.()[]{}*'\"!:").lower()
    if stripped in ("y", "n"):
        return ("yes" if stripped == "y" else "no"), "whole", []
    lead = _LEAD.match(plain)
    start = lead.end() if lead else 0
    match = _TOKEN.match(plain, start)
    if match is None:
        return None, "", []
    word, rest = match[0].lower(), plain[match.end() :]
    value = "yes" if match["yes"] else "no"
    alone = re.match(r"\s{0,2}(?:[.,;:!\n)\-–—]|\Z|for\b)", rest) is not None
    if word == "none":  # "None seen."
        alone = alone or re.match(rf" (?:is |are |was |were )?{_PRESENT}\b", rest, re.I) is not None
    if (word in _WORDY or word in _WORDY_NO) and not alone:
        return None, "", []
    turn = re.match(r"\s?[,/]\s?(yes|no)\s?(?:[,.;!]|\Z)", rest, re.I)
    if turn is not None and turn[1].lower() != value:
        return None, "conflict", ["conflict"]
    corrected = _correction(rest)
    if corrected is not None:
        return corrected, "corrected", ["corrected"]
    clause = _first_clause(rest)
    if value == "yes" and _NEGATED.search(clause) and _about(clause, question):
        return None, "contradiction", ["contradiction"]
    if value == "no" and re.match(r"\s{0,2}[,.:;!\-–—]", rest) and _denied_denial(clause, question):
        return None, "contradiction", ["contradiction"]
    other = _lone_sentence(rest)
    if other is not None and other != value:
        return None, "conflict", ["conflict"]
    return value, "leading", []


def _first_clause(rest: str) -> str:
    rest = rest.lstrip(" ,.:;!-–—)\n")
    cut = _CLAUSE.search(rest)
    return rest[: cut.start() if cut else 200][:200]


def _denied_denial(clause: str, question: str | None) -> bool:
    return (
        _ASSERTED.search(clause) is not None
        and _NEGATED.search(clause) is None
        and question is not None
        and _about(clause, question)
    )


def _content_words(text: str) -> set[str]:
    return {word.lower().rstrip("s") for word in _WORD.findall(text)} - {w.rstrip("s") for w in _QUESTION_STOP}


def _about(clause: str, question: str | None) -> bool:
    """Whether a clause speaks of what the question asks; "the finding" and "it" always do."""
    if question is None:
        return True
    words = _content_words(clause)
    return (
        bool(words & _content_words(question))
        or re.search(
            r"\b(?:it|findings?|abnormal\w*|such|one|this(?! (?:\w+ )?(?:study|image|scan|slice|volume"
            r"|frame|mri)))\b",
            clause,
            re.I,
        )
        is not None
    )


def _correction(rest: str) -> str | None:
    found = list(_CORRECTED.finditer(rest[:2000]))
    if not found:
        return None
    match = re.compile(r"\W{0,3}(?:it is |it's |the answer is )?(yes|no)\b", re.I).match(rest, found[-1].end())
    return match[1].lower() if match else None


def _lone_sentence(text: str) -> str | None:
    """Yes or no as a sentence of its own, the last one."""
    value = None
    sentences = _SENTENCE.split(text[-4000:])
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=True):
        if after[:1].isdigit() and sentence.endswith("No."):  # "No. 3" is a number
            continue
        short = sentence.strip(" \n.()[]{}*'\"!:,").lower()
        if short in ("yes", "no"):
            value = short
    return value


def _later(plain: str, question: str | None) -> tuple[str | None, str, list[str]]:
    """A sentence of its own, a bare predicate of the question, a plain negation, or the only yes or no of the text."""
    lone = _lone_sentence(plain)
    if lone is not None:
        return lone, "sentence", []
    echoed = _predicate(plain, question)
    if echoed is not None:
        return echoed, "predicate", []
    if _POSITIVE_FOR.match(plain):
        return "yes", "statement", []
    first = _SENTENCE.split(plain.strip())[0]
    clause = _CLAUSE.split(first.strip())[0]
    if _NEGATED.search(clause) and _about(clause, question) and not _double(clause):
        return "no", "statement", []
    if question is not None and re.match(r"\W*nothing\b", clause, re.I) and _about(clause, question):
        return "no", "statement", []
    said = restated(plain, question)
    return (said, "restated", []) if said is not None else _only(plain)


def _double(clause: str) -> bool:
    return len(re.findall(r"\bnot?\b|n't\b|\babsen|\bfree of|\bwithout|\bexclud|\bunlikely|\bfalse", clause, re.I)) > 1


def _predicate(plain: str, question: str | None) -> str | None:
    """Read "Normal." or "Not normal." to "Is the liver normal?"."""
    if question is None:
        return None
    match = re.fullmatch(
        r"\W*(?:(?:it|this|that|they)(?:'s| is| are| looks?| appears?)\s)?(?P<not>not\s"
        r"|isn't\s)?(?P<word>[^\W\d_]+)\W*",
        plain,
        re.I,
    )
    if match is None or match["word"].lower() in _QUESTION_STOP:
        return None
    word, asked = match["word"].lower(), {w.lower() for w in _WORD.findall(question)}
    turned = opposites(word) & asked
    if word not in asked and not turned:
        return None
    return "no" if bool(match["not"]) != bool(turned) else "yes"


def _only(plain: str) -> tuple[str | None, str, list[str]]:
    """The only plain yes or no of the text, set off by punctuation; a determiner ("no mass") is none."""
    found = {
        m[1].lower()
        for m in re.finditer(r"(?:\A|[\s,;:—–\-(])(?<!not )(yes|no(?!\.[ \t]?\d))(?=\s*(?:[,.;:!)\n]|\Z))", plain, re.I)
    }
    if len(found) == 1 and not (found == {"yes"} and re.search(r"\bno\b|\bnot\b|n't\b", plain, re.I)):
        return found.pop(), "only_token", []
    return None, "", ["conflict"] if len(found) > 1 else []
