"""A chest CT without contrast whose every number is known: organs, nodules, effusion, calcification.

The phantom is no anatomy lesson: simple solids with the right order, density and size, so that a measuring tool or an
agent can be checked against planted facts. Same seed and settings, same bytes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from slicewise.data.phantom import chest_shapes as solids
from slicewise.data.phantom.chest_shapes import Bools, Point, Space

Side = Literal["left", "right"]

SHAPE = (80, 160, 160)
SPACING = (3.0, 2.2, 2.2)
HU = {
    "outside": -1000, "fat": -100, "muscle": 50, "lung": -850, "heart": 40, "aorta": 45, "airway": -1000,
    "bone": 450, "effusion": 8, "calcification": 700,
}  # fmt: skip
LUNG_CENTRE = {"left": (68.0, -2.0), "right": (-68.0, -2.0)}
LUNG_RADII = {"left": (46.0, 70.0), "right": (50.0, 72.0)}
TRACHEA_RADIUS = 9.0
BRONCHUS_RADIUS = 6.0
AORTA_RADIUS = 12.0
_NODULE_HU = (20, 60)
_NODULE_RADIUS_MM = (4.0, 12.0)
_MARGIN_MM = 6.0
_TRIES = 400


@dataclass(frozen=True, slots=True)
class Planted:
    """One fact of a phantom.

    Attributes:
        kind: ``nodule``, ``effusion``, ``calcification``, ``airway``, ``aorta``, ``lung`` or ``heart``.
        mask: Key of its mask.
        side: ``left`` or ``right`` of the patient; ``None`` in the middle.
        centre_zyx: Voxel at the centre of its shape, fractional; the centre of mass for an effusion.
        diameter_mm: Longest diameter of the shape in an axial plane, before it was cut into voxels: of a nodule or
            calcification the diameter, of a tube twice its radius, of an effusion the depth of the layer.
        height_mm: Extent of the shape along z; ``None`` for tubes and layers.
        volume_ml: Voxels of the mask times the volume of one.
        hu: Density it was painted with.
        zone: ``upper``, ``middle`` or ``lower`` third of the lungs' height.
    """

    kind: str
    mask: str
    side: Side | None
    centre_zyx: tuple[float, float, float]
    diameter_mm: float | None
    height_mm: float | None
    volume_ml: float
    hu: int
    zone: str | None = None


class Chest(NamedTuple):
    """A phantom.

    Attributes:
        hu: ``(z, y, x)`` int16, canonical LPS.
        spacing: z, y, x in mm.
        masks: Boolean arrays by name. Organs do not overlap, except ``body`` (all of the patient) and ``lungs`` holding
            air only; nodules, effusion and calcification are cut out of what they lie in.
        facts: What was planted.
    """

    hu: npt.NDArray[np.int16]
    spacing: tuple[float, float, float]
    masks: dict[str, Bools]
    facts: list[Planted]


def make_chest(
    seed: int,
    *,
    shape: tuple[int, int, int] = SHAPE,
    spacing: tuple[float, float, float] = SPACING,
    nodules: int = 3,
    effusion: Side | Literal["none", "seeded"] = "seeded",
    calcification: bool | None = None,
    noise_hu: float = 0.0,
) -> Chest:
    """Paint a phantom.

    Args:
        seed: Decides nodules, effusion and calcification.
        shape: Voxels in z, y, x; the patient needs about 310 x 220 mm in plane and 200 mm in height.
        spacing: mm in z, y, x.
        nodules: How many nodules to plant in the lungs; fewer when they do not fit.
        effusion: Side of a pleural effusion; ``seeded`` lets the seed decide, none included.
        calcification: Whether the wall of the aorta has a calcification; ``None`` lets the seed decide.
        noise_hu: Standard deviation of the noise; 0 leaves every density exact.

    Raises:
        ValueError: The field of view does not hold the patient.
    """
    space = Space(shape, spacing)
    if shape[1] * spacing[1] < 220 or shape[2] * spacing[2] < 310 or space.height < 150:
        raise ValueError(f"a field of {space.height:g} x {shape[1] * spacing[1]:g} x {shape[2] * spacing[2]:g} mm is "
                         "too small, expected at least 150 x 220 x 310 mm")  # fmt: skip
    rng = np.random.default_rng(seed)
    hu = np.full(shape, HU["outside"], dtype=np.int16)
    masks = _organs(space, hu)
    facts = _organ_facts(space, masks)
    chosen = rng.choice(["none", "left", "right"]) if effusion == "seeded" else effusion
    if chosen in ("left", "right"):
        facts.append(_plant_effusion(space, hu, masks, "left" if chosen == "left" else "right", rng))
    for number in range(1, nodules + 1):
        fact = _plant_nodule(space, hu, masks, number, rng)
        if fact is not None:
            facts.append(fact)
    wanted = bool(rng.integers(2)) if calcification is None else calcification
    if wanted:
        facts.append(_plant_calcification(space, hu, masks, rng))
    if noise_hu:
        noisy = hu + rng.normal(0.0, noise_hu, shape)
        hu = np.clip(np.rint(noisy), -1024, 3071).astype(np.int16)
    facts = [_with_volume(fact, masks, space) for fact in facts]
    return Chest(hu, spacing, masks, facts)


def write_chest(chest: Chest, folder: Path, name: str = "chest", suffix: str = ".nii.gz") -> tuple[Path, Path, Path]:
    """Write the volume, a label map and the facts.

    Args:
        chest: The phantom.
        folder: Where to write; made when missing.
        name: Start of the file names.
        suffix: ``.nii.gz``, ``.nii`` or ``.nrrd``.

    Returns:
        Paths of the volume, of the labels (numbers in :func:`label_names`) and of the facts as JSON.
    """
    import json
    from dataclasses import asdict

    from slicewise.imaging.load import save

    folder.mkdir(parents=True, exist_ok=True)
    grid = chest_grid(chest)
    labels = np.zeros(chest.hu.shape, dtype=np.uint8)
    for number, mask in label_names(chest).items():
        labels[chest.masks[mask]] = number
    paths = (folder / f"{name}{suffix}", folder / f"{name}-labels{suffix}", folder / f"{name}.json")
    save(paths[0], chest.hu, grid)
    save(paths[1], labels, grid)
    facts = {"labels": label_names(chest), "facts": [asdict(fact) for fact in chest.facts]}
    paths[2].write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return paths


def label_names(chest: Chest) -> dict[int, str]:
    """Label numbers of the label map; without ``body``, which the others lie in."""
    return dict(enumerate((name for name in chest.masks if name != "body"), start=1))


def chest_grid(chest: Chest) -> Any:
    """The :class:`slicewise.imaging.grid.Grid` of a phantom: the patient's midline at x = 0, the bottom at z = 0."""
    from slicewise.imaging.grid import Grid

    z, y, x = Space(_shape(chest), chest.spacing).axes()
    return Grid(_shape(chest), chest.spacing, (float(x[0]), float(y[0]), float(z[0])))


