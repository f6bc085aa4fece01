"""Policy optimisation: Adam on the particles' expected cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from jaxtyping import Array, Float

from vfpilco import stopping
from vfpilco.errors import UserError
from vfpilco.particles import Simulator
from vfpilco.policies.base import Params
from vfpilco.posterior import Posterior
from vfpilco.settings import Settings
from vfpilco.watch import Watcher

Tree = TypeVar("Tree")


def adam(clip: float) -> optax.GradientTransformation:
    """Adam's directions, from gradients that are shortened where they are `clip` times longer than usual (0: never)."""
    return optax.chain(shortened(clip), optax.scale_by_adam()) if clip else optax.scale_by_adam()


def shortened(times: float) -> optax.GradientTransformation:
    """Gradients no longer than `times` their usual length, a running mean.

    One particle on its way to infinity makes a gradient some thousand times longer than the others: it would send the
    policy anywhere, and Adam would take tiny steps for long afterwards.
    """

    def init(params: Any) -> Array:
        return jnp.zeros((), jax.tree.leaves(params)[0].dtype)

    def update(gradient: Any, usual: Any, params: Any = None) -> tuple[Any, Array]:
        length = jnp.sqrt(sum(jnp.sum(leaf**2) for leaf in jax.tree.leaves(gradient)))
        most = jnp.where(usual > 0, times * usual, length)
        factor = jnp.where(length > most, most / length, 1)
        usual = jnp.where(usual > 0, 0.95 * usual + 0.05 * jnp.minimum(length, most), length)
        return jax.tree.map(lambda leaf: leaf * factor, gradient), usual.astype(length.dtype)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


class Progress(NamedTuple):
    """Where an optimisation stands: everything that is needed to go on."""

    params: Params
    moments: Any
    key: Array


def begin(params: Params, key: Array, shards: int, clip: float = 0.0) -> Progress:
    """A fresh optimisation from `params`."""
    return everywhere(Progress(params, adam(clip).init(params), key), shards)


def everywhere(tree: Tree, shards: int) -> Tree:
    """The same arrays on every device that takes part, as `run` returns them, so that it is compiled once."""
    return jax.device_put(tree, NamedSharding(mesh(shards), PartitionSpec()))


def mesh(shards: int) -> Mesh:
    """As many devices as the shards can be spread on evenly."""
    devices = jax.devices()
    used = max(n for n in range(1, min(shards, len(devices)) + 1) if shards % n == 0)
    return Mesh(np.array(devices[:used]), ("particles",))


def cost_and_gradient(
    simulator: Simulator, params: Params, posterior: Posterior, key: Array, particles: int, dropout: Any
) -> tuple[Float[Array, ""], Params]:
    """Ĵ(θ) of Eq. 5 and its gradient, over `particles` particles."""

    def expected_cost(params: Params) -> Array:
        return simulator.expected_cost(simulator.rollout(params, posterior, key, particles, dropout))

    return jax.value_and_grad(expected_cost)(params)


@partial(jax.jit, static_argnames=("simulator", "particles", "shards", "clip"))
def run(
    simulator: Simulator,
    progress: Progress,
    posterior: Posterior,
    rates: Float[Array, "steps"],
    dropouts: Float[Array, "steps"],
    speeds: Params | None = None,
    *,
    particles: int,
    shards: int,
    clip: float = 0.0,
) -> tuple[Progress, Float[Array, "steps"]]:
    """One gradient step per entry of `rates`; the new progress and the cost at every step.

    `speeds` are factors on the step size of every parameter; 1 if not given.
    """
    factors = _like(progress.params, speeds)
    devices = mesh(shards)
    local = shards // devices.size
    per_shard = particles // shards

    def steps(index: Array, progress: Progress, posterior: Posterior, rates: Array, dropouts: Array, speeds: Params):
        def one(progress: Progress, schedule: tuple[Array, Array]) -> tuple[Progress, Array]:
            rate, dropout = schedule
            key, now = jax.random.split(progress.key)

            def shard(i: Array) -> tuple[Array, Params]:
                key = jax.random.fold_in(now, i)
                return cost_and_gradient(simulator, progress.params, posterior, key, per_shard, dropout)

            parts = jax.lax.map(shard, index) if local > 1 else jax.tree.map(lambda x: x[None], shard(index[0]))
            cost, gradient = jax.tree.map(lambda x: jax.lax.pmean(x.mean(0), "particles"), parts)
            updates, moments = adam(clip).update(gradient, progress.moments)
            params = jax.tree.map(lambda p, d, speed: p - rate * speed * d, progress.params, updates, speeds)
            return Progress(params, moments, key), cost

        return jax.lax.scan(one, progress, (rates, dropouts))

    same = PartitionSpec()
    spread = jax.shard_map(
        steps,
        mesh=devices,
        in_specs=(PartitionSpec("particles"), same, same, same, same, same),
        out_specs=same,
        check_vma=False,
    )
    return spread(jnp.arange(shards), progress, posterior, rates, dropouts, factors)


