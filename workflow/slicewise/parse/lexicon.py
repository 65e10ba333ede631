"""Word lists that several readers share: numbers in words, ordinals, look-alikes of Latin capitals."""

from __future__ import annotations

import re

UNITS = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19,
}  # fmt: skip
TENS = {
    "twenty": 20, "thirty": 30, "forty": 40, "fourty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13, "fourteenth": 14, "fifteenth": 15, "sixteenth": 16,
    "seventeenth": 17, "eighteenth": 18, "nineteenth": 19, "twentieth": 20,
}  # fmt: skip
# Number words of other languages, read only when the whole answer is one such word.
FOREIGN = {
    "null": 0, "keine": 0, "eins": 1, "ein": 1, "eine": 1, "zwei": 2, "drei": 3, "vier": 4, "fünf": 5, "sechs": 6,
    "sieben": 7, "acht": 8, "neun": 9, "zehn": 10, "elf": 11, "zwölf": 12,
    "zéro": 0, "aucun": 0, "aucune": 0, "un": 1, "une": 1, "deux": 2, "trois": 3, "quatre": 4, "cinq": 5, "sept": 7,
    "huit": 8, "neuf": 9, "dix": 10,
    "cero": 0, "ninguno": 0, "ninguna": 0, "uno": 1, "una": 1, "dos": 2, "tres": 3, "cuatro": 4, "cinco": 5, "seis": 6,
    "siete": 7, "ocho": 8, "nueve": 9, "diez": 10,
    "due": 2, "tre": 3, "quattro": 4, "cinque": 5, "dois": 2, "três": 3, "quatro": 4,
    "ноль": 0, "один": 1, "два": 2, "две": 2, "три": 3, "четыре": 4, "пять": 5, "шесть": 6, "семь": 7, "восемь": 8,
    "девять": 9, "десять": 10,
}  # fmt: skip
_TENS = "|".join(TENS)
_UNITS = "|".join(sorted(UNITS, key=len, reverse=True))
_TWO_DIGITS = rf"(?:(?:{_TENS})(?:[\s-](?:one|two|three|four|five|six|seven|eight|nine))?|{_UNITS})"
NUMBER_WORD = (
    rf"(?:(?:an?|one|two|three|four|five|six|seven|eight|nine)[\s-]hundred(?:[\s-](?:and[\s-])?{_TWO_DIGITS})?"
    rf"|{_TWO_DIGITS})"
)
_HAN = {
    "零": 0,
    "〇": 0,
    "一": 1,
    "二": 2,
    "两": 2,
    "兩": 2,
    "三": 3,
    "四": 4,
    "五": 5,
    "六": 6,
    "七": 7,
    "八": 8,
    "九": 9,
}
HAN_NUMBER = "[零〇一二两兩三四五六七八九十百]{1,5}"

# Capitals of other scripts that look like a Latin letter; NFKC does not unite them.
HOMOGLYPHS = str.maketrans(
    "АВСЕНІЈКМОРЅТХѴԌаеосрхіј" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ" + "🅰🅱",
    "ABCEHIJKMOPSTXVGaeocpxij" + "ABEZHIKMNOPTYX" + "AB",
)
_FOREIGN_LETTER = re.compile("(?<![^\\W_])[АВСЕНІЈКМОРЅТХѴԌΑΒΕΖΗΙΚΜΝΟΡΤΥΧ](?![^\\W_])|[🅰🅱]")


def number_of(word: str) -> int | None:
    """The value of an English number word such as ``twenty-one``, or ``None``."""
    word = word.lower().replace("-", " ").strip()
    hundreds, hundred, rest = word.partition(" hundred")
    if hundred:
        more = number_of(rest.removeprefix(" and").strip()) if rest.strip() else 0
        many = UNITS.get(hundreds, 1)
        return None if more is None else 100 * many + more
    if word in UNITS:
        return UNITS[word]
    head, _, tail = word.partition(" ")
    tail = tail.strip()
    if head in TENS and (not tail or tail in UNITS):
        return TENS[head] + (UNITS[tail] if tail else 0)
    return None


def number_of_han(text: str) -> int | None:
    """The value of a Chinese numeral below one thousand, or ``None``."""
    total, digit = 0, None
    for c in text:
        if c in "十百":
            total += (1 if digit is None else digit) * (10 if c == "十" else 100)
            digit = None
        elif digit is None or digit == 0:
            digit = _HAN[c]
        else:
            return None
    return total + (digit or 0)


def latinised(text: str) -> tuple[str, bool]:
    """The text with single look-alike letters made Latin, and whether there was one."""
    if text.isascii():
        return text, False
    changed = _FOREIGN_LETTER.sub(lambda m: m[0].translate(HOMOGLYPHS), text)
    return changed, changed != text
