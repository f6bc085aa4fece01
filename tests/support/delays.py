"""Simulated recordings whose delay is known, and a table of what is found about it.

    PYTHONPATH=tests/support python -m delays            # seeds 0 … 3 of every machine and kind of inputs
    PYTHONPATH=tests/support python -m delays 100 2      # other seeds, from 100, two of each

The seed of a recording decides rate, length, sensor, clock and delay.
"""

from __future__ import annotations

import itertools
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import vfpilco
from vfpilco.data.trial import Trial
from vfpilco.machines.ballplate.plant import BallPlate
from vfpilco.machines.cartpole.plant import CartPole
from vfpilco.machines.furuta.plant import Furuta
from vfpilco.plants.simulation import SimulatedPlant
from vfpilco.recordings.channels import Channels
from vfpilco.recordings.delay import Delay
from vfpilco.recordings.inspection import delay_of, inspect
from vfpilco.tasks.exploration import Cosines, FilteredNoise
from vfpilco.tasks.sensors import GaussianNoise, Quantised, Sensor

EXAMPLES = Path(__file__).parents[2] / "examples" / "machines"
SUBSTEP = 2e-3
"""The longest step of the simulation, s."""
RIGHT, UNKNOWN, HEDGED, WRONG = "right", "cannot tell", "wrong, hedged", "wrong, clear"
VERDICTS = (RIGHT, UNKNOWN, HEDGED, WRONG)


class Motor(SimulatedPlant):
    """A DC motor with a gear: T θ'' = K u - θ' - c tanh(θ'/0.01), in rad and V."""

    positions = 1
    gain, time_constant, friction = 5.0, 0.08, 1.0

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        speed = float(state[1])
        pull = self.gain * float(u[0]) - speed - self.friction * math.tanh(speed / 0.01)
        return np.array([speed, pull / self.time_constant])


@dataclass(frozen=True)
class Rig:
    """A machine for the judge."""

    machine: vfpilco.Machine
    plant: Callable[[float, Sensor], SimulatedPlant]
    """Makes it from sampling time and sensor."""
    rates: tuple[float, ...]
    noise: tuple[float, ...]
    """Typical standard deviation of the measurement errors."""
    reach: tuple[float, ...]
    """How far each driven position is moved by a controller."""
    gain: tuple[float, ...]
    """Acceleration of each driven position per input."""
    gradual: bool = False
    """Whether it moves so gradually after an input that its first sample hardly shows."""


def _shelf(name: str) -> tuple[vfpilco.Machine, type[SimulatedPlant]]:
    machine = vfpilco.task(str(EXAMPLES / f"{name}.py")).machine
    assert callable(machine.plant)
    return machine, type(machine.plant())


def _rigs() -> dict[str, Rig]:
    cart, rotary, plate = (vfpilco.task(name).machine for name in ("cartpole", "furuta", "ballplate"))
    link, Link = _shelf("flexible_link")
    slider, Slider = _shelf("end_stop_slider")
    helicopter, Helicopter = _shelf("helicopter")
    piston, Piston = _shelf("pneumatic_positioner")
    motor = vfpilco.Machine(
        plant=None,
        positions=(vfpilco.Position("angle", "rad", angle=True),),
        inputs=(vfpilco.Input("voltage", "V", limit=6.0),),
        sampling_time=0.02,
        sensor=Quantised((2 * np.pi / 2048,)),
    )

    def furuta(h: float, sensor: Sensor) -> SimulatedPlant:
        return Furuta(h, sensor, latency=0.0, jitter=0.0)

    encoder = 2 * np.pi / 4096 / math.sqrt(12)
    return {
        "cart-pole": Rig(cart, CartPole, (30, 50, 100), (1e-3, 2e-3), (0.2,), (1.6,)),
        "Furuta": Rig(rotary, furuta, (30, 50, 100, 250), (encoder, encoder), (0.8,), (45.0,)),
        "ball-and-plate": Rig(plate, BallPlate, (30,), (3e-4, 3e-4, 0.0, 0.0), (0.06, 0.06), (1.75, 1.75)),
        "flexible link": Rig(link, Link, (40, 100, 250, 500), (encoder, 2e-3), (0.8,), (50.0,)),
        "slider": Rig(slider, Slider, (30, 100, 250), (2e-5,), (0.12,), (1.5,)),
        "helicopter": Rig(helicopter, Helicopter, (30, 50, 100), (encoder, encoder / 2), (0.15, 0.4), (2.4, 0.8)),
        "piston": Rig(piston, Piston, (30, 50, 100), (2e-4,), (0.05,), (1.0,), gradual=True),
        "motor": Rig(motor, Motor, (30, 100, 250, 500), (2 * encoder,), (1.5,), (60.0,)),
    }