# -- the whole optimisation of one trial -------------------------------------------------------------------------

RETRIES = 10
"""How often a chunk with a cost that is not finite is drawn again before the policy itself is."""


class Phase(NamedTuple):
    """A part of an optimisation with the same step size and dropout rate throughout."""

    steps: int
    rate: float
    dropout: float

    def settled(self, costs: np.ndarray, least: float) -> bool:
        """Whether the cost changed by less than the share `least` between the last two fifths of the phase."""
        window = self.steps // 5
        if not least or window < 1 or len(costs) < 2 * window:
            return False
        earlier, later = costs[-2 * window : -window].mean(), costs[-window:].mean()
        return bool(abs(later - earlier) < least * earlier)


def phases(settings: Settings) -> tuple[Phase, ...]:
    """One half, a quarter and a quarter of the steps, each with smaller steps and less dropout than the one before."""
    half, quarter = -(-settings.steps // 2), -(-settings.steps // 4)
    first, last = settings.learning_rate, settings.final_learning_rate
    planned = (
        Phase(half, first, settings.dropout),
        Phase(min(quarter, settings.steps - half), float(np.sqrt(first * last)), settings.dropout / 2),
        Phase(max(settings.steps - half - quarter, 0), last, 0.0),
    )
    return tuple(phase for phase in planned if phase.steps)


def chunk_size(simulator: Simulator, settings: Settings) -> int:
    """Gradient steps between two looks at the cost: a second or two of work, whatever the size of the problem."""
    work = settings.particles * simulator.horizon * simulator.representation.d_q
    return int(np.clip(50 * 72_000 / work, 5, 50))


class Standing(NamedTuple):
    """Where the optimisation of a trial stands between two chunks: everything that is needed to go on, to the bit."""

    redraw: int
    """How often the policy was drawn anew."""
    phase: int
    begun: int
    """How many steps had been made when this phase began."""
    progress: Progress
    costs: Float[np.ndarray, "steps"]

    def arrays(self) -> dict[str, np.ndarray]:
        """All of it, by name."""
        raw = self._replace(progress=self.progress._replace(key=jax.random.key_data(self.progress.key)))
        leaves, _ = jax.tree_util.tree_flatten_with_path(raw)
        return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in leaves}

    def restored(self, arrays: dict[str, np.ndarray], shards: int) -> Standing:
        """The one that gave `arrays`, of an optimisation like this one; `ValueError` if it was of another."""
        shapes = {name: (array.dtype, array.shape[1:]) for name, array in self.arrays().items()}
        if {name: (array.dtype, array.shape[1:]) for name, array in arrays.items()} != shapes:
            raise ValueError("it is of another optimisation")
        names, structure = list(shapes), jax.tree.structure(self)
        raw = jax.tree.unflatten(structure, [arrays[name] for name in names])
        progress = raw.progress._replace(key=jax.random.wrap_key_data(jnp.asarray(raw.progress.key)))
        numbers = {name: int(getattr(raw, name)) for name in ("redraw", "phase", "begun")}
        return raw._replace(progress=everywhere(progress, shards), **numbers)


class Improved(NamedTuple):
    """An improved policy and the cost at every gradient step."""

    params: Params
    costs: Float[np.ndarray, "steps"]


