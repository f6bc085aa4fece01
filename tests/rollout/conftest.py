"""A model and a small simulator that several files use."""

from __future__ import annotations

import numpy as np
import pytest

from vfpilco.model.conditioning import condition
from vfpilco.model.evidence import Hyperparameters
from vfpilco.model.kernels import SE
from vfpilco.model.model import Model
from vfpilco.policy.base import PolicyInputs
from vfpilco.policy.rbf import RBF
from vfpilco.rollout.particles import Simulator


@pytest.fixture(scope="module")
def model(dynamics, explore) -> Model:
    """GPs of one exploration with typical hyperparameters; not fitted, nothing here depends on that."""
    data = dynamics.training_set(explore(0))
    lengthscales = np.array([900.0, 1.5, 3.0, 1.0, 1.2, 1.1, 1.5, 200.0, 150.0])
    params = {"log_lengthscales": np.log([lengthscales, 0.8 * lengthscales]), "log_scale": np.log([4.0, 3.0])}
    theta = Hyperparameters(params, np.log([0.2, 0.15]))
    built, _ = condition(SE(), theta, data, (data.y - data.prior).std(0), 0)
    return Model(SE(), (), theta, built.cast("float64"), len(data.x), (0.0, 0.0))


@pytest.fixture(scope="module")
def small(dynamics, task) -> Simulator:
    """Particles of the cart-pole over six samples, under a policy of four basis functions."""
    policy = RBF(4).bind(PolicyInputs((1.0,) * 7, (10.0,), (False, True, True, False, False, False, False)))
    return Simulator(dynamics=dynamics, policy=policy, start=task.start, cost=task.cost, horizon=6)
