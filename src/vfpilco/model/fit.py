"""Fitting GPs: one per joint, hyperparameters by maximising the evidence, in float64.

Up to a few hundred points the evidence is exact. With more, it is maximised on some of them first, and then a bound of
the evidence of all of them (`bound`), from there.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from threadpoolctl import threadpool_limits

from vfpilco.model import banded
from vfpilco.model.bound import Bound, Targets
from vfpilco.model.conditioning import Prior, condition
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.evidence import Hyperparameters, initial, loss_and_gradient, noise_covariances
from vfpilco.model.inducing import Sufficient, size_of, sufficient
from vfpilco.model.kernels import SE, Hyperprior, Kernel
from vfpilco.model.maximise import FitResult, maximise
from vfpilco.model.model import Model
from vfpilco.model.posterior import Posterior, joint
from vfpilco.model.threads import side_by_side

LEAST_PADDING = 250
"""A fit of no more points than this is not worth another compilation."""
MOST_EXACT = 600
"""The most points that the exact evidence is computed of; its time grows as their cube."""
STRETCH = 50
"""Consecutive points that are taken together, because they share noise, where the evidence is that of some."""
BOUND_SIZES, MOST_SLACK = (128, 256), 0.01
"""Inducing points of the bound for more points than that, and what they may leave unexplained, in nats per point."""
BOUND_STEPS, TOLERANCE = 40, 1e-5
"""Steps of L-BFGS on the bound, and the fraction by which one must improve it."""


@dataclass(frozen=True)
class Evidence:
    """The data of one GP, ready for maximising the evidence of its hyperparameters."""

    kernel: Kernel
    kinds: tuple[str, ...]
    """The kind of every entry of x̃."""
    x: np.ndarray
    y: np.ndarray
    """Targets of unit variance."""
    rows: int
    """The size that the data are padded to."""
    least_noise: float = 0.0
    """The noise is at least that, in units of the targets."""
    covariance: np.ndarray | None = None
    """Of the noise, by its diagonals; None if it is white."""
    unit: float = 1.0
    """The unit of the targets."""

    @property
    def hyperprior(self) -> Hyperprior:
        """Where its hyperparameters start, and how far they may go."""
        return jax.tree.map(jnp.asarray, initial(self.kernel, self.x, self.kinds, self.unit))

    def maximise(self, start: Hyperparameters | None = None, steps: int = 200) -> FitResult:
        """Maximise the evidence by L-BFGS, from `start` (or the hyperprior's centre), in at most `steps` steps."""
        x = jnp.asarray(np.pad(self.x, ((0, self.rows - len(self.y)), (0, 0))))
        covariance = None if self.covariance is None else banded.dense(self.covariance)
        hyperprior = self.hyperprior
        return maximise(
            lambda theta: loss_and_gradient(self.kernel, theta, hyperprior, x, self.y, covariance),
            hyperprior,
            start,
            least_noise=self.least_noise,
            steps=steps,
        )

    def at(self, rows: np.ndarray, padding: int) -> Evidence:
        """Some of the data, with the noise they share, padded to another size."""
        covariance = None if self.covariance is None else banded.select(self.covariance, rows)
        x, y = self.x[rows], self.y[rows]
        return dataclasses.replace(self, x=x, y=y, rows=padding, covariance=covariance)

    def maximise_bound(self, start: Hyperparameters) -> FitResult:
        """Maximise a bound of the evidence by L-BFGS, on inducing points that are chosen at `start`."""
        hyperprior = self.hyperprior
        targets = Targets.of(self.y, self.covariance)
        bound = Bound(self.kernel, self.x, targets, self._inducing(start, targets), hyperprior)
        return maximise(
            bound.loss, hyperprior, start, least_noise=self.least_noise, steps=BOUND_STEPS, tolerance=TOLERANCE
        )

    def _inducing(self, theta: Hyperparameters, targets: Targets) -> np.ndarray:
        """The first of `BOUND_SIZES` inducing points that leave little of the bound unexplained, or the last."""
        chosen, unexplained = Prior(self.kernel, theta.kernel, self.x, self.rows).choose(BOUND_SIZES[-1])
        slack = 0.5 * unexplained * targets.inverse[0].mean() / np.exp(2 * theta.log_noise)
        enough = next((size for size in BOUND_SIZES if size > len(slack) or slack[size - 1] < MOST_SLACK), None)
        return self.x[chosen[:enough]]


def paddings(rows: int, most: int = MOST_EXACT) -> list[int]:
    """The sizes that exact fits are padded to in a run that ends with `rows` points: the last one, a half, a quarter, …

    Those above `most` are left out.
    """
    sizes = [rows]
    while sizes[0] > LEAST_PADDING:
        sizes.insert(0, -(-sizes[0] // 2))
    return [size for size in sizes if size <= most]


def stretches(points: int, most: int) -> np.ndarray:
    """Indices of all points, or of at most `most` of them: stretches of `STRETCH` at even distances."""
    if points <= most:
        return np.arange(points)
    starts = np.linspace(0, points - STRETCH, most // STRETCH).round().astype(int)
    return (starts[:, None] + np.arange(STRETCH)).ravel()


@threadpool_limits.wrap(limits=1, user_api="blas")
def fit(
    data: TrainingSet,
    *,
    kernel: Kernel = SE(),  # noqa: B008 (immutable)
    kinds: tuple[str, ...] = (),
    inducing: int | None = 0,
    previous: Model | None = None,
    least_noise: Sequence[float] | None = None,
    most_exact: int = MOST_EXACT,
) -> Model:
    """Learn the dynamics from a training set: all GPs side by side, each from the hyperprior and from the last fit.

    Args:
        data: What is learned from. Its `capacity` is that of the last trial: arrays are padded accordingly.
        kernel: The covariance function.
        kinds: The kind of every entry of x̃, which the kernel may select.
        inducing: The number of inducing points of the projected posterior; None: as many as needed; 0: exact.
        previous: The model of the trial before.
        least_noise: The least noise of the targets, if that is known.
        most_exact: The most points whose evidence is computed exactly.

    Returns:
        The fitted model. It depends on the number of BLAS threads in the last digits, so there is one per GP.
    """
    covariances, target = noise_covariances(data), data.y - data.prior
    y_scale = np.maximum(target.std(0), 1e-9)
    least = np.zeros_like(y_scale) if least_noise is None else np.asarray(least_noise) / y_scale
    y = (target / y_scale).T
    evidences = [
        Evidence(kernel, kinds, data.x, y[j], data.rows, least[j], c, float(y_scale[j]))
        for j, c in enumerate(covariances)
    ]
    warm = [None if previous is None else _rescaled(previous, j, scale) for j, scale in enumerate(y_scale)]
    if previous is not None and _same_data(previous, kernel, kinds, len(data.x), y_scale):
        best = _results(previous)
    else:
        best = _maximised(evidences, warm, most_exact)
    theta = jax.tree.map(lambda *leaves: np.stack(leaves), *[result.hyperparameters for result in best])
    scores = tuple(result.score for result in best)
    unconditioned = Posterior(kernel, theta.kernel, None, None, None, y_scale)  # pyright: ignore
    model = Model(kernel, kinds, theta, unconditioned, len(data.x), scores)
    chosen = sufficient(model, data, size_of(previous)) if inducing is None else Sufficient(inducing)
    posterior, added = condition(kernel, theta, data, y_scale, chosen.size)
    remarks = chosen.remarks(previous)
    if added > 1e-6:
        remarks.append(f"The covariance was close to singular: {added:.0e} of its diagonal was added to factorise it.")
    return dataclasses.replace(model, posterior=posterior, remarks=tuple(remarks))


def _maximised(evidences: list[Evidence], warm: list[Hyperparameters | None], most: int) -> list[FitResult]:
    """The best hyperparameters of every GP: of two starts, on some of the data if there are many, then on all."""
    points, sizes = len(evidences[0].x), paddings(evidences[0].rows, most)
    rows = stretches(points, sizes[-1])
    padding = next(size for size in sizes if size >= len(rows))
    some = [evidence.at(rows, padding) for evidence in evidences]
    starts = [(j, start) for j, own in enumerate(warm) for start in ((None,) if own is None else (own, None))]
    found = side_by_side(lambda start: (start[0], some[start[0]].maximise(start[1])), starts)
    best = [max((r for i, r in found if i == j), key=lambda result: result.score) for j in range(len(some))]
    if len(rows) == points:
        return best
    return side_by_side(lambda pair: pair[0].maximise_bound(pair[1].hyperparameters), zip(evidences, best, strict=True))


def _same_data(model: Model, kernel: Kernel, kinds: tuple[str, ...], points: int, y_scale: np.ndarray) -> bool:
    """Whether a model was fitted to these data: as many points, and targets of the same variance to the last bit."""
    same = (model.kernel, model.kinds, model.points) == (kernel, kinds, points)
    return same and np.array_equal(model.posterior.y_scale, y_scale)


def _results(model: Model) -> list[FitResult]:
    return [FitResult(joint(model.hyperparameters, j), score) for j, score in enumerate(model.score)]


def _rescaled(previous: Model, j: int, y_scale: float) -> Hyperparameters:
    """The hyperparameters of the last fit, for targets with another unit."""
    factor = np.log(np.asarray(previous.posterior.y_scale)[j] / y_scale)
    old = joint(previous.hyperparameters, j)
    return Hyperparameters(previous.kernel.rescale(old.kernel, factor), old.log_noise + factor)
