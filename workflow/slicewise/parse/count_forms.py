"""Forms in which texts write counts, and numbers that are no counts: places, sizes, grades, levels of the spine."""

from __future__ import annotations

import re

from slicewise.parse.box_forms import NUMBER
from slicewise.parse.lexicon import HAN_NUMBER, NUMBER_WORD

DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,9})(?:\.0{1,6})?(?![\d]|\.\d)"
N = rf"(?:(?<![\w.,\-/])(?:{DIGITS})(?![\w/%])|(?<![\w-])(?:{NUMBER_WORD})(?![\w-]))"
VALUE = re.compile(N, re.IGNORECASE)
PLACE = re.compile(
    r"<(?P<t>[a-z_]{2,12})>[^<>]{0,200}</(?P=t)>|<\|[a-z_]{2,20}\|>[^<>]{0,200}<\|[a-z_]{2,20}\|>|<[a-z_]{1,16}\d{0,4}>"
    rf"|[\[({{]\s{{0,3}}{NUMBER}(?:\s{{0,3}}[,;]\s{{0,3}}{NUMBER}){{1,40}}\s{{0,3}}[\])}}]",
    re.IGNORECASE,
)
IMAGES = (
    r"(?:frames?|slices?|images?|sections?|sequences?|planes?|views?|series|volumes?|times?|sides?|options?"
    r"|steps?|sentences?)"
)
NAMED_LEVEL = (
    r"(?:grade|stage|type|segments?|zones?|levels?|class|category|series|phase|bi-?rads|pi-?rads|li-?rads"
    r"|score|step|option|question|table|"
    r"fig(?:ure)?|vertebra|rib|station|version|page|case|patient|part|scan|sequence|day|week|gcs|kl"
    r"|outerbridge|fazekas|icrs)"
)
NOT_COUNT = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:x|×|\*|by)\s?\d+(?:\.\d+)?(?:\s?(?:x|×|by)\s?\d+(?:\.\d+)?)?(?:\s?(?:mm|cm|px|pixels?)\b)?"
    r"|\b\d+(?:\.\d+)?[\s-]?(?:mm|cm|px|pixels?|hu|%|percent|ms|sec(?:onds?)?|min(?:utes?)?|hours?|days?"
    r"|weeks?|months?|years?(?:[\s-]old)?|kg|mg|g|ml|mmhg"
    r"|tesla|t|degrees?|°|d)(?!\w)"
    r"|\b\d{1,4}(?:st|nd|rd|th)\b"
    rf"|\b{NAMED_LEVEL}\s{{0,2}}[:#-]?\s{{0,2}}\d{{1,4}}(?:\s{{0,2}}(?:-|–|to|and|/|,)\s{{0,2}}\d{{1,4}})*(?!\w)"
    r"|\b(?:lesion|finding|nodule|mass|tear|box)\s?#?\d{1,2}\s?(?=[:(=–-])"
    r"|\b(?=[a-z]{0,3}\d)[a-z]{1,4}\d{1,3}(?:\s{0,2}[-/–]\s{0,2}[a-z]{0,2}\d{1,3})?\b"
    rf"|\b\d{{1,3}}\s?(?:/|of|out of)\s?(?:the\s)?\d{{1,3}}(?:\s{IMAGES})?"
    r"|\b(?:19|20)\d\d[-/]\d{1,2}(?:[-/]\d{1,2})?\b"
    rf"|(?<![\w.])(?:\d{{1,3}}|{NUMBER_WORD})\s(?:(?:different|consecutive|adjacent|contiguous|separate"
    rf"|axial|coronal|sagittal|mri?|ct|mr|individual)\s){{0,2}}{IMAGES}\b"
    r"|(?:\A|(?<=\n))[ \t]{0,8}(?:#{1,4}\s)?\d{1,3}[.)](?=\s)"
    r"|\bone (?:of|or more|another|can|may|might|could|should|would|side)\b|\bno one\b|\b(?:the|this|that"
    r"|which|each|any|every|another) one\b",
    re.IGNORECASE,
)
TOTAL = re.compile(
    r"\b(?:grand |overall |final )?total(?:s|ing|led)?(?:\s(?:number|count))?(?:\s(?:of"
    r"|for)(?!\s{0,3}\d)(?:\s[a-z-]{1,20}){1,6}?)?"
    r"\s{0,3}(?:is|are|of|=|:|equals|was|comes to|to|therefore|then|→|->|–)?\s{0,3}(?:about |approximately "
    r"|~ ?)?(?=[\w])"
    r"|\b(?:altogether|overall|in all|all together|combined),?\s{0,3}(?:is|=|:|of|are|equals"
    r"|was)?\s{0,3}(?:there (?:are|is) )?(?=\w)"
    r"|\b(?:sum|count|number of [a-z -]{1,40}?)\s{0,3}(?:is|=|:|equals|was)\s{0,3}(?=\w)"
    r"|\b(?:equals|makes|adds? up to|sums? (?:up )?to|brings? (?:it|us) to)\s{1,3}(?:a total of )?(?=\w)"
    rf"|\b(?:so|thus|hence|therefore|giving|making|yielding),?\s(?:there (?:are|is)\s|it is\s|we have\s)?"
    rf"(?={N}(?:\s[a-z]{{1,20}}){{0,3}}\s{{0,3}}(?:[.!;)\n]|\Z))"
    r"|=\s{0,3}",
    re.IGNORECASE,
)
TOTAL_AFTER = re.compile(
    r"\s(?:[a-z-]{1,20}\s){0,4}?(?:in total|overall|altogether|in all|total|combined|all together|together)\b",
    re.IGNORECASE,
)
LEAD = re.compile(
    r"(?:\b(?:there|i|we)(?:'s| (?:is|are|was|were|count(?:ed)?|see|saw|identif(?:y|ied)|f(?:i|ou)nd"
    r"|detect(?:ed)?|observed?|can see|can identify|note[d]?|have))"
    r"|\b(?:shows?|contains?|reveals?|demonstrates?|has|have|identified|exhibits?|depicts?|presents?))\s(?:with )?"
    r"(?:a total of |exactly |approximately |about |around |roughly |only |just |at total |likely |probably )*\Z",
    re.IGNORECASE,
)
APPROX = re.compile(
    r"(?:\b(?:approximately|approx\.?|about|around|roughly|nearly|almost|circa|an estimated)|~|≈)\s{0,3}\Z",
    re.IGNORECASE,
)
BOUND = re.compile(
    r"(?:\b(?:at least|at most|more than|fewer than|less than|over|up to|under|no (?:more|fewer|less) than"
    r"|minimum of|maximum of|greater than|exceed\w*)|[<>≥≤])\s{0,3}\Z",
    re.IGNORECASE,
)
BOUND_AFTER = re.compile(r"\s{0,2}(?:\+|or (?:more|fewer|less)|plus\b|and (?:more|above))", re.IGNORECASE)
RANGE = re.compile(
    rf"(?:\bbetween\s)?(?P<a>{N}|\b\d{{1,4}})\s{{0,2}}(?P<sep>-|–|—|~|\bto\b|\bor\b|\bbis\b"
    rf"|\bà\b)\s{{0,2}}(?P<b>\d{{1,4}}(?![\w.])|{NUMBER_WORD}\b)"
    rf"|\bbetween\s(?P<c>{N})\sand\s(?P<d>{N})",
    re.IGNORECASE,
)
NONE = re.compile(
    r"\A\W*(?:(?:there (?:is|are|were)|i (?:see|found|count|identify|detect))\s)?(?:none|nil|zero"
    r"|no(?:thing)?(?!\s(?:doubt|question|more|less|fewer|longer|one|\d))(?:\s(?!is\b|was\b)[a-z-]+){0,5}?"
    r"(?:\s(?:findings?|lesions?|abnormalit(?:y|ies)|injur(?:y|ies)|nodules?|mass(?:es)?|fractures?|tears?"
    r"|types?|abnormal|detected|seen|present|visible|identified|noted|found|evidence))?)\b"
    r"|\b(?:there (?:is|are) no|no evidence of|absence of|without any)\s(?!doubt|question|more than|fewer"
    r"|less)[^.\n]{0,60}"
    r"\b(?:findings?|lesions?|abnormalit(?:y|ies)|injur(?:y|ies)|nodules?|mass(?:es)?|fractures?|tears?)\b"
    r"|\A\W*not (?:a single|any|one)\b"
    r"|没有|未见|無し|なし|keine\b",
    re.IGNORECASE,
)
VAGUE = re.compile(
    r"\b(?:several|multiple|many|numerous|few|various|a number of|some|countless|innumerable|a couple|couple"
    r"|dozens|handful|scattered|plenty)\b|多个|多發|多发|若干|数个|mehrere|plusieurs|varios",
    re.IGNORECASE,
)
SINGLE = re.compile(r"\b(?:a|an|only one|one) (?:single|solitary|sole)\b|\b(?:single|solitary|sole)\b", re.IGNORECASE)
GROUPS = (
    (re.compile(r"\b(?:a|one|1)\sdozen\b", re.IGNORECASE), 12),
    (re.compile(r"\b(?:a|one)\spair\sof\b", re.IGNORECASE), 2),
)
# "not 4 but 5", "4? No, 5.", "5 rather than 4": the number that is taken back.
WITHDRAWN = re.compile(
    rf"\b(?:not|rather than|instead of)\s(?!only|just)(?:{N})(?![-\w])|(?:{N})\?(?=\s(?:no|not|wait)\b)", re.IGNORECASE
)
EACH = re.compile(
    r"\s(?:[a-z-]{1,20}\s){0,2}?(?:(?:in|on|at|per|for|from)\s(?:each|every|either)|per|apiece)\b", re.IGNORECASE
)
FINDING = (
    r"(?:[a-z-]{3,20}\s){0,1}?(?:lesions?|cysts?|nodules?|mass(?:es)?|tumou?rs?|fractures?|tears?|infarcts?|metastas[ei]s"
    r"|effusions?|findings?|abnormalit(?:y|ies)|injur(?:y|ies)|sprains?|stones?|polyps?|nodes?|haemorrhages?"
    r"|hemorrhages?|aneurysms?|artifacts?|artefacts?)\b"
)
ASKED_KIND = re.compile(r"\bhow many (?:\w+ ){0,2}?(?P<noun>types?|kinds?|categories)\b", re.IGNORECASE)
ASKED_IMAGES = re.compile(r"\bhow many (?:\w+ ){0,2}?(?:frames|slices|images|sections)\b", re.IGNORECASE)
OF_IMAGES = re.compile(
    rf"(?P<n>{N})\s(?:[a-z]{{2,12}}\s){{0,2}}?(?:frames?|slices?|images?|sections?)\b", re.IGNORECASE
)
ASCENDING = re.compile(r"(?<![\d.])1(?:\s{0,2},\s{0,2}(?:and\s)?\d{1,2}){2,20}(?!\d|\.\d)")
HAN_COUNT = re.compile(rf"(?P<n>\d{{1,4}}|{HAN_NUMBER})\s?(?:个|個|处|處|枚|颗|顆|块|塊|种|種|条|例|つ|개|本)")
ITEMISED = re.compile(r"[^.\n\d:(;]{0,80}(?:[:(;–—]|\bincluding\b|\bnamely\b|\bconsisting\b)", re.IGNORECASE)
