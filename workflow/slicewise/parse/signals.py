"""Side information about a text: refusal, hedge, repetition loop, cut end. None of it is ever an answer."""

from __future__ import annotations

import re

_EDGE = 400  # characters looked at on either side

_CANNOT = (
    r"(?:can(?:not| not|'t)|could(?: not|n't)|won't|will not|am (?:not able|unable|not allowed|not permitted) to"
    r"|'m (?:not able|unable|not allowed) to|are unable to|must decline|have to decline|decline to|refuse to)"
)
_TASK = (
    r"(?:assist|help|provide|give|offer|interpret|analy[sz]e|evaluate|assess|judge|rate|score|grade|diagnose"
    r"|view|open|access"
    r"|process|read|count|comply|answer|respond|comment|discuss|make|perform|fulfil|share|generate|draw|review|examine"
    r"|(?:see|identify|locate|determine|display|load) (?:the|this|your|an?y?|these) (?:image|scan|slice"
    r"|picture|study|file|frame)"
    r"|do (?:that|this)|continue|engage|advise|locali[sz]e)"
)
_REFUSAL = re.compile(
    rf"\b(?:i|we) ?{_CANNOT}(?: \w+){{0,2}}? {_TASK}"
    r"|\b(?:i'm|i am|we are|we're) (?:really |very |so )?(?:sorry|afraid)\b[^\n]{0,60}?(?:\bbut\b|[,.;:]|\bi\b)"
    r"|\bas an? (?:ai|artificial|large language|language)\b[^.\n]{0,60}\b(?:can(?:not|'t)|not|unable|don't)\b"
    r"|\bsorry\b[^.!?\n]{0,80}\b(?:can(?:not|'t)|unable|could not|couldn't|not able|won't)\b"
    rf"|\A\W*(?:unable|not able) to {_TASK}"
    r"|\b(?:cannot|can't|could not|couldn't) be (?:opened|loaded|displayed|viewed|accessed|processed)\b"
    r"|\bno (?:image|scan|study|studie|frame|slice)s? (?:(?:was|were|is|are|has been|have been) )?(?:provided|attached"
    r"|uploaded|visible|found|available|loaded|received)"
    r"|\A\W*(?:please )?(?:consult|seek) (?:with )?(?:a|an|your) [^.\n]{0,40}(?:doctor|physician|radiologist"
    r"|professional)"
    r"|\bi(?:'m| am) (?:not (?:a|qualified)|only|just an?)\b[^.\n]{0,60}\b(?:doctor|physician|radiologist"
    r"|medical|ai|model)\b"
    r"[^.\n]{0,60}\b(?:can(?:not|'t)|unable|not)\b"
    r"|(?:很)?抱歉|对不起|無法|无法(?:提供|协助|回答|分析|查看)|不能提供"
    r"|申し訳|es tut mir leid|lo siento|je suis désolé|mi dispiace"
    r"|desculpe|извините|не могу|죄송",
    re.IGNORECASE,
)
_HEDGE = re.compile(
    r"\b(?:maybe|perhaps|possibly|probably|presumably|unclear|uncertain|indeterminate|inconclusive|equivocal"
    r"|undetermined"
    r"|unsure|unknown|not (?:entirely |completely |quite )?(?:sure|certain|clear|possible|conclusive)|may or may not"
    r"|(?:can(?:not|'t| not)|could not|couldn't) (?:be )?(?:\w+ )?"
    r"(?:determin|say|tell|confirm|exclud|rule|assess|conclu|definit|establish|ascertain)\w*"
    r"|(?:hard|difficult|impossible|not possible) to (?:say|tell|determine|assess|judge|know)"
    r"|(?:do not|don't) know|no idea|insufficient|not enough (?:information|data|evidence)|depends"
    r"|yes and no|either|might|may|could (?:be|represent|indicate)"
    r"|neither yes nor no|n/a\b|not applicable|needs? (?:further|more|additional))"
    r"|不确定|不清楚|可能|也许|无法判断|无法确定|不好说|vielleicht|möglicherweise|peut-être|quizás|tal vez",
    re.IGNORECASE,
)
_STOP = re.compile(r"(?<=[a-z)][.!?])\s+(?=\S)")
_GOES_ON = re.compile(
    r"(?:\A|\s)(?:a|an|the|of|and|or|but|because|since|with|without|in|on|at|to|from|by|for|than|which|whereas|while"
    r"|is|are|was|were|its|this|that)\Z",
    re.IGNORECASE,
)
_CLOSING = frozenset(".!?:;)]}>\"'`*|。!?」』】…%$")


def refuses(text: str) -> bool:
    """Whether the beginning of a text declines to answer."""
    return _REFUSAL.search(text[:_EDGE].replace("’", "'")) is not None


def hedges(text: str) -> bool:
    """Whether a text says that it does not commit itself."""
    return _HEDGE.search(text[: 2 * _EDGE].replace("’", "'")) is not None


def loops(text: str) -> bool:
    """Whether the end of a text repeats itself at least three times (QwenLM/Qwen3-VL#1611).

    A last piece that was cut in mid-repetition is allowed. Only the last words are looked at, so the work is bounded.
    """
    words = text[-4000:].split()
    return any(_periodic(words[: len(words) - cut]) for cut in range(min(13, len(words) // 3 + 1)))


def _periodic(words: list[str]) -> bool:
    for period in range(1, min(40, len(words) // 3) + 1):
        last = words[-period:]
        if last == words[-2 * period : -period] == words[-3 * period : -2 * period]:
            return True
    return False


def open_ended(text: str) -> bool:
    """Whether a text ends inside an open bracket or brace."""
    end = text.rstrip()[-_EDGE:]
    return any(end.rfind(opened) > end.rfind(closed) for opened, closed in ("[]", "{}"))


def looks_cut(text: str) -> bool:
    """Whether a text ends inside a bracket or in mid-sentence.

    A reply without any full stop is complete, unless it ends on a word that must go on ("because", "the"); one that
    sets full stops and lacks the last one is cut.
    """
    tail = text.rstrip()
    if not tail:
        return False
    if open_ended(tail):
        return True
    if tail[-1] in _CLOSING:
        return False
    last = _STOP.split(tail[-_EDGE:])
    return _GOES_ON.search(tail[-20:]) is not None or (len(last) > 1 and len(last[-1].split()) > 6)


_HEAD, _TAIL = 8_000, 16_000


def ends(text: str) -> str:
    """The text, or of a very long one its beginning and its end: an answer stands at one of them.

    It bounds the work of the readers of answers; boxes are read in the whole text.
    """
    if len(text) <= _HEAD + _TAIL:
        return text
    return f"{text[:_HEAD]}\n\n{text[-_TAIL:]}"
