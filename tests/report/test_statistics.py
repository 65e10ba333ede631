"""Intervals and tests against closed forms, scipy, statsmodels and simulation.

``python tests/report/test_statistics.py`` prints the simulation table of docs/statistics.md.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as hs
from scipy import stats
from slicewise.report import statistics as st

rng = np.random.default_rng


def unequal(clusters: int, seed: int) -> tuple[np.ndarray, list[str]]:
    generator = rng(seed)
    sizes = generator.integers(1, 9, clusters)
    names = [f"v{c}" for c, size in enumerate(sizes) for _ in range(size)]
    values = np.repeat(generator.normal(0.5, 0.2, clusters), sizes) + generator.normal(0, 0.1, sizes.sum())
    return values, names


# --- standard errors and intervals -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "clusters", "expected"),
    [
        ([1, 1, 0, 0], "aabb", 0.5),  # the clusters are two points: sd/sqrt(2) = 0.5
        ([1, 0, 1, 0], "aabb", 0.0),  # every cluster has the pooled mean
        ([1, 1, 0, 0], "abcd", math.sqrt(4 / 3 * 4 * 0.25) / 4),  # one item each: the ordinary standard error
    ],
)
def test_cr1_by_hand(values: list[float], clusters: str, expected: float) -> None:
    assert st.cr1_se(values, list(clusters)) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(("clusters", "seed"), [(3, 0), (8, 1), (40, 2)])
def test_cr1_is_the_clustered_error_of_statsmodels(clusters: int, seed: int) -> None:
    import statsmodels.api as sm

    values, names = unequal(clusters, seed)
    groups = np.unique(names, return_inverse=True)[1]
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": True, "df_correction": True}, use_t=True
    )
    assert st.cr1_se(values, names) == pytest.approx(float(fit.bse[0]), rel=1e-12)
    interval = st.t_interval(float(values.mean()), st.cr1_se(values, names), clusters)
    assert interval == pytest.approx(tuple(fit.conf_int()[0]), rel=1e-10)


def test_one_item_per_cluster_is_the_t_interval_of_scipy() -> None:
    values = rng(3).normal(size=20)
    names = [str(i) for i in range(20)]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.9)
    assert st.t_interval(values.mean(), st.cr1_se(values, names), 20, 0.9) == pytest.approx(tuple(expected), rel=1e-12)


def test_bootstrap_error_is_that_of_whole_samples() -> None:
    # A bootstrap over half the sample, or an error divided by the root of the draws, misses the closed form.
    values = (np.arange(200) < 120).astype(float)
    names = [str(i) for i in range(200)]
    totals = st.cluster_totals(values, names)
    means = st.bootstrap_means(totals.sums[:, None], totals.counts[:, None], st.resample(200, 4000, 5))
    assert means.std() == pytest.approx(math.sqrt(0.6 * 0.4 / 200), rel=0.05)


@given(hs.permutations(range(30)))
def test_no_number_depends_on_the_order_of_rows(order: list[int]) -> None:
    values, names = unequal(7, 11)
    values, names = values[:30], names[:30]
    order = [i for i in order if i < len(values)]
    shuffled, renamed = values[order], [names[i] for i in order]
    assert st.bootstrap_interval(shuffled, renamed, 200, 1) == st.bootstrap_interval(values, names, 200, 1)
    assert st.cr1_se(shuffled, renamed) == st.cr1_se(values, names)


def test_seed_decides_the_draws() -> None:
    values, names = unequal(9, 4)
    assert st.bootstrap_interval(values, names, 300, 1) == st.bootstrap_interval(values, names, 300, 1)
    assert st.bootstrap_interval(values, names, 300, 1) != st.bootstrap_interval(values, names, 300, 2)


@pytest.mark.parametrize("values", [[], [0.3], [0.3, 0.4]])
def test_one_cluster_has_no_interval(values: list[float]) -> None:
    names = ["a"] * len(values)
    assert st.bootstrap_interval(values, names) is None
    assert st.cr1_se(values, names) is None
    assert st.t_interval(0.3, None, 1) is None


def test_every_draw_holds_as_many_clusters_as_there_are() -> None:
    weights = st.resample(13, 500, 0)
    assert (weights.sum(axis=1) == 13).all()
    assert weights.mean(axis=0) == pytest.approx(np.ones(13), abs=0.2)


@pytest.mark.parametrize(("weights", "expected"), [([3, 3, 3], 3), ([1, 0, 0], 1), ([4, 2], 36 / 20)])
def test_effective_clusters(weights: list[float], expected: float) -> None:
    assert st.effective_clusters(np.array(weights, dtype=float)) == pytest.approx(expected)


def test_a_draw_without_items_is_left_out() -> None:
    means = st.bootstrap_means(np.array([[2.0], [0.0]]), np.array([[2.0], [0.0]]), np.array([[0, 2], [2, 0]]))
    assert np.isnan(means[0, 0])
    assert means[1, 0] == 1.0
    assert st.percentile_interval(means[:, 0], 2) == (1.0, 1.0)


@pytest.mark.parametrize("bad", [[0.5, math.nan], [0.5]])
def test_bad_values_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"not finite|one each"):
        st.cluster_totals(bad, ["a", "b"])


@pytest.mark.parametrize("clusters", [8, 40, 200])
@pytest.mark.parametrize("kind", ["score", "yes/no"])
def test_intervals_cover(clusters: int, kind: str) -> None:
    bootstrap, t, _ = coverage(clusters, kind, 1500, seed=1)
    assert bootstrap >= 0.925  # nominal 0.95; three standard errors of the simulation are 0.017
    assert t >= 0.925


def coverage(clusters: int, kind: str, simulations: int, seed: int) -> tuple[float, float, float]:
    """Share of intervals that hold the truth: expanded bootstrap, CR1 t, plain percentile bootstrap."""
    generator = rng(seed)
    weights = st.resample(clusters, 1000, 1)
    hits = np.zeros(3)
    truth = 0.5 if kind == "score" else 0.6
    for _ in range(simulations):
        sizes = generator.integers(1, 9, clusters)
        if kind == "score":  # volume effect 0.15, item noise 0.2
            sums = sizes * generator.normal(0.5, 0.15, clusters) + generator.normal(0, 0.2, clusters) * np.sqrt(sizes)
        else:  # the volume's own probability varies: Beta(1.8, 1.2)
            sums = generator.binomial(sizes, generator.beta(1.8, 1.2, clusters)).astype(float)
        counts = sizes.astype(float)
        mean = sums.sum() / counts.sum()
        means = st.bootstrap_means(sums[:, None], counts[:, None], weights)[:, 0]
        effective = st.effective_clusters(counts)
        ends = [
            st.percentile_interval(means, effective),
            st.t_interval(mean, st.cr1_from_influence(st.influence(sums, counts), clusters), effective),
            st.Interval(*np.quantile(means, [0.025, 0.975])),
        ]
        hits += [end is not None and end.low <= truth <= end.high for end in ends]
    return tuple(float(h) for h in hits / simulations)  # type: ignore[return-value]


# --- paired tests ----------------------------------------------------------------------------------------------------


def brute_force(differences: list[float]) -> float:
    observed = abs(sum(differences))
    patterns = list(itertools.product((-1, 1), repeat=len(differences)))
    hits = sum(
        abs(sum(s * d for s, d in zip(signs, differences, strict=True))) >= observed - 1e-12 for signs in patterns
    )
    return hits / len(patterns)


@given(hs.lists(hs.integers(-8, 8), min_size=1, max_size=9))
def test_sign_flip_is_exact_for_few_clusters(differences: list[int]) -> None:
    numbers = [d / 8 for d in differences]  # the zeros are dropped: flipping them changes nothing
    assert st.sign_flip_p(numbers) == pytest.approx(brute_force(numbers))


def test_sign_flip_agrees_with_scipy() -> None:
    a = rng(8).normal(0.3, 1, 12)
    expected = stats.permutation_test(
        (a,), lambda x, axis: np.sum(x, axis=axis), permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert st.sign_flip_p(a) == pytest.approx(float(expected.pvalue), rel=1e-9)


def test_drawn_patterns_agree_with_the_exact_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    a = rng(9).normal(0.4, 1, 14)
    exact = st.sign_flip_p(a)
    monkeypatch.setattr(st, "EXACT_CLUSTERS", 4)
    drawn = st.sign_flip_p(a, draws=20_000, seed=3)
    assert drawn == pytest.approx(exact, abs=4 * math.sqrt(exact * (1 - exact) / 20_000))
    assert st.sign_flip_p(np.full(60, 0.5), draws=999) == 1 / 1000  # never 0


def test_no_difference_has_p_1() -> None:
    assert st.sign_flip_p([]) == 1.0
    assert st.sign_flip_p([0.0, 0.0]) == 1.0
    assert st.sign_flip_p([0.1] * 3) == st.sign_flip_p([0.3] * 3) == 0.25  # equal sums, unequal last bits


def rejections(clusters: int, shift: float, simulations: int, seed: int) -> float:
    """Share of simulations in which the sign-flip test rejects at 5 %."""
    generator = rng(seed)
    drawn = [generator.normal(shift, 1, clusters) for _ in range(simulations)]
    return float(np.mean([st.sign_flip_p(d, draws=999, seed=s) < 0.05 for s, d in enumerate(drawn)]))


@pytest.mark.parametrize("clusters", [8, 40])
def test_size_and_power(clusters: int) -> None:
    assert rejections(clusters, 0.0, 400, seed=2) <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 400)
    detectable = st.minimal_detectable_effect(1 / math.sqrt(clusters), clusters)
    assert detectable is not None
    assert rejections(clusters, detectable, 400, seed=3) == pytest.approx(0.8, abs=0.08)


@settings(max_examples=30, deadline=None)
@given(hs.lists(hs.floats(0, 1), max_size=12))
def test_holm_is_that_of_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    expected = multipletests(p_values, method="holm")[1] if p_values else []
    assert st.holm(p_values) == pytest.approx(list(expected))


def test_holm_leaves_out_what_was_not_tested() -> None:
    assert st.holm([0.04, None, 0.01]) == [0.04, None, 0.02]


def test_detectable_effect_shrinks_with_clusters_and_grows_with_power() -> None:
    few, many = st.minimal_detectable_effect(0.1, 8), st.minimal_detectable_effect(0.1, 200)
    strict = st.minimal_detectable_effect(0.1, 200, power=0.9)
    assert few is not None
    assert many is not None
    assert strict is not None
    assert few > strict > many > 2 * 0.1
    assert many == pytest.approx(0.1 * (stats.t.ppf(0.975, 199) + stats.t.ppf(0.8, 199)))
    assert st.minimal_detectable_effect(None, 8) is None


@pytest.mark.parametrize(("values", "expected"), [([1, 3], math.sqrt(2)), ([2, 2], None), ([2], None)])
def test_effect_size(values: list[float], expected: float | None) -> None:
    assert st.effect_size(values) == pytest.approx(expected)


# --- diagnostics -----------------------------------------------------------------------------------------------------

YES_NO = hs.lists(hs.tuples(hs.booleans(), hs.sampled_from([True, False])), min_size=1, max_size=40)


@given(YES_NO)
def test_confusion_against_the_textbook(pairs: list[tuple[bool, bool]]) -> None:
    gold, answers = np.array(pairs).T
    made = st.confusion(gold.tolist(), answers.tolist())
    assert made.n == len(pairs)
    assert made.accuracy == pytest.approx((gold == answers).mean())
    varies = gold.std() > 0 and answers.std() > 0
    assert made.mcc == (pytest.approx(np.corrcoef(gold, answers)[0, 1], abs=1e-12) if varies else None)
    assert made.sensitivity == (pytest.approx(answers[gold].mean()) if gold.any() else None)
    assert made.specificity == (pytest.approx((~answers[~gold]).mean()) if not gold.all() else None)


def test_always_yes_is_balanced_to_a_half() -> None:
    made = st.confusion([True] * 9 + [False], [True] * 10)
    assert (made.accuracy, made.balanced_accuracy, made.mcc) == (0.9, 0.5, None)


def test_unread_is_wrong_on_both_sides() -> None:
    made = st.confusion([True, False, True], [None, None, True])
    assert (made.tp, made.fn, made.tn, made.fp, made.unread) == (1, 1, 0, 1, 2)


def test_count_error() -> None:
    made = st.count_error([2, 2, 5, 1], [2, 4, None, 0])
    assert (made.n, made.unread, made.mean_absolute, made.median_absolute) == (3, 1, 1.0, 1.0)
    assert made.bias == pytest.approx(1 / 3)
    assert made.within_one == pytest.approx(2 / 3)
    assert st.count_error([2], [None]) == st.CountError(0, 1, None, None, None, None)


def main(line: Callable[[str], None] = print) -> None:
    """Print the simulation table of the docs."""
    for kind, clusters in itertools.product(("score", "yes/no"), (8, 40, 200)):
        shares = coverage(clusters, kind, 5000, seed=7)
        line(f"| {kind} | {clusters} | " + " | ".join(f"{100 * share:.1f} %" for share in shares) + " |")
    for clusters in (8, 40, 200):
        effect = st.minimal_detectable_effect(1 / math.sqrt(clusters), clusters) or 0.0
        line(
            f"| {clusters} | {100 * rejections(clusters, 0, 4000, 5):.1f} % "
            f"| {100 * rejections(clusters, effect, 4000, 6):.1f} % | {effect:.3f} |"
        )


if __name__ == "__main__":
    main()
