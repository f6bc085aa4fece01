"""Exported C on microcontrollers: built by their compilers, run on a simulated one, memory and operations counted."""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from boards import ARM, CORTEX_M0, CORTEX_M4, STRICT, UNO, build, run_on_uno, sections, sketch_for_uno
from folders import one_sentence

from exports import LIMITS, exported, learned, motion, need, written
from vfpilco.cli.main import main
from vfpilco.common.errors import UserError
from vfpilco.exports import arduino, c, footprint
from vfpilco.exports import check as checking
from vfpilco.exports.boards import BOARDS, avr_seconds
from vfpilco.exports.compiled import FLAGS, Program
from vfpilco.exports.exported import Exported, Quantity
from vfpilco.exports.prefix import check_prefix, names
from vfpilco.policy.learned import LearnedPolicy

SAMPLES = Path(__file__).parent.parent / "samples"
ONE_INPUT = {"positions": (Quantity("p", "m"), Quantity("alpha", "rad")), "inputs": (Quantity("force", "N"),)}
KINDS = ("everything", "mlp", "full state", "past inputs", "default size")


@functools.cache
def made(kind: str) -> Exported:
    """A policy of a kind; that of default size has 200 basis functions, as one learned with default settings has."""
    if kind == "default size":
        return exported(LearnedPolicy.load(SAMPLES / "policy-format3.safetensors"), **ONE_INPUT)
    if kind == "past inputs":
        return exported(learned("past inputs", "rbf", follows=True, slew=0.2))
    if kind == "everything":
        return exported(learned("kalman", "linear-rbf", follows=True, slew=0.2))
    return exported(learned("positions", "mlp") if kind == "mlp" else learned("full state", "rbf"))


each = pytest.mark.parametrize("kind", KINDS)


# -- the prefix --------------------------------------------------------------------------------------------------

BOTH = """
#include "left_policy.h"
#include "right_arm_policy.h"
#include <stdio.h>
int main(void)
{
    static left_policy left;
    static right_arm_policy right;
    double q[LEFT_MEASURES], u[LEFT_INPUTS];
    float p[RIGHT_ARM_MEASURES], v[RIGHT_ARM_INPUTS];
    left_reset(&left);
    right_arm_reset(&right);
    while (scanf("%lf %lf", q, q + 1) == 2) {
        p[0] = (float)q[0];
        p[1] = (float)q[1];
        left_step(&left, q, u);
        right_arm_step(&right, p, v);
        printf("%.17g %.17g %.9g %.9g\\n", u[0], u[1], (double)v[0], (double)v[1]);
    }
    return 0;
}
"""


@pytest.mark.parametrize("command", ["gcc", "clang"])
def test_two_policies_with_different_prefixes_are_linked_into_one_program(command, tmp_path):
    left = dataclasses.replace(made("mlp"), prefix="left")
    right = dataclasses.replace(made("everything"), prefix="right_arm")
    written(left, "c", tmp_path)
    written(right, "c", tmp_path, "float")
    (tmp_path / "main.c").write_text(BOTH)
    sources = [tmp_path / name for name in ("left_policy.c", "right_arm_policy.c", "main.c")]
    program = build(command, FLAGS, sources, tmp_path / "both")
    trial = motion(4).astype(np.float32).astype(float)
    text = "\n".join(" ".join(map(repr, row)) for row in trial.tolist())
    done = subprocess.run([program], input=text, capture_output=True, text=True, check=True, timeout=100)
    found = np.array([line.split() for line in done.stdout.splitlines()], dtype=float)
    np.testing.assert_allclose(found[:, :2] / LIMITS, checking.answers(left, trial) / LIMITS, atol=1e-12)
    np.testing.assert_allclose(found[:, 2:] / LIMITS, checking.answers(right, trial) / LIMITS, atol=1e-4)


def test_a_prefix_is_kept_by_every_name_of_the_program(tmp_path):
    folder = written(dataclasses.replace(made("everything"), prefix="crane"), "c", tmp_path)
    assert {path.name for path in folder.iterdir()} == {"crane_policy.h", "crane_policy.c"}
    text = "".join(path.read_text() for path in folder.iterdir())
    assert re.findall(r"vfpilco\w*", text.replace("written by vfpilco", ""), flags=re.I) == []
    built = build("gcc", (*FLAGS, "-c"), [folder / "crane_policy.c"], tmp_path / "crane.o")
    symbols = subprocess.run(["nm", "-g", "--defined-only", built], capture_output=True, text=True, check=True).stdout
    assert sorted(line.split()[-1] for line in symbols.splitlines()) == ["crane_reset", "crane_step"]


