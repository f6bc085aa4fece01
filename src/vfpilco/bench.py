"""How fast a gradient step is: against a plain version of the same step, and against what it cannot do without.

Every size is measured in a process of its own, so that its peak of memory is its own. All numbers of a table come from
one run: machines are noisy, ratios less so.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import PartitionSpec
from jaxtyping import Array

from vfpilco import gp, optimise, policies, tasks
from vfpilco.errors import UserError
from vfpilco.execute import connect, execute
from vfpilco.gp import Hyperparameters
from vfpilco.history import VelocityFree
from vfpilco.kernels import Form
from vfpilco.methods import represent
from vfpilco.particles import Simulator
from vfpilco.policies import Params
from vfpilco.posterior import Posterior
from vfpilco.representation import TrainingSet
from vfpilco.sensors import GaussianNoise
from vfpilco.settings import Settings
from vfpilco.start import GaussianStart
from vfpilco.trial import Trial

SIZES = (90, 180, 450, 900, 1800)
REFERENCE_UP_TO = 450
"""Training points up to which the plain version is measured; beyond, it only takes longer."""
STEPS = 8
"""Gradient steps per measurement."""


def bench(sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """Measure gradient steps for training sets of these sizes, and the fit of hyperparameters; then a robot arm's."""
    rows = []
    for n in sizes:
        ours = _in_own_process("ours", n)
        plain = _in_own_process("reference", n) if n <= REFERENCE_UP_TO else None
        rows.append(
            {
                "n": n,
                "seconds": ours["seconds"],
                "speedup_vs_reference": None if plain is None else plain["seconds"] / ours["seconds"],
                "ratio_to_floor": ours["seconds"] / ours["floor"],
                "peak_mb": ours["peak_mb"],
                "compile_seconds": ours["compile_seconds"],
                "particle_steps_per_second": ours["particle_steps_per_second"],
                "fit_seconds": ours["fit_seconds"],
            }
        )
    return {"gradient_step": rows, "six_joints": _in_own_process("six_joints", 800), "devices": len(jax.devices())}


def _in_own_process(what: str, n: int) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "vfpilco.bench", what, str(n)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise UserError(f"Measuring {what} at {n} points failed: {done.stderr.strip().splitlines()[-1]}.")
    return json.loads(done.stdout.splitlines()[-1])