RIGS = _rigs()
OPEN = ("noise", "sines", "steps", "slow sines")
CLOSED = ("set points", "high gain", "smooth reference", "saturating")


@dataclass(frozen=True)
class Case:
    """What is recorded, and the truth about it."""

    rig: str
    drive: str
    seed: int
    rate: float
    seconds: float
    delay: int
    sensor: Sensor
    jitter: float
    """Standard deviation of the sampling instants, in sampling times."""
    wraps: bool


def case(rig: str, drive: str, seed: int) -> Case:
    """The recording of this seed."""
    rng = np.random.default_rng([seed, *map(ord, rig + drive)])
    chosen = RIGS[rig]
    rate = float(rng.choice(chosen.rates))
    seconds = float(rng.choice([2.0, 3.0, 5.0, 10.0]))
    scale = np.array(chosen.noise) * float(np.exp(rng.uniform(np.log(0.3), np.log(3))))
    sensor = GaussianNoise(tuple(scale)) if rng.random() < 0.4 else Quantised(tuple(scale * math.sqrt(12)))
    jitter = float(rng.choice([0.0, 0.01, 0.03]))
    return Case(rig, drive, seed, rate, seconds, int(rng.integers(6)), sensor, jitter, bool(rng.random() < 0.5))


def exploration(rig: str, delay: int, seed: int) -> Case:
    """A trial 0 at the machine's own rate and with its own sensor."""
    machine, rng = RIGS[rig].machine, np.random.default_rng([seed, *map(ord, rig)])
    sensor = getattr(machine.sensor, "sensor", machine.sensor)  # without timing jitter, which is that of the plant
    jitter = float(getattr(machine.sensor, "std", 0.0)) if sensor is not machine.sensor else 0.0
    seconds = float(rng.choice([2.0, 2.5, 3.0]))
    return Case(rig, "exploration", seed, 1 / machine.sampling_time, seconds, delay, sensor, jitter, False)


