"""A policy of your own: linear feedback, enough to bring a ball to the middle of a plate.

vfpilco learn examples/extending/policy.py
"""

from dataclasses import dataclass, replace

import jax
import numpy as np

import vfpilco
from vfpilco.policy.base import BoundPolicy, squash
from vfpilco.policy.layers import Dense


@dataclass(frozen=True)
class LinearFeedback(BoundPolicy):
    """u = u_max tanh(K x* / u_max), x* in the units that the exploration gave."""

    def init(self, key):
        shape = len(self.inputs.scale), len(self.inputs.limits)
        return {"gains": 0.1 * np.asarray(jax.random.normal(key, shape)) * np.asarray(self.inputs.limits)}

    def __call__(self, params, x, keep=None):
        scale = x.__array_namespace__().asarray(self.inputs.scale, dtype=x.dtype)
        return squash(x / scale @ params["gains"], self.inputs.limits)

    def learning_rates(self, params, limits, errors):
        return {"gains": np.ones(params["gains"].shape) * limits}  # a step is a fraction of u_max

    def layers(self, params):
        """The same as data: with this method the policy can be exported to C, ONNX and NumPy."""
        gains = params["gains"] / np.asarray(self.inputs.scale)[:, None]
        return [[Dense(gains, np.zeros(gains.shape[1]))]]


ball = vfpilco.task("ballplate")
task = replace(ball, name="ball-linear", settings={**ball.settings, "policy": LinearFeedback()})