@pytest.mark.parametrize("prefix", ["", "_a", "Left", "9a", "a-b", "a b", "a__b", "é", "a_", "a\n", "x" * 25, '";'])
def test_a_prefix_that_is_no_name_in_c_is_refused(prefix):
    with pytest.raises(UserError, match="cannot start the names"):
        check_prefix(prefix)


# -- memory and operations ---------------------------------------------------------------------------------------

COUNTING = """
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static long arithmetic, divisions, rints, exps, tanhs, circular;
struct number {
    double v;
    number() = default;
    template <class T> number(T value) : v((double)value) {}
    number(const number &) = default;
    number &operator=(const number &) = default;
};
#define BINARY(op, counter) \\
    static number operator op(number a, number b) { counter++; return number(a.v op b.v); }
BINARY(+, arithmetic)
BINARY(-, arithmetic)
BINARY(*, arithmetic)
BINARY(/, divisions)
static number operator-(number a) { return number(-a.v); }
static number &operator+=(number &a, number b) { return a = a + b; }
static number &operator-=(number &a, number b) { return a = a - b; }
static bool operator<(number a, number b) { return a.v < b.v; }
static bool operator>(number a, number b) { return a.v > b.v; }
#define UNARY(f, counter) static number f(number a) { counter++; return number(f(a.v)); }
UNARY(rint, rints)
UNARY(exp, exps)
UNARY(tanh, tanhs)
UNARY(sin, circular)
UNARY(cos, circular)
static long ignored;
UNARY(fabs, ignored)
"""
COUNTING_MAIN = """
int main(void)
{
    static vfpilco_policy policy;
    number q[VFPILCO_MEASURES], u[VFPILCO_INPUTS];
    for (int sample = 0; sample < 7; sample++) {
        arithmetic = divisions = rints = exps = tanhs = circular = 0;
        for (int i = 0; i < VFPILCO_MEASURES; i++) {
            q[i] = sample == 4 ? NAN : 0.1 * sample + i;
        }
        vfpilco_step(&policy, q, u);
        printf("%ld %ld %ld %ld %ld %ld\\n", arithmetic, divisions, rints, exps, tanhs, circular);
    }
    return 0;
}
"""


@each
def test_no_step_takes_more_operations_than_stated(kind, tmp_path):
    one = made(kind)
    files = c.files(one, "double")
    header = files["policy.h"].replace('extern "C" {', "").replace("}\n#endif\n\n#endif", "#endif\n\n#endif")
    program = header + re.sub(r"#include.*", "", files["policy.c"])
    program = re.sub(r"\bdouble\b", "number", program).replace("vfpilco_real real;", "number real;")
    (tmp_path / "count.cpp").write_text(COUNTING + program + COUNTING_MAIN)
    flags = ("-std=c++17", "-w", "-O1", "-DDBL_MANT_DIG=53", "-DFLT_MANT_DIG=24")
    built = build("clang", flags, [tmp_path / "count.cpp"], tmp_path / "count")
    printed = subprocess.run([built], capture_output=True, text=True, check=True, timeout=100).stdout
    counted = np.array([line.split() for line in printed.splitlines()], dtype=int)
    due = footprint.operations(one)
    np.testing.assert_array_equal(counted.max(axis=0), dataclasses.astuple(due))
    assert counted[4].sum() == 0 or one.slew is not None  # an invalid measurement


def stated(text: str, processor: str) -> list[int]:
    """The numbers of bytes that a header states for a processor."""
    (line,) = re.findall(rf"On an? {processor}: (.*)", text)
    return [int(number) for number in re.findall(r"\d+", line)]


