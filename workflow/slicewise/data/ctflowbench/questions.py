"""Multiple-choice questions about a fact, in three scenarios, without the name of what is there.

A wrong number could be ruled out blind if the right one always stood in the middle of the options, so its rank among
them is drawn, and the options are written in rising order.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from slicewise.data.ctflowbench.chest import Region
from slicewise.data.ctflowbench.content import check_answerable, check_blind

OPTIONS = 4
LETTERS = "ABCD"
NATURE = {
    "nodule": "solid soft-tissue nodule in aerated lung",
    "effusion": "free fluid in the pleural space",
    "calcification": "calcification of a vessel wall",
}
OTHER_NATURE = ("lesion of pure fat", "air-filled cavity")
MEASURABLE_MM = 10.0
# The size limits of Lung-RADS for solid nodules.
BANDS = ((0.0, 6.0, "below 6 mm"), (6.0, 8.0, "6 to 8 mm"), (8.0, 15.0, "8 to 15 mm"))
BAND_OVER = "above 15 mm"
LEAST_DISTANCE_MM = 15.0
CLEAR_MM = 2.0  # a size this near a threshold is not asked about: measuring it is no better than that


@dataclass(frozen=True, slots=True)
class Draft:
    """A question before it gets an id.

    Attributes:
        scenario: ``qa``, ``sm`` or ``di``.
        aspect: Which property is asked about; names the gold order of tools.
        kind: Kind of the finding; never in the question.
        text: The question without its options.
        options: Four texts, in the order of the letters.
        right: Index of the right one.
    """

    scenario: str
    aspect: str
    kind: str
    text: str
    options: tuple[str, ...]
    right: int

    @property
    def question(self) -> str:
        """The question as it is asked."""
        lines = [f"{letter}. {text}" for letter, text in zip(LETTERS, self.options, strict=True)]
        return "\n".join([self.text, *lines])

    @property
    def answer(self) -> str:
        """The gold answer: letter and text."""
        return f"({LETTERS[self.right]}) {self.options[self.right]}"


def checked(draft: Draft) -> Draft:
    """The draft, after the checks that every item must pass.

    Raises:
        UserError: It names a pathology, or asks for what the scan does not show.
    """
    check_blind(draft.text)
    check_answerable([draft.text, *draft.options])
    return draft


def numbers(value: float, unit: str, draw: random.Random, *, step: float, decimals: int) -> tuple[tuple[str, ...], int]:
    """Four values in rising order and the rank of the right one, which is drawn.

    Args:
        value: The right value.
        unit: Written behind each.
        draw: The draws.
        step: Distance of neighbours.
        decimals: Digits behind the point.
    """
    ranks = [rank for rank in range(OPTIONS) if unit == "HU" or value - rank * step > 0]
    rank = draw.choice(ranks)
    return tuple(f"{value + (place - rank) * step:.{decimals}f} {unit}" for place in range(OPTIONS)), rank


def shuffled(right: str, wrong: Sequence[str], draw: random.Random) -> tuple[tuple[str, ...], int]:
    """The right text among drawn wrong ones, in drawn order."""
    options = [right, *draw.sample(list(wrong), OPTIONS - 1)]
    draw.shuffle(options)
    return tuple(options), options.index(right)


def drafts(regions: Sequence[Region], draw: random.Random) -> Iterator[Draft]:
    """Every question that the regions of one volume give."""
    for region in regions:
        for make in (_diameter, _volume, _density, _place, _nature, _measurable, _band):
            draft = make(region, regions, draw)
            if draft is not None:
                yield checked(draft)
    for make_pair in (_distance, _height):
        draft = make_pair(regions, draw)
        if draft is not None:
            yield checked(draft)


def _named(region: Region) -> str:
    side = f" on the {region.side} side of the chest" if region.side else " near the midline"
    return f"the structure marked as region {region.label}{side}"


def _diameter(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    if region.kind == "effusion":
        return None
    options, right = numbers(region.diameter_mm, "mm", draw, step=0.3 * region.diameter_mm, decimals=1)
    text = f"What is the longest diameter, in an axial plane, of {_named(region)}?"
    return Draft("qa", "diameter", region.kind, text, options, right)


def _volume(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    options, right = numbers(region.volume_ml, "mL", draw, step=0.3 * region.volume_ml, decimals=2)
    return Draft("qa", "volume", region.kind, f"What is the volume of {_named(region)}?", options, right)


def _density(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    options, right = numbers(region.hu, "HU", draw, step=60.0, decimals=0)
    return Draft("qa", "density", region.kind, f"What is the mean attenuation of {_named(region)}?", options, right)


def _place(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    if region.zone is None or region.side is None:
        return None
    places = [f"{zone} third of the {side} lung" for side in ("left", "right") for zone in ("upper", "middle", "lower")]
    right_text = f"{region.zone} third of the {region.side} lung"
    options, right = shuffled(right_text, [place for place in places if place != right_text], draw)
    where = "In which part of the lungs, by thirds of their height,"
    text = f"{where} does the structure marked as region {region.label} lie?"
    return Draft("sm", "place", region.kind, text, options, right)


def _nature(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    right_text = NATURE[region.kind]
    wrong = [text for text in (*NATURE.values(), *OTHER_NATURE) if text != right_text]
    options, right = shuffled(right_text, wrong, draw)
    text = f"By its attenuation and its place, what is {_named(region)} most likely?"
    return Draft("di", "nature", region.kind, text, options, right)


def _measurable(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    if region.kind != "nodule" or abs(region.diameter_mm - MEASURABLE_MM) < CLEAR_MM:
        return None
    yes = f"measurable: its longest axial diameter is at least {MEASURABLE_MM:.0f} mm"
    no = f"not measurable: its longest axial diameter is below {MEASURABLE_MM:.0f} mm"
    others = ("measurable by its short axis alone, of at least 15 mm", "not measurable, because it holds fat")
    right_text = yes if region.diameter_mm > MEASURABLE_MM else no
    options, right = shuffled(right_text, [text for text in (yes, no, *others) if text != right_text], draw)
    text = f"By the size rule of RECIST 1.1 for soft tissue on CT, how does {_named(region)} count?"
    return Draft("di", "measurable", region.kind, text, options, right)


def _band(region: Region, _all: Sequence[Region], draw: random.Random) -> Draft | None:
    edges = {low for low, _, _ in BANDS} | {high for _, high, _ in BANDS}
    if region.kind != "nodule" or min(abs(region.diameter_mm - edge) for edge in edges) < CLEAR_MM:
        return None
    titles = [*(title for _, _, title in BANDS), BAND_OVER]
    right = next((i for i, (low, high, _) in enumerate(BANDS) if low < region.diameter_mm <= high), len(BANDS))
    text = f"Into which size band does {_named(region)} fall, by its longest axial diameter?"
    del draw
    return Draft("di", "band", region.kind, text, tuple(titles), right)


def _distance(regions: Sequence[Region], draw: random.Random) -> Draft | None:
    if len(regions) < 2:
        return None
    one, two = draw.sample(list(regions), 2)
    squares = ((a - b) ** 2 for a, b in zip(one.centre_mm, two.centre_mm, strict=True))
    value = sum(squares) ** 0.5
    if value < LEAST_DISTANCE_MM:
        return None
    options, right = numbers(value, "mm", draw, step=0.3 * value, decimals=0)
    text = f"How far apart are the centres of the structures marked as regions {one.label} and {two.label}?"
    return Draft("sm", "distance", "pair", text, options, right)


def _height(regions: Sequence[Region], draw: random.Random) -> Draft | None:
    if len(regions) < OPTIONS:
        return None
    chosen = sorted(draw.sample(list(regions), OPTIONS), key=lambda region: region.label)
    highest = max(chosen, key=lambda region: region.centre_mm[0])
    options = tuple(f"region {region.label}" for region in chosen)
    text = "The centre of which marked region lies nearest to the head?"
    return Draft("sm", "height", "all", text, options, chosen.index(highest))