Recorded = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Times, positions and inputs."""


def record(made: Case) -> Recorded:
    """Simulate it."""
    rig, h = RIGS[made.rig], 1 / made.rate
    plant = rig.plant(h, made.sensor)
    plant.substeps, plant.latency, plant.jitter = max(math.ceil(h / SUBSTEP), 2), made.delay * h, made.jitter * h
    rng = np.random.default_rng([made.seed, made.delay, 1])
    steps = round(made.seconds * made.rate)
    control = _controller(made, rig, rng, steps, h)
    q, u, angles = [plant.reset(made.seed)], [], np.array(rig.machine.angles)
    for t in range(steps):
        u.append(control(t, q))
        q.append(plant.step(u[-1]))
    positions = np.array(q)
    if made.wraps:
        positions = np.where(angles, (positions + np.pi) % (2 * np.pi) - np.pi, positions)
    return np.arange(steps + 1) * h, positions, np.array(u)


def _controller(made: Case, rig: Rig, rng: np.random.Generator, steps: int, h: float):
    limits = rig.machine.limits
    if made.drive in CLOSED:
        return _feedback(made, rig, rng, steps, h)
    inputs = {
        "exploration": lambda: FilteredNoise().inputs(rng, steps, h, limits),
        "noise": lambda: FilteredNoise(cutoff=float(rng.choice([1.5, 5.0]))).inputs(rng, steps, h, limits),
        "sines": lambda: Cosines().inputs(rng, steps, h, limits),
        "slow sines": lambda: Cosines(3, (0.1, 0.6)).inputs(rng, steps, h, limits),
        "steps": lambda: _held(rng, steps, h, (0.1, 0.4), np.ones(len(limits))) * 0.7 * limits,
    }[made.drive]()
    return lambda t, q: inputs[t]


def _held(rng: np.random.Generator, steps: int, h: float, seconds: tuple[float, float], reach: np.ndarray):
    """Random levels, each held for a while."""
    rows: list[np.ndarray] = []
    while len(rows) < steps:
        rows += [rng.uniform(-1, 1, len(reach)) * reach] * max(round(rng.uniform(*seconds) / h), 1)
    return np.array(rows[:steps])


def _feedback(made: Case, rig: Rig, rng: np.random.Generator, steps: int, h: float):
    """A PD controller on the driven positions, with a reference."""
    reach, gain, limits = np.array(rig.reach), np.array(rig.gain), rig.machine.limits
    slow, fast = 0.4 / ((made.delay + 1.5) * h), 0.9 / ((made.delay + 1.5) * h)
    bandwidth = min(fast, 40.0) if made.drive in ("high gain", "saturating") else min(slow, 8.0)
    k_p, k_d = bandwidth**2 / gain, 1.4 * bandwidth / gain
    if made.drive == "smooth reference":
        reference = Cosines(3, (0.1, 0.6)).inputs(rng, steps, h, reach)
    else:
        reference = _held(rng, steps, h, (0.5, 1.5), reach)
        reference[: round(0.5 / h)] = 0.0  # it stands at first
    command = np.zeros(len(limits))
    start: list[np.ndarray] = []

    def control(t: int, q: list[np.ndarray]) -> np.ndarray:
        n = len(reach)
        start[:] = start or [q[0][:n]]
        speed = (q[-1][:n] - q[max(t - 1, 0)][:n]) / h
        wanted = k_p * (start[0] + reference[t] - q[-1][:n]) - k_d * speed
        if made.rig == "ball-and-plate":  # its inputs are increments of the angles
            wanted = np.clip(k_p * (reference[t] - q[-1][:n]) - k_d * speed, -0.5, 0.5) - command
            turn = np.clip(wanted, -limits, limits)
            command[:] += turn
            return turn
        if made.drive == "saturating":
            return 0.4 * limits * np.tanh(3 * wanted / (0.4 * limits))
        return np.clip(wanted, -limits, limits)

    return control


def truth(made: Case) -> set[int]:
    """The delay; and one more where the first sample of an input hardly shows."""
    return {made.delay, made.delay + RIGS[made.rig].gradual}


def verdict(found: Delay, true: set[int]) -> str:
    """How good the answer is."""
    if found.samples is None:
        return UNKNOWN
    if found.samples in true:
        return RIGHT
    return WRONG if found.clear else HEDGED


def found_in(made: Case) -> Delay:
    """What is found about the delay of a recording; explorations are known to be in open loop."""
    machine, (times, q, u) = RIGS[made.rig].machine, record(made)
    if made.drive == "exploration":
        return delay_of([Trial(q, u, 1 / made.rate)], machine, open_loop=True)
    return inspect(times, q, u, Channels(machine.positions, machine.inputs, 1 / made.rate)).delay


def all_cases(first: int, count: int) -> Iterator[Case]:
    """Every machine with every drive, `count` seeds each."""
    for rig, drive, seed in itertools.product(RIGS, OPEN + CLOSED, range(first, first + count)):
        yield case(rig, drive, seed)


def explorations(first: int, count: int) -> Iterator[Case]:
    """Trials 0 of four machines with delays of 0, 1 and 2 samples, `count` seeds each."""
    for rig, delay, seed in itertools.product(EXPLORED, range(3), range(first, first + count)):
        yield exploration(rig, delay, seed)


EXPLORED = ("cart-pole", "Furuta", "flexible link", "helicopter")


def table(counts: dict[str, Counter[str]], heading: str) -> str:
    """Counts as a table in Markdown."""
    lines = [f"| {heading} | recordings | {' | '.join(VERDICTS)} |", f"|---|{'---|' * (len(VERDICTS) + 1)}"]
    for name, counted in counts.items():
        lines.append(f"| {name} | {counted.total()} | {' | '.join(str(counted[v]) for v in VERDICTS)} |")
    return "\n".join(lines)


def main(first: int = 0, count: int = 4, only: str = "") -> None:
    """Judge, and print the tables; `only` selects cases by a part of their name."""
    explored, by_rig, by_drive = {}, {}, {}
    for made in itertools.chain(explorations(first, count + 1), all_cases(first, count)):
        if only not in f"{made.rig} {made.drive}":
            continue
        begun = time.process_time()
        found = found_in(made)
        true = truth(made)
        result = verdict(found, true)
        described = replace(made, sensor=type(made.sensor).__name__)  # pyright: ignore[reportArgumentType]
        took = time.process_time() - begun
        print(f"{result}: {found.sentence} (true {sorted(true)}) {described} {took:.1f} s", file=sys.stderr)
        groups = (
            ((explored, made.rig),) if made.drive == "exploration" else ((by_rig, made.rig), (by_drive, made.drive))
        )
        for counts, key in groups:
            counts.setdefault(key, Counter())[result] += 1
    for counts, heading in ((explored, "exploration of"), (by_rig, "machine"), (by_drive, "inputs")):
        total = sum(counts.values(), Counter())
        print(table({**counts, "all": total}, heading) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]), *sys.argv[3:4])
