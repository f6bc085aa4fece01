"""Learning problems of a given size, for measuring the speed of their parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from vfpilco.data.trial import Trial
from vfpilco.machines.load import load
from vfpilco.model.conditioning import condition
from vfpilco.model.dynamics import Dynamics, TrainingSet
from vfpilco.model.evidence import Hyperparameters, initial
from vfpilco.model.inducing import SIZES
from vfpilco.model.noise import WhiteNoise
from vfpilco.model.posterior import Posterior
from vfpilco.model.prior_mean import ConstantVelocity
from vfpilco.policy.base import Params, Policy, PolicyInputs
from vfpilco.policy.preparation import policy_inputs
from vfpilco.policy.rbf import RBF
from vfpilco.rollout.devices import replicate
from vfpilco.rollout.particles import Simulator
from vfpilco.state.base import Signals
from vfpilco.state.window import VelocityFree
from vfpilco.tasks.sensors import GaussianNoise
from vfpilco.tasks.start import GaussianStart
from vfpilco.trials.choosing import KERNELS
from vfpilco.trials.execute import connect, execute
from vfpilco.trials.plan import Plan
from vfpilco.trials.settings import Settings

ARM_PARTICLES = 200
"""Particles of the arm's gradient step."""


@dataclass(frozen=True)
class Problem:
    """A learning problem with a given number of training points and typical hyperparameters."""

    data: TrainingSet
    simulator: Simulator
    settings: Settings

    @staticmethod
    def cartpole(n: int) -> Problem:
        """The cart-pole, with `n` points from as many explorations as needed."""
        task = load("cartpole")
        plan = Plan(task, Settings().replace(**task.settings))
        dynamics = plan.dynamics
        trials = explored(range(-(-n // dynamics.state.rows(task.horizon))))
        data = dynamics.training_sets(trials).at(np.arange(n))._replace(capacity=n)
        policy = plan.settings.policy.bind(policy_inputs(dynamics.state, task, trials))
        return Problem(data, plan.simulator(dynamics, policy), plan.settings)

    @staticmethod
    def six_joints(n: int) -> Problem:
        """An arm in random motion, with `n` points: six angles, 36 GP inputs, 4 s at 50 Hz, 400 basis functions."""
        rng = np.random.default_rng(0)
        state = VelocityFree().bind(Signals(angles=(True,) * 6, d_u=6, sampling_time=0.02))
        dynamics = Dynamics(state, ConstantVelocity(), WhiteNoise(), GaussianNoise((1e-3,) * 6))
        samples = n + state.longest_memory + 1
        motion = np.cumsum(np.cumsum(1e-2 * rng.normal(size=(samples, 6)), axis=0) * 0.02, axis=0)
        trial = Trial(motion, rng.uniform(-1, 1, size=(samples - 1, 6)), 0.02)
        circle = tuple(kind == "circle" for kind in state.input_kinds() if kind != "input")
        settings = Settings().replace(particles=ARM_PARTICLES, policy=RBF(400))
        simulator = Simulator(
            dynamics=dynamics,
            policy=settings.policy.bind(PolicyInputs((1.0,) * len(circle), (1.0,) * 6, circle)),
            start=GaussianStart((0.0,) * 6, (1e-3,) * 6),
            cost=_distance,
            horizon=200,
        )
        return Problem(dynamics.training_set(trial), simulator, settings)

    def with_policy(self, policy: Policy) -> Problem:
        """The same problem with another policy."""
        bound = policy.bind(self.simulator.policy.inputs)
        return replace(self, simulator=replace(self.simulator, policy=bound))

    def posterior(self, inducing: int) -> Posterior:
        """The posterior under fixed hyperparameters.

        Lengthscales are three times the spread of the inputs, the signal is 3 times and the white noise 0.2 times the
        standard deviation of the targets.
        """
        kernel, kinds = self.settings.model.kernel or KERNELS[0], tuple(self.simulator.dynamics.state.input_kinds())
        y_scale = (self.data.y - self.data.prior).std(0)
        joints = len(y_scale)
        one = kernel.rescale(initial(kernel, self.data.x, kinds).centre.kernel, float(np.log(3.0)))
        stacked = jax.tree.map(lambda leaf: np.stack([leaf] * joints), one)
        theta = Hyperparameters(stacked, np.full(joints, np.log(0.2)))  # pyright: ignore[reportArgumentType]
        return condition(kernel, theta, self.data._replace(noise=None), y_scale, inducing)[0]

    def projected(self) -> Posterior:
        """The posterior that `learn` would use, on every device."""
        optimiser = self.settings.optimiser
        posterior = self.posterior(SIZES[0]).cast(optimiser.precision)
        return replicate(posterior, optimiser.shards)

    def params(self, dtype: str) -> Params:
        """A policy to start from."""
        return {k: jnp.asarray(v, dtype) for k, v in self.simulator.policy.init(jax.random.key(0)).items()}


def explored(seeds: Iterable[int]) -> list[Trial]:
    """Explorations of the cart-pole."""
    task = load("cartpole")
    return [execute(task, connect(task), task.explorer(seed, 0), seed) for seed in seeds]


def _distance(q: Float[Array, "*M d_q"]) -> Float[Array, "*M"]:
    return -jnp.expm1(-(q * q).sum(-1))
