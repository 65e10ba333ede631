"""A coronal knee: femur, tibia, fibula, patella, cartilage, menisci, ligaments, muscles, fat.

Frames run from front to back. Two contrasts: proton density with and without fat saturation. Shapes are in pixels of
a 320 grid; ``lateral`` says on which side of the image the fibula lies.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slicewise.data.phantom.lesions import Lesion, boxed
from slicewise.data.phantom.texture import (
    Field,
    acquire,
    band,
    blend,
    ellipse,
    generator,
    grid,
    inside,
    smooth_noise,
)
from slicewise.data.questions import Finding

MIDDLE = 160.0
JOINT = 170.0  # row of the joint space


@dataclass(frozen=True, slots=True)
class Contrast:
    """Signal of each tissue; 1 is about the brightest."""

    fat: float
    marrow: float
    muscle: float
    cartilage: float
    dark: float  # cortical bone, menisci, tendons, ligaments
    fluid: float
    edema: float  # in marrow
    hurt: float  # in ligaments


CONTRASTS = {
    "PDFS": Contrast(0.17, 0.20, 0.40, 0.60, 0.05, 0.95, 0.60, 0.78),
    "PD": Contrast(0.86, 0.74, 0.38, 0.50, 0.06, 0.98, 0.32, 0.66),
}


@dataclass(frozen=True, slots=True)
class Knee:
    """One synthetic volume.

    Attributes:
        contrast: A key of ``CONTRASTS``.
        frames: Number of frames.
        size: Rows and columns of a frame.
        seed: Seed of this volume.
        lateral: -1 when the fibula is on the left of the image, 1 on the right.
        lesions: Planted findings.
    """

    contrast: str
    frames: int
    size: int
    seed: int
    lateral: float
    lesions: tuple[Lesion, ...]

    def findings(self, frame: int) -> list[Finding]:
        """The boxes of what is planted on 0-based ``frame``, tight around its pixels."""
        found = (boxed(lesion.label, share, frame) for lesion, share in self._planted(frame))
        return [finding for finding in found if finding is not None]

    def pixels(self, frame: int) -> NDArray[np.uint8]:
        """0-based ``frame`` as the scanner shows it, (size, size)."""
        image = self.signal(frame)
        y, x = grid(self.size)
        rng = generator(self.seed, "scan", frame)
        bias = smooth_noise(generator(self.seed, "bias"), y.shape, (120.0, 120.0))
        coil = 1.05 - 0.5 * ((y - JOINT) / 190) ** 2 + 0.12 * ((x - MIDDLE) / 130) ** 2
        return acquire(rng, image, np.exp(0.09 * bias) * coil, noise=0.026, blur=0.6 * self.size / 320)

    def signal(self, frame: int) -> Field:
        """Signal of one frame with its findings, before the scanner's noise and shading."""
        image = self.anatomy(frame)
        for lesion, share in self._planted(frame):
            image = self._paint(image, lesion.look, share, frame)
        return image

    def _planted(self, frame: int) -> list[tuple[Lesion, Field]]:
        shares = ((lesion, lesion.share(frame, self.size, self.seed)) for lesion in self.lesions)
        return [(lesion, share) for lesion, share in shares if share is not None]

    def _paint(self, image: Field, look: str, share: Field, frame: int) -> Field:
        tissue = CONTRASTS[self.contrast]
        signal = {"fluid": tissue.fluid, "edema": tissue.edema, "ligament": tissue.hurt}[look]
        grain = 1 + 0.08 * smooth_noise(generator(self.seed, look, frame), image.shape, (5.0, 5.0))
        return blend(image, signal * grain, 0.93 * share)

    def anatomy(self, frame: int) -> Field:
        """Signal of one frame without findings and scanner effects."""
        tissue = CONTRASTS[self.contrast]
        back = frame / (self.frames - 1)  # 0 in front, 1 behind
        y, x = grid(self.size)
        wave = smooth_noise(generator(self.seed, "wave", frame // 2), y.shape, (34.0, 34.0))
        image = self._soft(y, x, back, wave, frame, tissue)
        femur, tibia = self._femur(y, x, back) + 1.0 * wave, self._tibia(y, x, back) + 1.0 * wave
        grain = smooth_noise(generator(self.seed, "grain", frame), y.shape, (5.0, 5.0))
        marrow = np.asarray(tissue.marrow * (1 + 0.055 * grain + 0.07 * wave), dtype=np.float32)
        capsule = inside(ellipse(y, x, JOINT, MIDDLE, 38, 88) + 2 * wave, 2.0) * (0.12 < back < 0.92)
        image = blend(image, 0.5 * (tissue.fat + tissue.muscle), 0.7 * capsule)
        image = self._cartilage(image, y, femur, tibia, back, tissue)
        image = self._menisci(image, y, x, back, wave, tissue)
        bones = [femur, tibia]
        if back > 0.45:
            bones.append(self._fibula(y, x, back) + 0.7 * wave)
        if back < 0.2:
            bones.append(ellipse(y, x, 118, MIDDLE + 4 * self.lateral, 37, 38 - 60 * back) + 1.5 * wave)
        for bone in bones:
            image = blend(image, tissue.dark, inside(bone, 0.9))
            image = blend(image, marrow, inside(bone + 2.2, 1.0))
        image = self._plates(image, y, femur, tibia, wave, tissue)
        return self._ligaments(image, y, x, back, wave, tissue)

    def _soft(self, y: Field, x: Field, back: float, wave: Field, frame: int, tissue: Contrast) -> Field:
        """Skin, fat under it, muscles above and below the joint with fat between their bundles."""
        round_ = float(np.sqrt(max(0.35, 1 - ((back - 0.5) / 0.66) ** 2)))
        half = (118 - 0.10 * np.abs(y - 150) - 0.0006 * (y - 190) ** 2) * round_
        depth = half - np.abs(x - MIDDLE) + 2.0 * wave
        image = np.zeros_like(y)
        image = blend(image, tissue.fat, inside(-depth, 1.0))
        image = blend(image, 0.45, band(depth, 0.0, 1.6))
        strands = smooth_noise(generator(self.seed, "strands", frame // 2), y.shape, (22.0, 7.0))
        fibres = smooth_noise(generator(self.seed, "fibres", frame), y.shape, (16.0, 3.5))
        bundle = inside(np.abs(strands) * -9 + 2.2, 1.6)
        gap = 30 + 30 * np.exp(-(((y - JOINT) / 62) ** 2)) - 8 * back
        deep = inside(gap - depth + 3 * wave, 2.0) if back < 0.75 else inside(13 - depth, 2.0)
        muscle = np.asarray(tissue.muscle * (1 + 0.09 * fibres), dtype=np.float32)
        image = blend(image, muscle, deep * (0.25 + 0.75 * bundle))
        image = blend(image, tissue.dark * 2, 0.5 * band(depth, 12.0, 13.4))
        lobules = smooth_noise(generator(self.seed, "lobules", frame), y.shape, (9.0, 13.0))
        return blend(image, 0.8 * image, inside(np.abs(lobules) * 6 - 0.8, 0.8) * (1 - deep) * 0.6)

    def _femur(self, y: Field, x: Field, back: float) -> Field:
        """Signed distance to the femur: shaft, flare and two condyles, with the notch between them behind."""
        away = np.abs(x - MIDDLE)
        size = 1 - 0.55 * max(0.0, 0.3 - back) / 0.3 - 0.25 * max(0.0, back - 0.8) / 0.2
        flare = away - (30 + 44 / (1 + np.exp((98 - y) / 11))) * size
        body = np.maximum(flare, y - 142)
        if back > 0.72:  # the shaft lies in front of these frames
            body = np.maximum(body, y + 2000 * (back - 0.72) - 60)
        condyles = np.minimum(
            ellipse(y, x, 128, MIDDLE - 41 * size**0.5, 41 * size, 39 * size),
            ellipse(y, x, 128, MIDDLE + 41 * size**0.5, 40 * size, 38 * size),
        )
        bone = np.minimum(body, condyles)
        if 0.32 < back < 0.95:
            deep = 26 * min(1.0, (back - 0.32) / 0.25)
            bone = np.maximum(bone, -ellipse(y, x, 172, MIDDLE, deep + 12, 12 + 0.35 * deep))
        return np.asarray(bone, dtype=np.float32)

    def _tibia(self, y: Field, x: Field, back: float) -> Field:
        """Signed distance to the tibia: plateau with two spines, metaphysis, shaft."""
        away = np.abs(x - MIDDLE)
        size = 1 - 0.5 * max(0.0, 0.25 - back) / 0.25 - 0.2 * max(0.0, back - 0.8) / 0.2
        half = (33 + 48 / (1 + np.exp((y - 224) / 17))) * size
        top = 178 + 0.0011 * away**2
        if 0.35 < back < 0.75:
            top = top - 8 * np.exp(-(((away - 8) / 6) ** 2))
        start = 20 * max(0.0, 0.2 - back) / 0.2
        return np.asarray(np.maximum(away - half, top + start - y), dtype=np.float32)

    def _fibula(self, y: Field, x: Field, back: float) -> Field:
        cx = MIDDLE + self.lateral * 72
        head = ellipse(y, x, 226, cx, 18, 15)
        shaft = np.maximum(np.abs(x - cx + self.lateral * 0.06 * (y - 226)) - 9, 226 - y)
        return np.asarray(np.minimum(head, shaft) + 8 * max(0.0, 0.6 - back), dtype=np.float32)

    def _cartilage(self, image: Field, y: Field, femur: Field, tibia: Field, back: float, tissue: Contrast) -> Field:
        """Cartilage on both joint surfaces with a thin film of fluid between."""
        if not 0.12 < back < 0.95:
            return image
        near = inside(y - 204, 3.0) * inside(142 - y, 3.0)
        image = blend(image, tissue.fluid * 0.8, inside(femur - 6.0, 0.8) * inside(tibia - 6.0, 0.8) * near)
        image = blend(image, tissue.cartilage, inside(femur - 4.6, 0.8) * near)
        return blend(image, tissue.cartilage * 0.96, inside(tibia - 3.6, 0.8) * inside(168 - y, 2.0) * near)

    def _menisci(self, image: Field, y: Field, x: Field, back: float, wave: Field, tissue: Contrast) -> Field:
        """Two dark wedges, pointing to the middle; near their horns they are bands."""
        if not 0.24 < back < 0.86:
            return image
        horn = max(0.0, 1 - min(back - 0.24, 0.86 - back) / 0.14)
        away = np.abs(x - MIDDLE) + 0.8 * wave
        tip = 50 - 26 * horn
        share = np.clip((away - tip) / (82 - tip), 0, 1)
        half = 0.7 + 6.8 * (share**0.8) * (1 - 0.25 * horn) + 2.5 * horn * (share > 0)
        wedge = np.maximum(np.abs(y - JOINT - 0.02 * away) - half, np.maximum(tip - away, away - 83))
        return blend(image, tissue.dark * 1.3, inside(wedge, 0.8))

    def _plates(self, image: Field, y: Field, femur: Field, tibia: Field, wave: Field, tissue: Contrast) -> Field:
        """The scars of the growth plates."""
        for bone, row in ((femur, 93.0), (tibia, 214.0)):
            line = np.abs(y - row - 5 * wave) - 0.7
            image = blend(image, tissue.dark, 0.45 * inside(line, 0.9) * inside(bone + 4, 2.0))
        return image

    def _ligaments(self, image: Field, y: Field, x: Field, back: float, wave: Field, tissue: Contrast) -> Field:
        side = self.lateral
        across = side * (x - MIDDLE)
        if 0.35 < back < 0.68:  # collateral ligaments
            for where, low, high in ((-88.0, 116.0, 238.0), (91.0, 120.0, 214.0)):
                line = np.maximum(np.abs(across - where + 0.9 * wave) - 1.9, np.maximum(low - y, y - high))
                image = blend(image, tissue.dark, inside(line, 0.9))
        if 0.4 < back < 0.7:  # anterior cruciate: from the tibia's middle up to the lateral condyle
            slide = (back - 0.4) / 0.3
            image = blend(
                image,
                tissue.dark * 2.4,
                inside(ellipse(y, x, 160, MIDDLE + side * (3 + 8 * slide), 17, 4.4, -side * 0.4), 1.6),
            )
        if 0.55 < back < 0.85:  # posterior cruciate
            image = blend(image, tissue.dark, inside(ellipse(y, x, 162, MIDDLE - side * 7, 13, 6, side * 0.25), 1.2))
        if back < 0.14:  # patellar and quadriceps tendons
            tendon = np.abs(x - MIDDLE - 4 * side) - 15 + 0.05 * np.abs(y - 118) + 1.5 * wave
            image = blend(
                image,
                tissue.dark * 1.5,
                0.9 * inside(np.maximum(tendon, 38 - np.abs(y - 118)), 1.6) * inside(y - 246, 9.0),
            )
        if back > 0.8:  # vessels behind the knee
            for offset in (-6.0, 7.0):
                vessel = np.abs(x - MIDDLE - offset - 5 * wave - 3 * side) - 3.6
                signal = 0.62 * tissue.fluid if offset > 0 else tissue.dark * 2
                image = blend(image, signal, 0.85 * inside(vessel, 1.2))
        return image
