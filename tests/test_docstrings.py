"""The docstrings of the public names: they document arguments and have examples, which are executed."""

from __future__ import annotations

import doctest
import importlib
import inspect
import sys

import numpy as np
import pytest

import vfpilco

HERE = {name: getattr(vfpilco, name) for name in vfpilco.__all__ if callable(getattr(vfpilco, name))}
EXTENDING = {name: getattr(importlib.import_module(module), name) for name, module in vfpilco.ELSEWHERE.items()}
PUBLIC = {**HERE, **EXTENDING}
"""What is imported from the package, and what one subclasses, from its module."""
MODULES = sorted({thing.__module__ for thing in PUBLIC.values() if thing.__module__.startswith("vfpilco.")})


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_has_an_example(name):
    assert "Example" in (inspect.getdoc(PUBLIC[name]) or "")


@pytest.mark.parametrize("name", [name for name, thing in PUBLIC.items() if inspect.isfunction(thing)])
def test_every_public_function_documents_its_arguments_and_what_it_returns(name):
    function = PUBLIC[name]
    text, signature = inspect.getdoc(function) or "", inspect.signature(function)
    assert not signature.parameters or "Args:" in text
    assert signature.return_annotation in ("None", None) or "Returns:" in text
    for parameter in signature.parameters:
        assert f"{parameter}:" in text, parameter


@pytest.mark.parametrize("module", MODULES)
def test_the_examples_are_right(module, as_users_run_it):
    importlib.import_module(module)
    failed, _ = doctest.testmod(sys.modules[module], extraglobs={"np": np, "vfpilco": vfpilco})
    assert failed == 0
