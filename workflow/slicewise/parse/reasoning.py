"""Reasoning blocks: what a model wrote for itself leaves the text before anything else looks at it.

Known marks: ``<think>`` and its aliases in any case, square and triangular brackets, Harmony channels with and
without their tokens, the marks of MedGemma and Cohere. A block that never closes means that no answer was given. A
closing mark alone ends a block that the chat template had opened.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_NAMES = (
    r"(?:antml:|seed:|longcat_|ifm\|)?(?:think(?:ing)?|thoughts?|reason(?:ing)?|reflection|rationale|analysis|"
    r"scratch_?pad|ant_?thinking|inner_monologue|cot|chain_of_thought)"
)
_MARK = re.compile(
    rf"(?:<|&lt;|◁|\[(?=/?THINK\]))\s{{0,3}}\|?(?P<slash>/)?\s{{0,3}}{_NAMES}\|?(?:\s[^<>\n]{{0,80}})?"
    rf"\s{{0,3}}(?:>|&gt;|▷|\])"
    r"|(?P<open><unused94>(?:thought\b)?|<\|(?:START_THINKING|begin_of_thought)\|>)"
    r"|(?P<close><unused95>|<\|(?:END_THINKING|end_of_thought)\|>)",
    re.IGNORECASE,
)
# Marks that end a trace although it was never closed (vllm-project/vllm#32216).
_ENDS_TRACE = re.compile(
    r"<answer>|<final_answer>|<\|begin_of_box\|>|<\|?tool_calls?(?:_section_begin)?\|?>|<\|begin_of_solution\|>",
    re.IGNORECASE,
)
_CLOSED_ANSWER = re.compile(
    r"(?:</answer>|</final_answer>|<\|end_of_box\|>|</tool_call>|<\|tool_calls?_section_end\|>|<\|end_of_solution\|>)"
    r"(?:\s|<[^<>\s]{1,40}>)*\Z",
    re.IGNORECASE,
)
_CHANNEL = re.compile(
    r"(?:<\|start\|>\s{0,3}assistant)?\s{0,3}<\|channel\|>\s{0,3}(?P<name>[a-z]+)[^<]{0,80}(?:<\|constrain\|>"
    r"[^<]{0,40})?"
    r"<\|message\|>",
    re.IGNORECASE,
)
_CHANNEL_END = re.compile(r"<\|(?:end|return|call|start)\|>")
_BARE_CHANNEL = re.compile(
    r"\A\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\n])|\A\s*assistant(?:analysis|commentary)"
)
_BARE_FINAL = "assistantfinal"
_ANSWERS = re.compile(r"\banswer\b|\\boxed|答案|\bfinal\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Traceless:
    """The text without its reasoning.

    Attributes:
        text: What remains.
        stage: The rung that removed something, or ``plain``.
        flags: ``unclosed_think``, ``answer_in_think_only``, ``closing_tag_only``, ``answer_before_think``.
        trace: True when a block was found.
    """

    text: str
    stage: str
    flags: tuple[str, ...] = ()
    trace: bool = False


def remove(text: str, *, prefilled: bool = True) -> Traceless:
    """The text without reasoning blocks; only what follows the last closing mark counts.

    Args:
        text: The model's text, Unicode-normalised.
        prefilled: A closing mark without an opening one ends a block that the template opened. ``False`` for a model
            that is declared not to think: then it is a word of the text.
    """
    channels = _harmony(text)
    if channels is not None:
        return channels
    marks = [(m.start(), m.end(), bool(m["slash"] or m["close"])) for m in _MARK.finditer(text)]
    if not marks:
        return Traceless(text, "plain")
    closers = [mark for mark in marks if mark[2]]
    if not closers:
        return _unclosed(text, marks[0][0], 0)
    first_open = next((mark for mark in marks if not mark[2]), None)
    if first_open is None or closers[0][0] < first_open[0]:
        if not prefilled and first_open is None:
            return Traceless(text, "plain")
        flags: tuple[str, ...] = ("closing_tag_only",)
    else:
        flags = ()
    end = closers[-1][1]
    later = next((mark for mark in marks if mark[0] >= end and not mark[2]), None)
    if later is not None:
        return _unclosed(text, later[0], end)
    return _after(text, marks, end, flags)


def _after(text: str, marks: list[tuple[int, int, bool]], end: int, flags: tuple[str, ...]) -> Traceless:
    rest = text[end:]
    if rest.strip():
        return Traceless(rest, "reasoning", flags, trace=True)
    before = text[: marks[0][0]] if not marks[0][2] else ""
    if before.strip():
        return Traceless(before, "reasoning", (*flags, "answer_before_think"), trace=True)
    trace = text[:end]
    only = ("answer_in_think_only",) if _ANSWERS.search(trace) else ()
    return Traceless("", "reasoning", (*flags, *only), trace=True)


def _unclosed(text: str, opened: int, start: int) -> Traceless:
    """The text before a block that never closes, or after a mark that ends it in another way."""
    ends = [m.start() for m in _ENDS_TRACE.finditer(text, opened)]
    if ends and _CLOSED_ANSWER.search(text[max(ends[-1], len(text) - 200) :]):
        return Traceless(text[ends[-1] :], "reasoning", ("unclosed_think",), trace=True)
    return Traceless(text[start:opened], "reasoning", ("unclosed_think",), trace=True)


def _harmony(text: str) -> Traceless | None:
    """The final channel of a Harmony reply, with its tokens or after a server dropped them."""
    if "<|channel|>" in text:
        heads = list(_CHANNEL.finditer(text))
        finals = [head for head in heads if head["name"].lower() == "final"]
        if finals:
            start = finals[-1].end()
            stop = _CHANNEL_END.search(text, start)
            return Traceless(text[start : stop.start() if stop else len(text)], "harmony", trace=True)
        if heads:
            return Traceless(text[: heads[0].start()], "harmony", ("unclosed_think",), trace=True)
    if _BARE_CHANNEL.match(text):
        at = text.rfind(_BARE_FINAL)
        if at >= 0:
            return Traceless(text[at + len(_BARE_FINAL) :], "harmony_bare", trace=True)
        if not text.lstrip().startswith("analysis\n"):
            return Traceless("", "harmony_bare", ("unclosed_think",), trace=True)
    elif text.lstrip().startswith(_BARE_FINAL):
        return Traceless(text.lstrip()[len(_BARE_FINAL) :], "harmony_bare", trace=True)
    return None
