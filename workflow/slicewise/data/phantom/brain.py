"""An axial brain: scalp, skull, folded cortex, white matter, ventricles, deep grey matter, cerebellum, orbits.

Frames run from the skull base to the vertex. The patient's right is on the left of the image, as in the released
frames. Shapes are in pixels of a 320 grid.
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

FRAMES = 16
SCALP, SKULL, BRAIN = 7.5, 13.5, 15.5  # depth below the skin at which each layer ends or begins
MIDDLE = 160.0
INNER = 0.62  # the core of a tumour or a cavity as a share of the whole


@dataclass(frozen=True, slots=True)
class Contrast:
    """Signal of each tissue in one sequence; 1 is about the brightest normal tissue."""

    fluid: float
    grey: float
    white: float
    fat: float
    bone: float
    muscle: float
    lesion: float  # gliosis, oedema
    solid: float  # tumour
    rim: float  # around tumours and cavities


CONTRASTS = {
    "FLAIR": Contrast(0.07, 0.62, 0.45, 0.62, 0.05, 0.30, 0.95, 0.88, 0.86),
    "T1": Contrast(0.16, 0.43, 0.68, 0.92, 0.07, 0.38, 0.33, 0.36, 0.40),
    "T1POST": Contrast(0.16, 0.46, 0.66, 0.92, 0.07, 0.46, 0.40, 1.00, 1.08),
}


@dataclass(frozen=True, slots=True)
class Brain:
    """One synthetic volume.

    Attributes:
        sequence: A key of ``CONTRASTS``.
        size: Rows and columns of a frame.
        seed: Seed of this volume.
        ventricles: Width of the ventricles; 1 is normal.
        lesions: Planted findings.
    """

    sequence: str
    size: int
    seed: int
    ventricles: float
    lesions: tuple[Lesion, ...]

    def head(self, frame: int) -> float:
        """Size of the head on a frame; 1 is the largest."""
        height = (frame - 6.5) / 9.5
        return float(np.sqrt(max(0.08, 1 - (0.88 * height) ** 2))) if height > 0 else 1 - 0.16 * height**2

    def findings(self, frame: int) -> list[Finding]:
        """The boxes of what is planted on 0-based ``frame``, tight around its pixels."""
        found = (boxed(lesion.label, share, frame) for lesion, share in self._planted(frame))
        return [finding for finding in found if finding is not None]

    def pixels(self, frame: int) -> NDArray[np.uint8]:
        """0-based ``frame`` as the scanner shows it, (size, size)."""
        image = self.signal(frame)
        y, x = grid(self.size)
        rng = generator(self.seed, "scan", frame)
        bias = smooth_noise(generator(self.seed, "bias"), y.shape, (140.0, 140.0))
        coil = 0.92 + 0.2 * (((y - 160) / 150) ** 2 + ((x - 160) / 130) ** 2) / 2
        return acquire(rng, image, np.exp(0.07 * bias) * coil, noise=0.022, blur=0.65 * self.size / 320)

    def signal(self, frame: int) -> Field:
        """Signal of one frame with its findings, before the scanner's noise and shading."""
        image = self.anatomy(frame)
        for lesion, share in self._planted(frame):
            image = self._paint(image, lesion, share, frame)
        return image

    def _planted(self, frame: int) -> list[tuple[Lesion, Field]]:
        y, x = grid(self.size)
        shares = ((lesion, self._share(lesion, y, x, frame)) for lesion in self.lesions)
        return [(lesion, share) for lesion, share in shares if share is not None]

    def _share(self, lesion: Lesion, y: Field, x: Field, frame: int) -> Field | None:
        """The part of a finding that lies in the tissue which it can take."""
        if lesion.look == "ventricles":
            return self._ventricles(y, x, frame)
        share = lesion.share(frame, self.size, self.seed)
        if share is None:
            return None
        depth = self._depth(y, x, frame)
        if lesion.look == "flap":
            return share * band(depth, SCALP - 2, SKULL + 0.5)
        return share * inside(BRAIN + 1 - depth, 0.8)

    def _paint(self, image: Field, lesion: Lesion, share: Field, frame: int) -> Field:
        if lesion.look == "ventricles":  # drawn with the anatomy
            return image
        tissue = CONTRASTS[self.sequence]
        grain = 1 + 0.07 * smooth_noise(generator(self.seed, lesion.look, frame), image.shape, (5.0, 5.0))
        if lesion.look == "flap":  # soft tissue where the dark bone was
            return blend(image, 0.62 * tissue.fat * grain, share)
        outer, core = {
            "bright": (tissue.lesion, None),
            "tumour": (tissue.rim, 0.7 * tissue.solid),
            "solid": (tissue.solid, None),
            "cavity": (tissue.rim, 0.8 * tissue.fluid),
        }[lesion.look]
        image = blend(image, outer * grain, 0.93 * share)
        inner = lesion.share(frame, self.size, self.seed, INNER)
        return image if core is None or inner is None else blend(image, core * grain, share * inner)

    def anatomy(self, frame: int) -> Field:
        """Signal of one frame without findings and scanner effects."""
        tissue = CONTRASTS[self.sequence]
        y, x = grid(self.size)
        depth = self._depth(y, x, frame)
        cerebrum = self._cerebrum(y, x, depth, frame, tissue)
        image = np.zeros_like(y)
        mottle = smooth_noise(generator(self.seed, "scalp", frame), y.shape, (10.0, 10.0))
        image = blend(image, tissue.fat * (0.86 + 0.07 * mottle), inside(-depth, 1.0))
        temples = band(depth, 4.5, SCALP) * inside(np.abs(y - 150) - 52 * self.head(frame), 12.0)
        image = blend(image, tissue.muscle, 0.85 * temples)
        image = blend(image, tissue.bone, inside(SCALP - depth, 1.0))
        image = blend(image, 0.55 * tissue.fat, 0.5 * band(depth, SCALP + 2, SKULL - 2, 1.2))
        image = blend(image, tissue.fluid, inside(SKULL - depth, 0.8))
        image = blend(image, cerebrum, inside(BRAIN - depth, 0.8))
        image = blend(image, tissue.fluid, self._ventricles(y, x, frame))
        return self._base(image, y, x, depth, frame, tissue) if frame <= 4 else image

    def _depth(self, y: Field, x: Field, frame: int) -> Field:
        """Pixels below the skin; negative outside."""
        scale = self.head(frame)
        egg = 1 + 0.11 * (y - 150) / 140
        outline = ellipse(y, MIDDLE + (x - MIDDLE) / egg, 158, MIDDLE, 141 * scale, 109 * scale)
        wave = smooth_noise(generator(self.seed, "skin", frame // 3), y.shape, (75.0, 75.0))
        return np.asarray(-outline + 1.6 * wave, dtype=np.float32)

    def _to_sulcus(self, y: Field, x: Field, depth: Field, frame: int) -> Field:
        """Distance to the nearest sulcus in pixels.

        Sulci are the zero lines of a noise field that varies along the surface much faster than inward, so most run
        inward from the surface; they change slowly with height.
        """
        from scipy import ndimage

        rng = generator(self.seed, "folds")
        table = smooth_noise(rng, (FRAMES, 112, 16), (2.6, 1.75, 4.2))[frame]
        table = np.concatenate([table, table[:1]])
        angle = (np.arctan2(y - 160, x - 160) / (2 * np.pi) % 1.0) * 112
        bend = smooth_noise(generator(self.seed, "bend", frame // 2), y.shape, (26.0, 26.0))
        coordinates = np.stack([(angle + 1.7 * bend) % 112, np.clip(depth - BRAIN, 0, 60) / 60 * 15])
        radial = ndimage.map_coordinates(table, coordinates, order=1, mode="nearest")
        small = smooth_noise(generator(self.seed, "curl", frame), y.shape, (16.0, 16.0))
        folds = ndimage.gaussian_filter(0.8 * radial + 0.5 * small, 1.0)
        slope = np.hypot(*np.gradient(folds))
        return np.asarray(np.abs(folds) / np.maximum(slope, 0.05) * (320 / self.size), dtype=np.float32)

    def _cerebrum(self, y: Field, x: Field, depth: Field, frame: int, tissue: Contrast) -> Field:
        """Grey and white matter with sulci, the fissure between the hemispheres and the deep nuclei."""
        below = depth - BRAIN
        away = self._to_sulcus(y, x, depth, frame)
        reach = smooth_noise(generator(self.seed, "reach", frame), y.shape, (30.0, 30.0))
        fade = np.clip(1.08 - below / ((38 if frame < 11 else 48) + 9 * reach), 0, 1)
        sulcus = inside(away - (1.2 + 0.45 * reach) * fade, 0.9) * np.clip(6 * fade, 0, 1)
        ribbon = inside(away - 5.6 * np.sqrt(fade), 1.4) * np.clip(3 * fade, 0, 1)
        cortex = np.maximum(inside(below - 4.5, 1.3), ribbon)
        rough = 0.03 * smooth_noise(generator(self.seed, "white", frame), y.shape, (9.0, 9.0))
        image = np.full_like(y, tissue.white) * (1 + rough)
        image = blend(image, tissue.grey, cortex.astype(np.float32))
        if 5 <= frame <= 8:
            for side in (-1.0, 1.0):
                outline = ellipse(y, x, 156, MIDDLE + side * 80, 19, 25, side * 0.35) + 3.2 * reach
                cleft = np.abs(outline) + 12 * (side * (x - MIDDLE) > 88)
                island = inside(cleft - 5.5, 1.4)
                image = blend(image, tissue.grey, island)
                sulcus = np.maximum(sulcus, inside(cleft - 1.4, 0.9) * inside(side * (MIDDLE - x) + 56, 3.0))
        for nucleus in self._nuclei(y, x, frame):
            image = blend(image, tissue.grey, 0.62 * nucleus)
        gap = self._fissure(y, x, frame)
        image = blend(image, tissue.grey, inside(gap - 6.0, 1.5))
        fluid = np.maximum(sulcus, inside(gap - 1.5, 1.0))
        return blend(image, tissue.fluid, 0.92 * fluid)

    def _fissure(self, y: Field, x: Field, frame: int) -> Field:
        """Distance to the fissure between the hemispheres; far away where the halves are joined."""
        sway = 1.3 * smooth_noise(generator(self.seed, "sway", frame), y.shape, (40.0, 320.0))
        across = np.abs(x - MIDDLE + sway)
        if frame >= 11:
            return across
        ends = np.maximum(0, np.minimum(y - 104, 212 - y))
        return np.asarray(across + 2.0 * ends, dtype=np.float32)

    def _nuclei(self, y: Field, x: Field, frame: int) -> list[Field]:
        if not 5 <= frame <= 8:
            return []
        shapes = []
        for side in (-1.0, 1.0):
            shapes.append(ellipse(y, x, 154, MIDDLE + side * 39, 24, 9, side * -0.28))  # putamen
            shapes.append(ellipse(y, x, 126, MIDDLE + side * 23, 15, 6, side * -0.3))  # caudate
            shapes.append(ellipse(y, x, 175, MIDDLE + side * 15, 17, 11, side * 0.4))  # thalamus
        wave = 1.6 * smooth_noise(generator(self.seed, "nuclei", frame), y.shape, (14.0, 14.0))
        return [inside(shape + wave, 2.6) for shape in shapes]

    def _ventricles(self, y: Field, x: Field, frame: int) -> Field:
        """Share of each pixel that is ventricle: horns below, bodies above, the third ventricle between."""
        wide = self.ventricles
        shapes: list[Field] = []
        for side in (-1.0, 1.0):
            off = MIDDLE + side * 5 * wide
            if 5 <= frame <= 8:
                shapes.append(ellipse(y, x, 121, off + side * 7, 17 * wide**0.5, 4.6 * wide, side * -0.42))
                shapes.append(ellipse(y, x, 205, off + side * 20, 23 * wide**0.5, 5.4 * wide, side * 0.38))
            if 8 <= frame <= 10:
                long = (38 - 7 * (frame - 8)) * wide**0.4
                shapes.append(ellipse(y, x, 156 + 3 * (frame - 8), off + side * 8, long, 5.6 * wide, side * 0.16))
        if 5 <= frame <= 6:
            shapes.append(ellipse(y, x, 168, MIDDLE, 13, 2.0 * wide))
        if not shapes:
            return np.zeros_like(y)
        wave = 1.1 * smooth_noise(generator(self.seed, "walls", frame), y.shape, (16.0, 16.0))
        return np.asarray(inside(np.minimum.reduce(shapes) + wave, 1.0), dtype=np.float32)

    def _base(self, image: Field, y: Field, x: Field, depth: Field, frame: int, tissue: Contrast) -> Field:
        """Cerebellum, brain stem, cisterns, petrous bone, orbits and sinuses of the lowest frames."""
        low = 4 - frame  # 0 at the tentorium, 4 at the skull base
        wave = 2.0 * smooth_noise(generator(self.seed, "base", frame), y.shape, (22.0, 22.0))
        back = ellipse(y, x, 226, MIDDLE, 40 + 2 * low, 58 + 5 * low) + wave
        folia = np.sin((np.hypot((y - 190) * 1.25, (x - MIDDLE) * 0.62) + 2.2 * wave) * 0.86)
        cerebellum = tissue.grey + (tissue.white - tissue.grey) * np.clip(0.45 * folia + 0.15, 0, 1)
        core = ellipse(y, x, 222, MIDDLE, 16 + low, 30) + 2 * wave
        cerebellum = blend(cerebellum.astype(np.float32), tissue.white, 0.8 * inside(core, 4.0))
        image = blend(image, tissue.fluid, inside(back - 2.5, 1.2))
        image = blend(image, cerebellum, inside(back, 1.0) * inside(BRAIN - depth, 1.0))
        stem = ellipse(y, x, 172, MIDDLE, 17, 21 - low) + 0.7 * wave
        image = blend(image, tissue.fluid, 0.85 * inside(stem - 4.5 + 1.6 * wave, 2.0))
        image = blend(image, tissue.white * 0.96, inside(stem, 1.2))
        image = blend(image, tissue.fluid, inside(ellipse(y, x, 194, MIDDLE, 5, 10), 1.5))  # fourth ventricle
        if frame <= 2:
            for side in (-1.0, 1.0):
                petrous = ellipse(y, x, 178, MIDDLE + side * 58, 9, 34, side * -0.5) + wave
                image = blend(image, tissue.bone, inside(petrous, 2.0))
        return self._face(image, y, x, depth, frame, tissue) if frame <= 2 else image

    def _face(self, image: Field, y: Field, x: Field, depth: Field, frame: int, tissue: Contrast) -> Field:
        """Orbits with eyes, and the air of the sinuses, in front of the temporal lobes."""
        reach = 108 - 14 * frame
        front = inside(y - reach + 0.012 * (x - MIDDLE) ** 2 * 0.5, 3.0) * inside(-depth, 1.0)
        mottle = smooth_noise(generator(self.seed, "face", frame), y.shape, (13.0, 13.0))
        flesh = np.asarray(tissue.muscle * (1 + 0.18 * mottle), dtype=np.float32)
        image = blend(image, flesh, front * inside(SCALP - depth, 2.0))
        image = blend(image, 0.02, inside(ellipse(y, x, 66, MIDDLE, 34, 15) + 3 * mottle, 1.5))
        for side in (-1.0, 1.0):
            cx = MIDDLE + side * 39
            image = blend(image, 0.85 * tissue.fat, inside(ellipse(y, x, 74, cx, 29, 22, side * 0.25), 2.0))
            image = blend(image, tissue.muscle, band(ellipse(y, x, 60, cx, 16, 16), -2.0, 0.0))
            image = blend(image, tissue.fluid * 1.6, inside(ellipse(y, x, 60, cx, 14.5, 14.5), 0.8))
            image = blend(image, tissue.muscle, inside(ellipse(y, x, 84, cx - side * 5, 14, 2.4, side * 0.3), 1.0))
        return image