def improve(
    simulator: Simulator,
    posterior: Posterior,
    before: Params | None,
    settings: Settings,
    key: Array,
    watch: Watcher,
    now: Standing | None = None,
    checkpoint: Callable[[Standing], None] = lambda standing: None,
    speeds: Params | None = None,
) -> Improved:
    """Improve the policy `before` (or a fresh one) on the learned dynamics, its parameters as fast as `speeds` say.

    `checkpoint` is told after every chunk of steps where the optimisation stands; from there, given as `now`, another
    call with the same other arguments goes on.
    """
    plan, chunk = phases(settings), chunk_size(simulator, settings)
    posterior = everywhere(posterior, settings.shards)
    now = now or start(simulator, before, settings, key)
    fixed = everywhere(_like(now.progress.params, speeds), settings.shards)
    while now.phase < len(plan):
        stopping.heed()
        phase, made = plan[now.phase], len(now.costs) - now.begun
        if made >= phase.steps or phase.settled(now.costs[now.begun :], settings.settled):
            now = now._replace(phase=now.phase + 1, begun=len(now.costs))
            continue
        steps = min(chunk, phase.steps - made)
        tried = _finite_chunk(simulator, now.progress, posterior, phase._replace(steps=steps), settings, watch, fixed)
        if tried is None:
            watch.note("The expected cost was not finite again and again: the policy is drawn anew.")
            if now.redraw + 1 >= RETRIES:
                raise UserError(
                    "The expected cost was never finite, whatever the policy: check that the cost function is finite "
                    "and smooth everywhere, or lower --learning-rate."
                )
            now = start(simulator, before, settings, key, now.redraw + 1)
            continue
        progress, costs = tried
        now = now._replace(progress=progress, costs=np.concatenate([now.costs, costs]))
        planned = sum(past.steps for past in plan[: now.phase]) + made + steps
        watch.step(planned, settings.steps, float(costs[-10:].mean()))
        checkpoint(now)
    return Improved(jax.tree.map(np.asarray, now.progress.params), now.costs)


def _like(params: Params, speeds: Params | None) -> Params:
    """Speeds in the precision of the parameters; 1 where none are given."""
    if speeds is None:
        return jax.tree.map(jnp.ones_like, params)
    return jax.tree.map(lambda p, speed: jnp.asarray(speed, p.dtype), params, speeds)


def start(simulator: Simulator, before: Params | None, settings: Settings, key: Array, redraw: int = 0) -> Standing:
    """The beginning of an optimisation from `before`, or from a fresh policy if there is none or it led nowhere."""
    k_init, k_run = jax.random.split(jax.random.fold_in(key, redraw))
    params = simulator.policy.init(k_init) if before is None or redraw else before
    params = jax.tree.map(lambda leaf: jnp.asarray(leaf, settings.precision), params)
    progress = begin(params, k_run, settings.shards, settings.clip)
    return Standing(redraw, 0, 0, progress, np.empty(0, settings.precision))


def _finite_chunk(
    simulator: Simulator,
    progress: Progress,
    posterior: Posterior,
    phase: Phase,
    settings: Settings,
    watch: Watcher,
    speeds: Params,
) -> tuple[Progress, np.ndarray] | None:
    """The steps of `phase`, drawn again where a cost or parameter is not finite; None if that never helps."""
    rates, dropouts = (np.full(phase.steps, value, settings.precision) for value in (phase.rate, phase.dropout))
    for retry in range(RETRIES + 1):
        start = progress if retry == 0 else progress._replace(key=jax.random.fold_in(progress.key, retry))
        after, cost = run(
            simulator,
            start,
            posterior,
            rates,
            dropouts,
            speeds,
            particles=settings.particles,
            shards=settings.shards,
            clip=settings.clip,
        )
        cost = np.asarray(cost)
        if np.all(np.isfinite(cost)) and all(np.all(np.isfinite(leaf)) for leaf in jax.tree.leaves(after.params)):
            return after, cost
        if retry == 0:
            watch.note("The expected cost was not finite: the same steps are made again with other particles.")
    return None
