"""Pages in a real browser: they draw, they react, and names in a run stay text."""

import dataclasses
import json
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from browser import DESKTOP, PHONE, chromium
from folders import TINY_FLAGS, learn

from vfpilco.cli.main import main
from vfpilco.data.records import to_json_types
from vfpilco.report.live import LivePage
from vfpilco.report.page import embedded
from vfpilco.storage.runfolder import RunFolder

FORMAT_3 = Path(__file__).parents[1] / "samples" / "run-format3"
HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=window.hacked=1><!-- \u2028 &lt;b&gt;"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "run"
    assert learn(folder, *TINY_FLAGS) == 0
    assert not (folder / "report.html").exists()
    assert main(["report", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


def drawn(browser):
    """The lines in the charts of the selected trial, once all three are drawn."""
    browser.wait("document.querySelectorAll('#trials .chart svg').length === 3")
    return browser.value(
        "[...document.querySelectorAll('#trials .chart path, #trials .dot')].map(p => p.outerHTML).join()"
    )


def test_every_part_is_drawn_without_an_error(run, browser):
    browser.open(run / "report.html")
    assert browser.value("document.title") == "cartpole, seed 0"
    parts = ["learning", "trials", "policy", "model", "optimisation", "about"]
    assert browser.value("[...document.querySelectorAll('section')].map(s => s.id)") == parts
    sentence = browser.value("document.querySelector('#trials .sentence').textContent")
    assert sentence.startswith("Trial 1 did not succeed. The model predicted a cost of ")
    names = browser.value("[...document.querySelectorAll('#trials .chart .name')].map(n => n.textContent)")
    assert [name for name in names if name != "time [s]"] == ["p [m]", "alpha [rad]", "force [N]"]
    assert "vfpilco learn cartpole --seed 0 --trials 1" in browser.value("document.querySelector('code').textContent")
    assert browser.errors() == []
    assert (run / "report.html").stat().st_size < 1_000_000


def test_targets_limits_and_the_step_response_are_shown(run, browser):
    browser.open(run / "report.html")
    drawn(browser)
    count = "[...document.querySelectorAll('#trials .chart')].map(c => c.querySelectorAll('%s').length)"
    assert [n > 0 for n in browser.value(count % "path.target")] == [True, True, False]
    assert browser.value(count % "line.limit") == [0, 0, 2]
    tables = "[...document.querySelectorAll('#trials table')].map(t => [...t.rows].map(r => r.cells[0].textContent))"
    assert ["p", "alpha"] in [names[1:] for names in browser.value(tables)]
    heads = browser.value("[...document.querySelectorAll('#learning th')].map(c => c.textContent)")
    assert "predicted success" in heads


def test_safe_ranges_are_shown_in_every_chart_of_a_position(run, browser, tmp_path):
    folder = RunFolder(shutil.copytree(run, tmp_path / "run"))
    header, lowest = folder.header(), float(folder.trial(1, 2).q[:, 0].min())
    cart, pole = header.task.positions
    positions = (dataclasses.replace(cart, safe=(lowest, 99.0)), dataclasses.replace(pole, safe=(-np.inf, 999.0)))
    folder.write_header(dataclasses.replace(header, task=dataclasses.replace(header.task, positions=positions)))
    assert main(["report", str(folder.path)]) == 0
    browser.open(folder.path / "report.html")
    browser.wait("document.querySelectorAll('#trials .chart svg').length === 5")  # with those of the risk
    browser.wait("document.querySelectorAll('#policy .chart svg').length === 2")
    count = "[...document.querySelectorAll('#%s .chart')].map(c => c.querySelectorAll('line.%s').length)"
    assert browser.value(count % ("trials", "limit"))[:3] == [2, 1, 2]  # what is far away is clipped
    assert browser.value(count % ("policy", "limit")) == [1, 0]
    assert browser.value(count % ("policy", "target"))[0] == 1
    names = browser.value("[...document.querySelectorAll('#policy .name')].map(n => n.textContent)")
    assert any(re.fullmatch(r"p \[m\], safe from \S+ to 99", name) for name in names)
    legend = browser.value("document.querySelector('#policy .legend').textContent")
    assert all(word in legend for word in ("target", "safe range"))
    assert browser.errors() == []


def test_the_timing_of_samples_is_shown_if_they_were_timed(run, browser, tmp_path):
    copy = shutil.copytree(run, tmp_path / "run")
    timing = {"trial": 1, "phase": "samples", "late_share": 0.25, "latest_s": 0.004, "computing_median_s": 0.001}
    with (copy / "timings.jsonl").open("a") as file:
        file.write(json.dumps(timing) + "\n")
    assert main(["report", str(copy)]) == 0
    browser.open(copy / "report.html")
    text = browser.value("document.querySelector('#timing').textContent")
    assert "25.0% of the samples came late, the latest by 4 ms; a sampling time is 33.3 ms." in text
    cells = browser.value("[...document.querySelectorAll('#timing td')].map(c => c.textContent)")
    assert cells == ["trial 1", "25.0 %", "4", "1", "–"]


def test_a_table_that_is_too_wide_says_that_it_scrolls(run, browser):
    shown = "[...document.querySelectorAll('#learning .scrolls')].map(h => !h.hidden)"
    browser.open(run / "report.html", DESKTOP)
    assert browser.value(shown) == [False]
    browser.open(run / "report.html", PHONE)
    browser.wait(f"{shown}[0]")


def test_another_trial_shows_other_lines_and_is_kept_in_the_address(run, browser):
    browser.open(run / "report.html")
    before = drawn(browser)
    browser.press(".switch button", 0)
    assert browser.value("document.querySelector('#trials .sentence').textContent").startswith("An exploration")
    after = drawn(browser)
    assert after
    assert after != before
    assert browser.value("location.hash") == "#execution-0"
    browser.press(".switch button", 1)
    assert drawn(browser) == before


def test_the_machine_moves_and_can_be_stopped(run, browser):
    browser.open(run / "report.html")
    clock = "parseFloat(document.querySelector('.clock').textContent)"
    pixels = "document.querySelector('canvas.real').toDataURL()"
    assert browser.value(clock) == 3.0
    at_the_end = browser.value(pixels)
    browser.press(".play")
    browser.wait(f"{clock} > 0.1 && {clock} < 2.9")
    browser.press(".play")
    stopped = browser.value(clock)
    assert browser.value(pixels) != at_the_end
    assert browser.value("document.querySelector('#trials .cursor').getAttribute('visibility')") == "visible"
    browser.value("(b => { b.value = 45; b.dispatchEvent(new Event('input')); })(document.querySelector('.scrub'))")
    assert browser.value(clock) == 1.5 != stopped


def test_a_chart_shows_values_and_zooms(run, browser):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.by import By

    browser.open(run / "report.html")
    chart = browser.driver.find_element(By.CSS_SELECTOR, "#trials .chart")
    browser.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", chart)
    ActionChains(browser.driver).move_to_element(chart).perform()
    browser.wait("!document.querySelector('#trials .tip').hidden")
    assert "measured" in browser.value("document.querySelector('#trials .tip').textContent")
    before = drawn(browser)
    ActionChains(browser.driver).click_and_hold(chart).move_by_offset(150, 0).release().perform()
    browser.wait("!document.querySelector('#trials .reset').hidden")
    assert drawn(browser) != before
    browser.press("#trials .reset")
    assert drawn(browser) == before


@pytest.mark.parametrize("size", [DESKTOP, PHONE])
def test_it_fits_the_screen_in_light_and_dark(run, browser, size):
    pictures = []
    for dark in (False, True):
        browser.open(run / "report.html", size, dark)
        assert browser.value("document.documentElement.scrollWidth") <= size[0]
        browser.value("document.querySelector('.player').scrollIntoView()")
        browser.wait("document.querySelector('canvas.real').width > 100")
        pictures.append(browser.picture())
    for picture in pictures:
        assert picture.shape[:2] == (size[1], size[0])
        assert len(np.unique(picture.astype(int) @ [65536, 256, 1])) > 50
    light, dark = (picture[:, :5].mean() for picture in pictures)
    assert light > 240
    assert dark < 40
    assert browser.errors() == []


def test_predictions_are_seen_on_a_dark_page(run, browser):
    contrast = "parseFloat(getComputedStyle(document.querySelector('#learning .bar line')).opacity)"
    colour = "getComputedStyle(document.querySelector('#learning .bar line')).stroke"
    shown = []
    for dark in (False, True):
        browser.open(run / "report.html", dark=dark)
        browser.wait("document.querySelector('#learning .bar line') !== null")
        red, green, blue = (int(part) for part in re.findall(r"\d+", browser.value(colour))[:3])
        paper = 11 if dark else 255
        shown.append(abs((red + green + blue) / 3 - paper) * browser.value(contrast))
    assert min(shown) > 30
    assert shown[1] > shown[0]  # thin bars on black need more


def test_on_paper_there_are_no_controls(run, browser):
    browser.open(run / "report.html", dark=True)
    browser.command("Emulation.setEmulatedMedia", media="print")
    assert browser.value("getComputedStyle(document.querySelector('.controls')).display") == "none"
    assert browser.value("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"


def test_hostile_names_stay_text(run, browser, tmp_path, capsys):
    folder = RunFolder(tmp_path / "run")
    shutil.copytree(run, folder.path)
    header = folder.header()
    position, force = header.task.positions[0], header.task.inputs[0]
    task = dataclasses.replace(
        header.task,
        name=HOSTILE,
        positions=(dataclasses.replace(position, name=HOSTILE), *header.task.positions[1:]),
        inputs=(dataclasses.replace(force, unit=HOSTILE),),
    )
    folder.write_header(dataclasses.replace(header, task=task, settings={**header.settings, HOSTILE: HOSTILE}))
    assert main(["report", str(folder.path)]) == 0
    assert capsys.readouterr().err == ""
    browser.open(folder.path / "report.html")
    assert browser.value("document.querySelector('h1').textContent") == HOSTILE
    assert browser.value("document.querySelectorAll('img').length") == 0
    assert browser.value("window.hacked === undefined")
    assert HOSTILE in browser.value("document.querySelector('#trials .chart .name').textContent")
    assert HOSTILE in browser.value("document.querySelector('#about table').textContent")
    assert browser.errors() == []


def test_a_run_of_format_3_has_a_page(browser, tmp_path):
    folder = shutil.copytree(FORMAT_3, tmp_path / "run")
    assert main(["report", str(folder)]) == 0
    browser.open(folder / "report.html")
    sentence = browser.value("document.querySelector('#trials .sentence').textContent")
    assert sentence.startswith("Trial 2 did not succeed. The model predicted a cost of 60.6 (60.2 to 61.5);")
    command = (
        "vfpilco learn cartpole --seed 0 --trials 2 --particles 40 --steps 20 --tolerance 0.002 --gradient-decay 0.97 "
        "--clip 0.0 --input-change-penalty 0.0 "
        "--kernel 'se * poly1(rates, inputs)' --inducing 128 --policy rbf --basis-functions 30 --m-q 2 --m-u 1"
    )
    assert browser.value("document.querySelector('code').textContent") == command
    bold = browser.value("[...document.querySelectorAll('#about table b')].map(b => b.textContent)")
    state, kernel = "VelocityFree(m_q=2, m_u=1, encoding='differences')", "SE() * Poly(1, on=('rates', 'inputs'))"
    assert bold == [state, kernel, "128", "40", "20", "0.002", "0.97", "0.0", "0.0", "RBF(basis_functions=30)"]
    assert "SE() * Poly(1, on=('rates', 'inputs'))" in browser.value("document.querySelector('#about').textContent")
    assert browser.value("document.querySelectorAll('#policy image').length") == 2
    assert browser.errors() == []


def test_runs_and_studies_are_compared(run, browser, tmp_path):
    results = to_json_types(RunFolder(run).results())
    records = [{"configuration": name, "trials": 1, "results": results} for name in ("one", "one", HOSTILE)]
    study = tmp_path / "study.jsonl"
    study.write_text("\n".join(map(json.dumps, records)))
    assert main(["report", str(run), str(run), str(study), "--out", str(tmp_path / "a.html")]) == 0
    browser.open(tmp_path / "a.html", PHONE)
    assert browser.value("[...document.querySelectorAll('section')].map(s => s.id)") == ["runs", "study"]
    runs = browser.value("[...document.querySelectorAll('#study td:nth-child(2)')].map(t => t.textContent)")
    assert runs == ["2", "1"]
    assert browser.value("document.documentElement.scrollWidth") <= PHONE[0]
    assert browser.errors() == []


def test_the_page_of_a_run_that_learns_is_reloaded_and_keeps_its_place(run, browser, tmp_path, task):
    folder, notes = tmp_path / "run", []
    shutil.copytree(run, folder)
    page = LivePage(task, folder, notes.append)
    page.opened = True
    page.phase(2, "improving the policy")
    page.step(1, 10, 3.0)
    page.step(2, 10, 2.0)
    page.write()
    browser.open(folder / "report.html")
    assert browser.value("document.querySelector('.live').textContent") == "Trial 2: improving the policy."
    browser.press(".switch button", 0)
    browser.value("window.scrollTo(0, 600)")
    browser.value("window.before = true")
    page.write(live=False)
    browser.wait("window.before === undefined && document.querySelector('.switch') !== null")
    browser.wait("Math.abs(window.scrollY - 600) < 2")
    assert browser.value("document.querySelector('.switch [aria-selected=true]').textContent") == "exploration"
    assert browser.value("document.querySelector('.live')") is None
    assert notes == []
    assert browser.errors() == []


def test_embedded_json_cannot_end_its_element():
    text = embedded({HOSTILE: [HOSTILE, float("nan")]})
    assert not any(character in text for character in "<>&\u2028\u2029")
    assert json.loads(text) == {HOSTILE: [HOSTILE, None]}