def _shape(chest: Chest) -> tuple[int, int, int]:
    return chest.hu.shape[0], chest.hu.shape[1], chest.hu.shape[2]


def _carina(space: Space) -> Point:
    return (0.0, 2.0, 0.62 * space.height)


def _organs(space: Space, hu: npt.NDArray[np.int16]) -> dict[str, Bools]:
    """Paint the healthy chest, outside to inside."""
    height = space.height
    body = solids.ellipse_column(space, solids.TORSO)
    muscle = solids.ellipse_column(space, solids.MUSCLE)
    masks: dict[str, Bools] = {"body": body, "fat": body & ~muscle}
    heart = solids.ellipsoid(space, (14.0, -28.0, 0.34 * height), (44.0, 34.0, 0.17 * height))
    aorta = solids.tube(space, [(20.0, 42.0, -20.0), (20.0, 42.0, 0.70 * height)], AORTA_RADIUS)
    wall = solids.tube(space, [_carina(space), (0.0, -4.0, height + 20)], TRACHEA_RADIUS + 3)
    airway = solids.tube(space, [_carina(space), (0.0, -4.0, height + 20)], TRACHEA_RADIUS)
    for x in (42.0, -42.0):
        path = [_carina(space), (x, 6.0, 0.50 * height)]
        wall |= solids.tube(space, path, BRONCHUS_RADIUS + 2)
        airway |= solids.tube(space, path, BRONCHUS_RADIUS)
    spine = solids.tube(space, [(0.0, 62.0, -20.0), (0.0, 62.0, height + 20)], 16.0)
    sternum = solids.box(space, (-14.0, -88.0, 0.3 * height), (14.0, -80.0, 0.85 * height))
    masks["bone"] = solids.ribs(space) | spine | sternum
    solid = heart | aorta | wall | masks["bone"]
    for side in ("left", "right"):
        (x, y), (a, b) = LUNG_CENTRE[side], LUNG_RADII[side]
        lung = solids.ellipsoid(space, (x, y, 0.5 * height), (a, b, solids.LUNG_REACH * height))
        masks[f"lung_{side}"] = lung & ~solid
    masks["heart"], masks["aorta"], masks["airway"] = heart, aorta & ~masks["bone"] & ~heart, airway
    hu[body] = HU["fat"]
    hu[muscle] = HU["muscle"]
    for name in ("bone", "lung_left", "lung_right", "heart", "aorta", "airway"):
        hu[masks[name]] = HU[name.partition("_")[0]]
    masks["bone"] &= ~(heart | airway)
    return masks