@dataclass(frozen=True)
class Problem:
    """A learning problem at a given number of training points, with hyperparameters of the usual size."""

    data: TrainingSet
    simulator: Simulator
    settings: Settings

    @staticmethod
    def cartpole(n: int) -> Problem:
        """`n` points of as many explorations of the cart-pole as it takes."""
        task = tasks.load("cartpole")
        settings = task.settings
        how = represent(task, settings)
        trials = []
        for seed in range(-(-n // how.rows(task.horizon))):
            inputs = iter(task.exploring_inputs(seed, 0))
            trials.append(execute(task, connect(task), lambda q, u=inputs: next(u), seed))
        x, y, prior, mixing = TrainingSet.join([how.training_set(t) for t in trials])
        data = TrainingSet(x[:n], y[:n], prior[:n], None if mixing is None else mixing[:, :n])
        policy = policies.make(settings.policy, settings.basis_functions, how, task, trials)
        fixed = (task.sensor, task.start, task.cost, task.horizon)
        simulator = Simulator(how, policy, *fixed, credit=settings.credit)
        return Problem(data, simulator, settings)

    @staticmethod
    def six_joints(n: int) -> Problem:
        """`n` points of an arm's random motion: six angles, 36 GP inputs, 4 s at 50 Hz, 400 basis functions."""
        rng = np.random.default_rng(0)
        angles = (True,) * 6
        settings = Settings(particles=200, basis_functions=400)
        history = VelocityFree(angles, 6, settings.m_q, settings.m_u)
        motion = np.cumsum(np.cumsum(1e-2 * rng.normal(size=(n + history.first_real + 1, 6)), axis=0) * 0.02, axis=0)
        trial = Trial(motion, rng.uniform(-1, 1, size=(len(motion) - 1, 6)), 0.02)
        circle = tuple(kind == "circle" for kind in history.input_kinds() if kind != "input")
        policy = policies.RBFNetwork((1.0,) * len(circle), circle, (1.0,) * 6, settings.basis_functions)
        start = GaussianStart((0.0,) * 6, (1e-3,) * 6)
        simulator = Simulator(history, policy, GaussianNoise((1e-3,) * 6), start, _distance, 200)
        return Problem(history.training_set(trial), simulator, settings)

    def posterior(self, inducing: int | None) -> Posterior:
        """The posterior under fixed hyperparameters: lengthscales of three spreads, noise a fifth of the signal."""
        target = self.data.y - self.data.prior
        y_scale = target.std(0)
        joints = len(y_scale)
        form = Form(self.settings.kernel, tuple(self.simulator.representation.input_kinds()))
        start = gp.guarded(self.data.x, form).centre
        kernel = jax.tree.map(lambda leaf: np.stack([leaf] * joints), start.kernel.rescale(np.log(3.0)))
        theta = Hyperparameters(kernel, np.full(joints, np.log(0.2)))  # pyright: ignore[reportArgumentType]
        return gp.condition(theta, self.data.x, target / y_scale, y_scale, len(self.data.x), inducing)[0]

    def projected(self) -> Posterior:
        """The posterior that `learn` would use, on every device."""
        posterior = self.posterior(self.settings.inducing or None).cast(self.settings.precision)
        return optimise.everywhere(posterior, self.settings.shards)

    def params(self, dtype: str) -> Params:
        """A policy to start from."""
        return {k: jnp.asarray(v, dtype) for k, v in self.simulator.policy.init(jax.random.key(0)).items()}


def measure(function: Callable[[], Any], repeats: int = 5) -> tuple[float, float]:
    """The median time of a call, and how much longer the first one took."""
    times = []
    for _ in range(repeats + 1):
        begin = time.perf_counter()
        jax.block_until_ready(function())
        times.append(time.perf_counter() - begin)
    typical = float(np.median(times[1:]))
    return typical, max(times[0] - typical, 0.0)


def _distance(q: Array) -> Array:
    return -jnp.expm1(-(q * q).sum(-1))


class Step(NamedTuple):
    """A measured gradient step."""

    seconds: float
    compile_seconds: float
    peak_mb: float
    particle_steps_per_second: float


def measure_step(problem: Problem) -> Step:
    """A gradient step as `learn` makes it."""
    settings = problem.settings
    posterior = problem.projected()
    progress = optimise.begin(problem.params(settings.precision), jax.random.key(1), settings.shards)
    rates = np.full(STEPS, 1e-3, settings.precision)
    dropouts = np.full(STEPS, settings.dropout, settings.precision)
    step = partial(
        optimise.run, problem.simulator, progress, posterior, rates, dropouts,
        particles=settings.particles, shards=settings.shards,
    )  # fmt: skip
    typical, compiling = measure(step)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = typical / STEPS
    return Step(seconds, compiling, peak, settings.particles * problem.simulator.horizon / seconds)


def measure_ours(n: int) -> dict[str, Any]:
    """A gradient step on the cart-pole, its floor at the same shapes, and a fit."""
    problem = Problem.cartpole(n)
    step = measure_step(problem)
    floor = measure_floor(problem, problem.projected())
    begin = time.perf_counter()
    gp.fit(problem.data, n, problem.settings.inducing or None)
    return {**step._asdict(), "floor": floor, "fit_seconds": time.perf_counter() - begin}


def measure_six_joints(n: int) -> dict[str, Any]:
    """A gradient step on a robot arm's shapes, with the default number of inducing points."""
    problem = Problem.six_joints(n)
    return {"n": n, "d_x": problem.data.x.shape[1], **measure_step(problem)._asdict()}


def measure_floor(problem: Problem, posterior: Posterior) -> float:
    """The products and exponentials of a gradient step and nothing else, on as many devices.

    Per time step: kernel product, exp, mean and variance products of every GP; the policy's forward and backward.
    """
    settings = problem.settings
    params = problem.params(settings.precision)
    mesh = optimise.mesh(settings.shards)
    shared = (posterior.z, posterior.a, posterior.w, params["centers"], params["weights"])

    def particles(x: Array, z: Array, a: Array, w: Array, c: Array, weights: Array) -> Array:
        def step(x: Array, _: None) -> tuple[Array, None]:
            total = jnp.zeros((), x.dtype)
            for j in range(len(z)):
                k = jnp.exp(x @ z[j].T)
                v = k @ w[j]
                total = total + (k @ a[j]).sum() + (v * v).sum()
            s = x[:, : c.shape[1]]
            g = jnp.exp(s @ c.T)
            u = g @ weights
            h = g * (u @ weights.T)
            total = total + (h.T @ s).sum() + (g.T @ u).sum()
            back = jnp.pad(h @ c, ((0, 0), (0, x.shape[1] - c.shape[1])))
            return jnp.tanh(1e-6 * back + 1e-9 * total), None

        return jax.lax.scan(step, x[0], None, length=problem.simulator.horizon)[0][None]

    spread = jax.shard_map(
        particles,
        mesh=mesh,
        in_specs=(PartitionSpec("particles"), *[PartitionSpec()] * len(shared)),
        out_specs=PartitionSpec("particles"),
        check_vma=False,
    )
    x = jnp.zeros((mesh.size, settings.particles // mesh.size, posterior.z.shape[2]), posterior.a.dtype)
    return measure(partial(jax.jit(spread), x, *shared))[0]


def measure_reference(n: int) -> dict[str, Any]:
    """The same step written plainly: float64, exact posterior, ordinary autodiff; jitted, scanned, on all cores."""
    problem = Problem.cartpole(n)
    settings = problem.settings
    posterior = jax.tree.map(jnp.asarray, problem.posterior(None))
    simulator, history = problem.simulator, problem.simulator.representation
    inverse = posterior.w @ posterior.w.transpose(0, 2, 1)

    def predict(x: Array) -> tuple[Array, Array]:
        means, variances = [], []
        for j in range(posterior.joints):
            kernel = jax.tree.map(lambda leaf, j=j: leaf[j], posterior.kernel)
            k = kernel.cross(x, posterior.z[j])
            means.append(k @ posterior.a[j] * posterior.y_scale[j])
            variance = kernel.diagonal(x) - (k @ inverse[j] * k).sum(-1)
            variances.append(jnp.maximum(variance, 1e-9) * posterior.y_scale[j] ** 2)
        return jnp.stack(means, 1), jnp.stack(variances, 1)

    def policy(params: Params, x: Array, keep: Array) -> Array:
        scaled = x / jnp.asarray(simulator.policy.scale) * jnp.exp(-params["log_lengthscales"])  # pyright: ignore
        a = params["centers"] * jnp.exp(-params["log_lengthscales"])
        basis = jnp.exp(2 * scaled @ a.T - (scaled**2).sum(-1, keepdims=True) - (a**2).sum(-1)) * keep
        limits = jnp.asarray(simulator.policy.limits)  # pyright: ignore[reportAttributeAccessIssue]
        return limits * jnp.tanh(basis @ params["weights"] / limits)

    def expected_cost(params: Params, key: Array) -> Array:
        keys = jax.random.split(key, 4)
        q0 = simulator.start.sample(keys[0], settings.particles, jnp.float64)
        noise = simulator.sensor.fictitious(keys[1], (simulator.horizon, *q0.shape), jnp.float64)
        gauss = jax.random.normal(keys[2], noise.shape)
        keep = simulator.policy.dropout(keys[3], settings.particles, settings.dropout, jnp.float64)

        def step(carry, drawn):
            state, seen = carry
            u = policy(params, history.policy_input(seen), keep)
            mean, variance = predict(history.gp_input(state, u))
            change = history.prior_mean(state) + mean + jnp.sqrt(variance) * drawn[1]
            state = history.advance(state, u, change)
            q = history.positions(state)
            return (state, history.push(seen, q + drawn[0], u)), simulator.cost(q).mean()

        return jax.lax.scan(step, (history.begin(q0), history.begin(q0)), (noise, gauss))[1].sum()

    gradient = jax.jit(jax.value_and_grad(expected_cost))
    seconds, _ = measure(partial(gradient, problem.params("float64"), jax.random.key(1)), repeats=3)
    return {"seconds": seconds}


if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)  # so that compiling is measured too
    measures = {"ours": measure_ours, "reference": measure_reference, "six_joints": measure_six_joints}
    print(json.dumps(measures[sys.argv[1]](int(sys.argv[2]))))
