"""The cart-pole: a cart on a rail with a pole hinged to it."""

from __future__ import annotations

import math

import numpy as np

from vfpilco.plants.simulation import SimulatedPlant


class CartPole(SimulatedPlant):
    """A cart pushed along a rail, carrying a uniform pole that swings freely.

    ## Input
    | name  | unit | limit |
    |-------|------|-------|
    | force | N    | ±10   |

    ## Positions
    | name  | unit | meaning                                            |
    |-------|------|----------------------------------------------------|
    | p     | m    | position of the cart                               |
    | alpha | rad  | angle of the pole, 0 hanging down, ±π upright      |

    ## Start
    At rest at the origin, the pole hanging.

    ## Equations
    With d = 4(m_c + m_p) - 3 m_p cos²α, pole length l, cart friction b:

        p'' = (2 m_p l α'² sin α + 3 m_p g sin α cos α + 4u - 4b p') / d
        α'' = (-3 m_p l α'² sin α cos α - 6(m_c + m_p) g sin α - 6(u - b p') cos α) / (l d)
    """

    positions = 2
    cart_mass = 0.5
    pole_mass = 0.5
    pole_length = 0.5
    friction = 0.1
    gravity = 9.81

    def derivative(self, state: np.ndarray, u: np.ndarray) -> np.ndarray:
        _, alpha, dp, dalpha = state.tolist()
        mc, mp, length, b, g = self.cart_mass, self.pole_mass, self.pole_length, self.friction, self.gravity
        sin, cos, force = math.sin(alpha), math.cos(alpha), float(u[0])
        d = 4 * (mc + mp) - 3 * mp * cos**2
        ddp = (2 * mp * length * dalpha**2 * sin + 3 * mp * g * sin * cos + 4 * force - 4 * b * dp) / d
        ddalpha = -3 * mp * length * dalpha**2 * sin * cos - 6 * (mc + mp) * g * sin - 6 * (force - b * dp) * cos
        return np.array([dp, dalpha, ddp, ddalpha / (length * d)])