def _organ_facts(space: Space, masks: dict[str, Bools]) -> list[Planted]:
    height = space.height
    sides: tuple[Side, Side] = ("left", "right")
    facts = []
    for side in sides:
        (x, y), (_, b) = LUNG_CENTRE[side], LUNG_RADII[side]
        centre = space.voxel((x, y, 0.5 * height))
        facts.append(
            Planted("lung", f"lung_{side}", side, centre, 2 * b, 2 * solids.LUNG_REACH * height, 0.0, HU["lung"])
        )
    carina = space.voxel(_carina(space))
    facts.append(Planted("airway", "airway", None, carina, 2 * TRACHEA_RADIUS, None, 0.0, HU["airway"]))
    aorta = space.voxel((20.0, 42.0, 0.35 * height))
    facts.append(Planted("aorta", "aorta", None, aorta, 2 * AORTA_RADIUS, None, 0.0, HU["aorta"]))
    heart = space.voxel((14.0, -28.0, 0.34 * height))
    facts.append(Planted("heart", "heart", None, heart, 88.0, 0.34 * height, 0.0, HU["heart"]))
    return facts


def _plant_effusion(
    space: Space, hu: npt.NDArray[np.int16], masks: dict[str, Bools], side: Side, rng: np.random.Generator
) -> Planted:
    """Fluid lies at the back of the lung, up to a level."""
    depth = float(np.round(rng.uniform(15.0, 35.0), 1))
    lung = masks[f"lung_{side}"]
    back = LUNG_CENTRE[side][1] + LUNG_RADII[side][1]
    fluid = lung & space.where(lambda x, y, z: (y > back - depth) & (x + z == x + z))
    lung &= ~fluid
    hu[fluid] = HU["effusion"]
    masks["effusion"] = fluid
    z, y, x = np.argwhere(fluid).mean(axis=0).tolist()
    return Planted("effusion", "effusion", side, (z, y, x), depth, None, 0.0, HU["effusion"])


def _plant_nodule(
    space: Space, hu: npt.NDArray[np.int16], masks: dict[str, Bools], number: int, rng: np.random.Generator
) -> Planted | None:
    """A ball or an ellipsoid of revolution about z that lies in aerated lung with a margin, or ``None``."""
    for _ in range(_TRIES):
        side: Side = "left" if rng.integers(2) else "right"
        radius = float(np.round(rng.uniform(*_NODULE_RADIUS_MM), 1))
        tall = float(np.round(radius * rng.choice([1.0, 0.75]), 2))
        (cx, cy), (a, b) = LUNG_CENTRE[side], LUNG_RADII[side]
        share = rng.uniform(-0.75, 0.75, 3)
        x, y = cx + share[0] * a, cy + share[1] * b
        z = space.height * (0.5 + share[2] * solids.LUNG_REACH)
        centre = (float(x), float(y), float(z))
        near = solids.ellipsoid(space, centre, (radius + _MARGIN_MM, radius + _MARGIN_MM, tall + _MARGIN_MM))
        if not (near & ~masks[f"lung_{side}"]).any():
            break
    else:
        return None
    density = int(rng.integers(*_NODULE_HU))
    inside = solids.ellipsoid(space, centre, (radius, radius, tall))
    masks[f"lung_{side}"] &= ~inside
    hu[inside] = density
    masks[f"nodule_{number}"] = inside
    zone = "lower" if share[2] < -1 / 3 else "upper" if share[2] > 1 / 3 else "middle"
    where = space.voxel(centre)
    return Planted("nodule", f"nodule_{number}", side, where, 2 * radius, 2 * tall, 0.0, density, zone)


def _plant_calcification(
    space: Space, hu: npt.NDArray[np.int16], masks: dict[str, Bools], rng: np.random.Generator
) -> Planted:
    """A small dense ball in the wall of the aorta."""
    radius = float(np.round(rng.uniform(3.5, 5.0), 1))
    angle = float(rng.uniform(0, np.pi))  # towards the front, away from the spine
    reach = AORTA_RADIUS - radius
    z = float(space.height * rng.uniform(0.30, 0.60))
    centre = (20.0 + reach * float(np.cos(angle)), 42.0 - reach * float(np.sin(angle)), z)
    inside = solids.ellipsoid(space, centre, (radius, radius, radius)) & masks["aorta"]
    masks["aorta"] &= ~inside
    hu[inside] = HU["calcification"]
    masks["calcification"] = inside
    where = space.voxel(centre)
    return Planted("calcification", "calcification", None, where, 2 * radius, 2 * radius, 0.0, HU["calcification"])


def _with_volume(fact: Planted, masks: dict[str, Bools], space: Space) -> Planted:
    from dataclasses import replace

    return replace(fact, volume_ml=float(masks[fact.mask].sum() * np.prod(space.spacing)) / 1000)
