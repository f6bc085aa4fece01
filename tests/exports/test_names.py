"""Names and numbers in exported programs: hostile ones do no harm, and those that cannot be exported are refused."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pytest

from exports import FORMS, difference, exported, learned, small_check, written  # noqa: F401
from vfpilco.common.errors import UserError
from vfpilco.exports.exported import Quantity
from vfpilco.exports.readme import readme
from vfpilco.exports.text import inward, plain
from vfpilco.policy.learned import LearnedPolicy
from vfpilco.policy.limits import Slew

HOSTILE = '"""\'*/ `x` %s\\ \n```\n??/ $(task) ${q} | # é \ud800 \u202e "); system("rm'

pytestmark = pytest.mark.usefixtures("small_check")


@pytest.mark.parametrize("most", [(0.1, np.nan), (0.1, -0.1), (0.0, 0.1), (0.1,)])
def test_an_invalid_slew_limit_is_refused(most):
    policy = learned("differences", "rbf")
    with pytest.raises(UserError):
        exported(LearnedPolicy(policy.state, policy.policy, policy.params, slew=Slew(most))).check()


def test_limits_are_rounded_inward():
    for limit in np.random.default_rng(0).uniform(1e-3, 100, 200):
        (found,) = inward(np.array([limit]), "float")
        assert limit * (1 - 2e-7) < float(found) <= limit
    with pytest.raises(UserError, match="too small for float"):
        inward(np.array([1e-60]), "float")


def test_values_too_large_for_float_are_refused():
    policy = learned("differences", "rbf")
    huge = LearnedPolicy(policy.state, policy.policy, {**policy.params, "weights": np.full((30, 2), 1e200)})
    assert "1e+200" in FORMS["c"].files(exported(huge), "double")["policy.c"]
    with pytest.raises(UserError, match="too large for float"):
        FORMS["c"].files(exported(huge), "float")


def test_plain_names_are_kept_and_hostile_ones_made_harmless():
    for name in ("force", "motor x", "shoulder_pan", "N·m", "m/s²", "°C", "α̇"[:1], "velocity of p"):
        assert plain(name) == name
    assert not set(plain(HOSTILE)) & set("\"'*`%\\\n$?|#;<>&[]{}\ud800\u202e")
    assert plain("\n") == "_"
    assert len(plain("x" * 1000)) == 80


def test_hostile_names_put_nothing_into_source_or_readme(tmp_path, monkeypatch):
    monkeypatch.setenv("CC", "gcc")
    one = exported(learned("full state", "rbf"))
    clean = {to: FORMS[to].files(one, "double") for to in FORMS}
    names = (Quantity(HOSTILE, HOSTILE), Quantity(HOSTILE + "2", "*/"))
    origin = dataclasses.replace(one.origin, task=HOSTILE, run=HOSTILE, settings={HOSTILE: HOSTILE})
    hostile = dataclasses.replace(one, positions=names, inputs=names, origin=origin)
    trials = [one.trials[0]]
    for to, target in FORMS.items():
        folder = written(hostile, to, tmp_path / to)
        assert difference(one, target.run(folder, trials).inputs, trials) < 1e-12
        for name, content in clean[to].items() if to != "onnx" else []:
            assert without_text((folder / name).read_text("utf-8")) == without_text(str(content))
        found, expected = readme(hostile, target, "double", None), readme(one, target, "double", None)
        assert found.count("\n```") == expected.count("\n```")
        assert json.loads(found.rpartition("```json\n")[2].rpartition("```")[0]) == dataclasses.asdict(origin)


def without_text(source: str) -> str:
    """A program without its comments and strings."""
    return re.sub(r'/\*.*?\*/|""".*?"""|"[^"\n]*"', "", source, flags=re.S)