@each
def test_the_stated_memory_is_that_of_the_compiled_program(kind, tmp_path):
    one = made(kind)
    folder = written(one, "c", tmp_path, "float")
    text = (folder / "policy.h").read_text()
    for processor, command, flags, section in [
        ("8-bit AVR", "avr-gcc", UNO, ".progmem.data"),
        ("32-bit ARM", "arm-none-eabi-gcc", (*CORTEX_M0, *ARM), ".rodata"),
    ]:
        constants, struct, _ = stated(text, processor)
        (tmp_path / "size.c").write_text(
            f'#include "policy.h"\nextern char right[sizeof(vfpilco_policy) == {struct} ? 1 : -1];'
        )
        build(command, (*flags, "-c"), [tmp_path / "size.c"], tmp_path / "size.o")
        built = build(command, (*flags, *STRICT, "-std=c99", "-c"), [folder / "policy.c"], tmp_path / "policy.o")
        sizes = sections(command.replace("gcc", "size"), built)
        found = sum(size for name, size in sizes.items() if name.startswith(section))
        small = 8 * len(one.memory.turning) + 40  # the flags of angles, and constants the compiler makes
        if constants > 200:  # Fewer may become part of the code.
            assert constants - 60 <= found <= constants + small
        in_ram = sum(size for name, size in sizes.items() if name.startswith((".data", ".bss")))
        assert in_ram <= small
        code = sum(size for name, size in sizes.items() if name.startswith(".text"))
        print(f"{kind}, {processor}: {code} bytes of code, {found} of constants")


@each
def test_on_an_avr_the_policy_agrees_and_takes_the_stated_time(kind, tmp_path):
    one = made(kind)
    folder = written(one, "c", tmp_path, "float")
    trial = one.trials[-1][:6].astype(np.float32).astype(float)
    found, cycles = run_on_uno(folder / "policy.c", names(one.prefix), trial, tmp_path)
    due = checking.answers(one, trial, found)
    assert np.any(np.abs(due) > 0.05 * one.limits)
    np.testing.assert_allclose(found / one.limits, due / one.limits, atol=1e-4)
    assert avr_seconds(footprint.operations(one)) == pytest.approx(cycles / 16e6, rel=0.15)
    sizes = sections("avr-size", tmp_path / "program.elf")
    assert sizes[".data"] + sizes[".bss"] < 200  # bytes of RAM; the constants are in flash
    print(f"{kind}: {cycles / 16e3:.1f} ms on an ATmega328P, {sizes['.text']} bytes of flash")


@pytest.mark.parametrize("kind", ["everything", "past inputs"])
@pytest.mark.parametrize("precision", ["float", "double"])
@pytest.mark.parametrize("cpu", [CORTEX_M0, CORTEX_M4])
def test_arm_builds_without_a_warning(cpu, precision, kind, tmp_path):
    folder = written(made(kind), "c", tmp_path, precision)
    (tmp_path / "main.c").write_text(
        '#include "policy.h"\nint main(void) { static vfpilco_policy p; vfpilco_real q[2] = {0}, u[2];'
        " vfpilco_reset(&p); return vfpilco_step(&p, q, u); }"
    )
    flags = (*cpu, *ARM, *STRICT, "-std=c99")
    built = build("arm-none-eabi-gcc", flags, [folder / "policy.c", tmp_path / "main.c"], tmp_path / "program.elf")
    sizes = sections("arm-none-eabi-size", built)
    assert sizes[".text"] + sizes.get(".rodata", 0) < 40_000
    print(f"{cpu[0]}, {precision}: {sizes['.text']} bytes of flash")


# -- the Arduino library -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def library(tmp_path_factory) -> Path:
    one = dataclasses.replace(made("default size"), prefix="cart")
    return written(one, "arduino", tmp_path_factory.mktemp("arduino"), "float")


def test_the_library_has_what_arduino_needs(library):
    properties = dict(line.split("=", 1) for line in (library / "library.properties").read_text().splitlines())
    needed = {"name", "version", "author", "maintainer", "sentence", "paragraph", "category", "url", "architectures"}
    assert needed <= properties.keys()
    assert all(properties.values())
    assert re.fullmatch(r"\d+\.\d+\.\d+", properties["version"])
    assert (library / "src" / properties["includes"]).exists()
    keywords = [line.split("\t") for line in (library / "keywords.txt").read_text().splitlines()]
    text = (library / "src/cart_policy.h").read_text()
    assert {kind for _, kind in keywords} == {"KEYWORD1", "KEYWORD2", "LITERAL1"}
    assert all(re.search(rf"\b{word}\b", text) for word, _ in keywords)
    sketch = library / arduino.SKETCH
    assert sketch.stem == sketch.parent.name  # as the Arduino IDE expects it


def test_the_sketch_is_built_for_an_uno_and_fits(library, tmp_path):
    flash, ram = sketch_for_uno(library, (library / arduino.SKETCH).read_text(), tmp_path)
    uno, used = BOARDS[0], c.footprint(made("default size"), "float", footprint.AVR)
    print(f"the sketch with 200 basis functions takes {flash} of {uno.flash} bytes of flash, {ram} of {uno.ram} of RAM")
    assert flash <= used.constants + 16384 <= uno.flash
    assert ram + used.stack + 300 <= used.struct + used.stack + 640 <= uno.ram


