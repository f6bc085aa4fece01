"""Covariance functions on GP inputs: elementary ones, each on chosen entries, joined by + and *."""

from vfpilco.model.kernels.base import GPInputs, Hyperprior, Kernel
from vfpilco.model.kernels.composite import Product, Sum
from vfpilco.model.kernels.elementary import SE, Friction, Linear, Poly, ScaledKernel

__all__ = ["SE", "Friction", "GPInputs", "Hyperprior", "Kernel", "Linear", "Poly", "Product", "ScaledKernel", "Sum"]
