"""`help()` explains the fields of a class."""

from __future__ import annotations

import dataclasses
import pydoc

import pytest

import vfpilco
from vfpilco.common.documentation import document, field_docstrings

CLASSES = [
    *(vfpilco.Task, vfpilco.Measure, vfpilco.Machine, vfpilco.Position, vfpilco.Input),
    *(vfpilco.Settings, vfpilco.Trial),
]


@pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
def test_help_explains_every_field(cls):
    text = pydoc.render_doc(cls, renderer=pydoc.plaintext)
    for field in dataclasses.fields(cls):
        assert f" {field.name}: {field_docstrings(cls)[field.name].split()[0]}" in text


def test_help_explains_fields_that_are_printed_only_if_they_are_given():
    assert "policy_m_u: How many past inputs the policy sees" in vfpilco.VelocityFree.__doc__
    assert "signal: " in vfpilco.SE.__doc__
    assert "bound: " not in vfpilco.VelocityFree.__doc__


def test_settings_explain_those_of_their_groups():
    assert "        steps: Gradient steps per trial" in vfpilco.Settings.__doc__


def test_the_fields_come_before_the_example_and_only_once():
    text = vfpilco.Task.__doc__
    document(vfpilco.Task)
    assert vfpilco.Task.__doc__ == text
    assert text.index("Attributes:") < text.index("Example:")


def test_a_class_without_source_code_keeps_its_docstring():
    made = dataclasses.make_dataclass("Made", ["x"])
    before = made.__doc__
    document(made)
    assert made.__doc__ == before
