from __future__ import annotations

import numpy as np

from vfpilco.model import diagnostics
from vfpilco.model.conditioning import condition
from vfpilco.model.dynamics import TrainingSet
from vfpilco.model.model import Model


def projected(exact_model: Model, data: TrainingSet, inducing: int) -> Model:
    """The model with its hyperparameters kept and its posterior projected."""
    kernel, theta, y_scale = exact_model.kernel, exact_model.hyperparameters, np.asarray(exact_model.posterior.y_scale)
    posterior, _ = condition(kernel, theta, data, y_scale, inducing)
    return Model(kernel, exact_model.kinds, theta, posterior, len(data.x), exact_model.score)


def test_an_exact_posterior_loses_nothing(exact_model, cartpole_data, held_out):
    loss = diagnostics.projection_loss(exact_model, cartpole_data, held_out)
    np.testing.assert_allclose(loss.error, 0, atol=1e-6)
    np.testing.assert_allclose(loss.log_density, 0, atol=1e-6)


def test_the_default_projection_loses_next_to_nothing_and_a_coarse_one_much(exact_model, cartpole_data, held_out):
    losses = {
        inducing: diagnostics.projection_loss(projected(exact_model, cartpole_data, inducing), cartpole_data, held_out)
        for inducing in (128, 8)
    }
    assert np.all(losses[128].error < 0.02)
    assert np.all(losses[128].log_density < 0.05)
    assert np.all(losses[8].error > 0.1)
    assert np.all(losses[8].log_density > 0.1)
