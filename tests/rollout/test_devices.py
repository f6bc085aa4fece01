"""Shards decide which random numbers an optimisation has; the number of cores changes only how sums are rounded."""

from __future__ import annotations

import numpy as np
import pytest
from devices import steps_on


@pytest.mark.long
def test_shards_give_the_same_but_for_rounding_on_any_number_of_devices():
    one, two, four = (steps_on(devices, shards=4) for devices in (1, 2, 4))
    np.testing.assert_allclose(two, one, rtol=2e-5, atol=2e-6)  # float32
    np.testing.assert_allclose(four, one, rtol=2e-5, atol=2e-6)
    np.testing.assert_allclose(four, two, rtol=2e-5, atol=2e-6)
    assert np.ptp(one) > 0.1