def test_the_sketch_of_a_policy_that_sees_past_inputs_knows_that_they_were_held(tmp_path):
    library = written(made("past inputs"), "arduino", tmp_path / "library", "float")
    sketch = (library / arduino.SKETCH).read_text()
    assert "vfpilco_step(&policy, invalid, unused);\n    vfpilco_actual(&policy, u);" in sketch
    assert "vfpilco_actual\tKEYWORD2" in (library / "keywords.txt").read_text()
    flash, ram = sketch_for_uno(library, sketch, tmp_path)
    assert flash <= BOARDS[0].flash
    assert ram <= BOARDS[0].ram


FAKE_ARDUINO = r"""
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#define F(text) text
enum { A0 = 14 };
static uint64_t now_ns;
static int command = 'g', samples;
static uint32_t micros(void) { return (uint32_t)((now_ns + 4294900000000ull) / 1000); }  // overflows soon
static int analogRead(int) { printf("%.3f\n", (double)now_ns / 1000); return ++samples; }
struct Port {
    void begin(long) {}
    int available() { return command >= 0; }
    int read() { int c = command; command = -1; return c; }
    template <class T> void print(T) {}
    void print(double, int) {}
    void println(const char *) {}
    void println() {}
};
static Port Serial;
#define analogRead(pin) (pin == A0 ? analogRead(pin) : 0)
"""
FAKE_MAIN = r"""
int main(void)
{
    setup();
    while (samples < 3000) {
        loop();
        now_ns += 3700 + (samples == 1000 ? 110000000ull : 0);  // a loop that is held up for 0.11 s once
        samples += samples == 1000;
    }
    return 0;
}
"""


def test_the_sketch_samples_on_time_for_as_long_as_it_runs(library, tmp_path):
    """At 30 Hz, which is no integer number of microseconds, and while micros() overflows."""
    text = (library / arduino.SKETCH).read_text().replace("#include <cart_policy.h>", '#include "cart_policy.h"')
    (tmp_path / "sketch.cpp").write_text(FAKE_ARDUINO + text + FAKE_MAIN)
    policy = build("clang", ("-c", "-O1"), [library / "src/cart_policy.c"], tmp_path / "policy.o")
    flags = ("-std=c++11", "-Wall", f"-I{library / 'src'}")
    command = [*need("clang"), *flags, "-o", tmp_path / "sketch", tmp_path / "sketch.cpp", policy, "-lm"]
    subprocess.run(list(map(str, command)), check=True, timeout=100, capture_output=True)
    done = subprocess.run([tmp_path / "sketch"], capture_output=True, text=True, check=True, timeout=100)
    times = np.array(done.stdout.split(), dtype=float)
    assert len(times) > 2900
    instants = times / (1e6 / 30)
    (held_up,) = np.flatnonzero(np.diff(np.round(instants)) != 1)
    assert round(instants[held_up + 1] - instants[held_up], 2) == 3.3
    late = np.delete(times - np.round(instants) * (1e6 / 30), held_up + 1)
    assert -2 < late.min() <= late.max() < 6  # microseconds: the loop takes 3.7


def test_the_source_of_the_library_is_checked_like_c(library, tmp_path):
    program = Program(library / "src", tmp_path, need("gcc"))
    trial = motion(3).astype(np.float32).astype(float)
    one = made("default size")
    np.testing.assert_allclose(program.answers([trial])[0] / 10, checking.answers(one, trial) / 10, atol=1e-4)


def test_the_command_line_exports_a_library_and_names_what_fits(tmp_path, capsys):
    run = str(SAMPLES / "run-format3")
    out = tmp_path / "library"
    assert main(["export", run, "--to", "arduino", "--prefix", "cart", "--out", str(out), "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()} == set(made["files"])
    assert "typedef float cart_real;" in (out / "src/cart_policy.h").read_text()
    assert any("AVR at 16 MHz" in note for note in made["notes"])
    text = (out / "README.md").read_text()
    assert "| Uno R3, Nano (ATmega328P) |" in text
    for words in (["--to", "numpy", "--prefix", "cart"], ["--to", "c", "--prefix", "Cart 1"]):
        assert main(["export", run, *words, "--out", str(tmp_path / "b")]) == 2
        assert "prefix" in one_sentence(capsys.readouterr().err)
    assert not (tmp_path / "b").exists()
