"""Models in files: of the present format, and of format 3 with the predictions that version 0.1 computed from them."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from vfpilco.common.errors import UserError
from vfpilco.common.files import read_arrays, write_arrays
from vfpilco.model.files import from_arrays, to_arrays
from vfpilco.model.kernels.expression import parse
from vfpilco.storage.runfolder import RunFolder
from vfpilco.storage.store import MODEL

SAMPLES = Path(__file__).parents[1] / "samples"
EXPECTED = json.loads((SAMPLES / "format3-expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED["models"])
def test_a_model_of_format_3_predicts_the_same_and_can_be_saved_again(name, tmp_path):
    expected = EXPECTED["models"][name]
    model = from_arrays(*read_arrays(SAMPLES / f"{name}.safetensors"))
    assert model.kernel == parse(expected["expression"])
    query = np.array(EXPECTED["query9" if name.startswith("run") else "query"])
    mean, variance = model.predict(query)
    np.testing.assert_allclose(mean, expected["mean"], rtol=1e-7)
    np.testing.assert_allclose(variance, expected["variance"], rtol=1e-7)
    np.testing.assert_allclose(model.noise, expected["noise"], rtol=1e-12)
    np.testing.assert_allclose(model.rounding, expected["rounding"], rtol=1e-9)
    lengthscales = np.where(np.isfinite(model.lengthscales), model.lengthscales, -1)
    np.testing.assert_allclose(lengthscales, expected["lengthscales"], rtol=1e-12)

    write_arrays(tmp_path / "model.safetensors", *to_arrays(model))
    again = from_arrays(*read_arrays(tmp_path / "model.safetensors"))
    assert (again.kernel, again.kinds, again.points, again.score) == (
        *(model.kernel, model.kinds),
        *(model.points, model.score),
    )
    for ours, before in zip(again.predict(query), (mean, variance), strict=True):
        np.testing.assert_array_equal(ours, before)


def test_a_run_folder_of_format_3_gives_its_models():
    folder = RunFolder(SAMPLES / "run-format3")
    for trial, points in ((1, 88), (2, 176)):
        model, notes = folder.artifact(MODEL, trial)
        assert model.points == points
        assert len(model.score) == 2
        assert notes == []


def test_a_model_with_missing_arrays_is_rejected():
    arrays, about = read_arrays(SAMPLES / "models-format3" / "001.safetensors")
    arrays.pop("kernel.log_scale")
    with pytest.raises(KeyError):
        from_arrays(arrays, about)


def test_a_model_with_an_unknown_kernel_is_rejected_in_a_sentence():
    model = from_arrays(*read_arrays(SAMPLES / "models-format3" / "001.safetensors"))
    arrays, about = to_arrays(model)
    about["kernel"] = {"type": "Matern"}
    with pytest.raises(UserError, match=r"'Matern' is not a component of vfpilco: use the task file that defines it"):
        from_arrays(arrays, about)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log_lengthscales", np.nan),
        ("log_lengthscales", -np.inf),
        ("log_lengthscales", 1e38),
        ("log_scale", np.inf),
        ("log_noise", -np.inf),
        ("z", np.inf),
    ],
)
def test_a_model_with_numbers_that_give_no_covariance_is_rejected(name, value):
    model = from_arrays(*read_arrays(SAMPLES / "models-format3" / "001.safetensors"))
    arrays, about = to_arrays(model)
    changed = next(key for key in arrays if name in key)
    arrays[changed] = np.full_like(arrays[changed], value)
    with pytest.raises(ValueError, match=r"log|z has values"):
        from_arrays(arrays, about)
