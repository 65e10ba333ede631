r"""Explicit marks of an answer: ``<answer>``, ``\boxed{}``, "Answer: ...", JSON answer keys. The last one wins.

Positions are those of the text given; decoration (bold, LaTeX, quotes) is replaced by blanks of the same length, so
that a reader can look through it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slicewise.parse import jsonish
from slicewise.parse.box_forms import plain

_TAG = re.compile(
    r"(?:<(?P<tag>answer|final_answer|final|conclusion|response|choice)>|<\|begin_of_box\|>)(?P<body>.{0,4000}?)"
    r"(?:</(?P=tag)>|<\|end_of_box\|>|\Z|(?=<answer>))",
    re.IGNORECASE | re.DOTALL,
)
_BOXED = re.compile(r"(?:\\{1,4}|(?<![A-Za-z]))f?b?oxed\s{0,3}\{")
_NOUN = (
    r"(?:answers?|choices?|options?|responses?|selections?|conclusion|verdict|diagnosis|predictions?|solution"
    r"|judge?ment|ans)"
)
_KIND = (
    r"(?:(?:final|correct|best|right|likely|most|selected|chosen|proper|appropriate|accurate|overall|single|true"
    r"|probable|short|direct|my|applicable|ultimate|predicted)\s){0,4}"
)
_LINK = (
    r"(?:\s{0,3}(?:is|are|was|would be|should be|must be|will be|can be|has to be|(?:appears?|seems?) to be"
    r"|appears|remains|includes?|comes to|equals"
    r"|:|=>|=|-{1,2}>?|–|—|→)){1,3}"
)
_PHRASE = re.compile(
    rf"(?<![\w-])(?:the\s|my\s|our\s|so\s|thus\s|therefore,?\s"
    rf"|hence,?\s){{0,3}}{_KIND}{_NOUN}(?:\([^()\n]{{0,12}}\)|s)?"
    rf"(?:\s(?:to|for|of) (?:the|this|that) (?:\w+\s?){{1,3}})?{_LINK}"
    rf"|(?:\A|(?<=\n))#{{1,6}}[ \t]*(?:the\s)?{_KIND}{_NOUN}[ \t]*:?[ \t]*\n"
    rf"|(?:\A|(?<=\n))[ \t]*(?:the\s)?{_KIND}(?:answer|choice|response|verdict|conclusion)[ \t]*\n"
    r"|(?:最终|正确|最佳|我的)?(?:答案|回答|結論|结论|选项|選項)\s{0,2}(?:应该|应)?\s{0,2}(?:是|为|為|選|选|:|:)\s{0,2}|答えは|答え\s?:"
    r"|解答\s?:|정답은|정답\s?:|답\s?:|답은"
    r"|(?<!\w)ans\.\s{0,3}(?=[(A-Z\d])"
    r"|\b(?:die (?:richtige |korrekte )?)?antwort(?:\s?(?:ist|lautet))?\s?:?(?=\s)|\bantwort(?:en)?\s?:"
    r"|\b(?:la )?(?:bonne )?réponse (?:correcte |finale )?(?:est\s|:\s?)|\bréponses?\s?:"
    r"|\b(?:la )?respuesta (?:correcta |final )?(?:es\s|:\s?)|\brespuestas?\s?:"
    r"|\b(?:la )?risposta (?:corretta )?(?:è\s|:\s?)|\brisposta\s?:"
    r"|\b(?:a )?resposta (?:correta )?(?:é\s|:\s?)|\bresposta\s?:|\bответ\s?[:—-]|\b(?:правильный )?ответ\s"
    r"|\bcevap\s?:|\bsvar\s?:|\bantwoord\s?:|\bodpowiedź\s?:|الإجابة\s?(?:هي|:)",
    re.IGNORECASE,
)
_CHOSEN = frozenset(
    {"correct", "right", "best", "final", "selected", "chosen", "applicable", "true", "answer", "answers", "my"}
)
_CHOOSE = re.compile(
    r"(?<!not )(?<!n't )(?<!cannot )\b(?:choose|chose|choosing|select(?:ed|ing)?|pick(?:ed)?"
    r"|go(?:ing)? (?:with|for)|went with|opt(?:ed)? for|settle[d]? (?:on|for)"
    r"|vote for|lean(?:ing)? (?:toward|to)s?|leav(?:es|ing)(?: only| us with)?|left with|(?:i|we)(?:'d"
    r"| would)? say(?: that)?(?: it is| it's)?|conclude(?: that)?(?: it is)?)\s{1,3}"
    r"|(?:应该|应当|应|我|故|因此|所以|可|就|并)?\s?[选選](?:择|擇|项|項)?(?:为|是|了)?\s{0,2}:?\s{0,2}(?=[A-Za-z(])",
    re.IGNORECASE,
)
_DECORATION = re.compile(r"\*{1,3}|_{2,3}|`{1,3}|\$|\\[()\[\]]|[\"“”„«»]|\\\\(?=\s)|‘(?=\w)|(?<=\w)’(?!\w)")
_QUOTED_LETTER = re.compile(r"(?<!\w)'([A-Za-z])'(?!\w)")
_HTML = re.compile(r"</?(?:b|i|u|em|strong|span|div|p|h[1-6]|li|ul|ol|mark|big)(?:\s[^<>\n]{0,60})?>")
_MACRO = re.compile(
    r"\\(?:text|mathrm|mathbf|textbf|mathit|textit|operatorname|rm|bf|mbox|boxed|fbox|textsf|mathsf|mathbb|emph)\s?\{"
)
_STRUCK = re.compile(r"~~[^~\n]{1,200}~~|<(?P<s>s|del|strike)>[^<\n]{1,200}</(?P=s)>", re.IGNORECASE)
ANSWER_KEYS = (
    "finalanswer", "answer", "correctanswer", "youranswer", "modelanswer", "answers", "finalanswers", "selectedanswer",
    "choice", "choices", "selected", "selectedoption", "selectedoptions", "selection", "option", "options", "letter",
    "letters", "prediction", "response", "result", "verdict", "label", "output", "value", "conclusion", "ans",
)  # fmt: skip
_INNER_KEYS = ("letter", "option", "choice", "answer", "value", "label", "selected", "text")


@dataclass(frozen=True, slots=True)
class Marker:
    """One explicit mark.

    Attributes:
        at: Where its content begins.
        line: The content up to the end of its line.
        block: The content up to a blank line or the next mark.
        kind: ``tag``, ``boxed``, ``phrase`` or ``choose``.
    """

    at: int
    line: str
    block: str
    kind: str


def look_through(text: str) -> str:
    """The text with bold, quotes and LaTeX blanked and what is struck out removed, positions kept."""
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(lambda m: " " * len(m[0]), text)
    if "</" in text:
        text = _HTML.sub(lambda m: " " * len(m[0]), text)
    if "\\" in text:
        text = _MACRO.sub(lambda m: " " * len(m[0]), text)
    if "'" in text:
        text = _QUOTED_LETTER.sub(r" \1 ", text)
    return _DECORATION.sub(lambda m: " " * len(m[0]), text)


def boxed(text: str) -> list[tuple[int, str]]:
    r"""Contents of ``\boxed{...}`` with their positions, braces balanced, macros and nested boxes peeled."""
    found: list[tuple[int, str]] = []
    if "oxed" not in text:
        return found
    done = 0
    for match in _BOXED.finditer(text):
        if match.start() < done:
            continue
        depth, at, limit = 1, match.end(), min(len(text), match.end() + 2000)
        while at < limit and depth:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
        body = text[match.end() : at - 1 if depth == 0 else at]
        found.append((match.end(), unwrap(body)))
        done = at
    return found


def unwrap(body: str) -> str:
    """A short content without macros, braces, quotes and emphasis."""
    for _ in range(4):
        peeled = _DECORATION.sub("", _MACRO.sub("", body)).strip().strip("{}").strip()
        if peeled == body:
            break
        body = peeled
    return body


def find(text: str) -> list[Marker]:
    """All explicit marks of a cleaned text in order of position."""
    marks: list[Marker] = [Marker(at, body, body, "boxed") for at, body in boxed(text)]
    if "<" in text:
        for tag in _TAG.finditer(text):
            body = look_through(tag["body"]).strip()
            inside = boxed(tag["body"])
            content = inside[-1][1] if inside else body
            marks.append(Marker(tag.start("body"), content, content, "tag"))
    clear = look_through(text)
    heads = [(m.start(), m.end(), "phrase") for m in _PHRASE.finditer(clear) if not _lists_options(m[0])]
    heads += [(m.start(), m.end(), "choose") for m in _CHOOSE.finditer(clear)]
    heads.sort()
    for i, (_, end, kind) in enumerate(heads):
        stop = heads[i + 1][0] if i + 1 < len(heads) and heads[i + 1][0] >= end else min(len(clear), end + 600)
        marks.append(_phrase(clear, end, min(stop, end + 600), kind))
    marks.sort(key=lambda mark: mark.at)
    return marks


def _lists_options(phrase: str) -> bool:
    """Whether a phrase such as "the options are" lists what there is to choose from."""
    words = set(re.findall(r"[a-z]+", phrase.lower()))
    return bool(words & {"options", "choices"}) and not words & _CHOSEN


def _phrase(clear: str, end: int, stop: int, kind: str) -> Marker:
    content = clear[end:stop]
    lead = len(content) - len(content.lstrip(" \t\r\n:*-•>#"))
    content = content[lead:]
    block = content.split("\n\n")[0]
    return Marker(end + lead, block.split("\n")[0].strip(), block.strip(), kind)


def json_answers(text: str, keys: tuple[str, ...] = ()) -> list[Any] | None:
    """Values under the answer keys of the JSON objects in a text; ``None`` when it holds no object.

    Args:
        text: The cleaned text.
        keys: Plain key names to look for before the usual ones.
    """
    if "{" not in text and '":' not in text:
        return None
    whole = jsonish.strict(text)
    values = [whole] if whole is not None else jsonish.find(text)
    if not values:
        return None
    out: list[Any] = []
    for value in values:
        nodes = value.value if isinstance(value.value, list) else [value.value]
        for node in nodes[:1000]:
            if isinstance(node, dict):
                out += _under(node, (*keys, *ANSWER_KEYS))
    return out


def _under(node: dict[str, Any], keys: tuple[str, ...]) -> list[Any]:
    names = {plain(name): name for name in node}
    for key in keys:
        if key in names:
            value = node[names[key]]
            if isinstance(value, dict):
                inner = {plain(name): name for name in value}
                value = next((value[inner[want]] for want in (*keys[:6], *_INNER_KEYS) if want in inner), None)
            return [value]
    return []
