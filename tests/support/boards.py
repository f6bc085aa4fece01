"""Building exported programs for microcontrollers with the compilers of Debian, and running them on a simulated one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from string import Template

import numpy as np

from exports import need

UNO = ("-mmcu=atmega328p", "-DF_CPU=16000000UL", "-Os", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections")
CORTEX_M0 = ("-mcpu=cortex-m0plus", "-mthumb")
CORTEX_M4 = ("-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16")
ARM = ("-O2", "-ffunction-sections", "-fdata-sections", "-Wl,--gc-sections", "--specs=nosys.specs")
STRICT = ("-Wall", "-Wextra", "-Werror")
CORE = Path("/usr/share/arduino/hardware/arduino/avr")

# Prints the inputs for the measurements of a trial, and the clock cycles of the longest step; then it ends.
MAIN = r"""
#include "$header"
#include <avr/interrupt.h>
#include <avr/io.h>
#include <avr/pgmspace.h>
#include <avr/sleep.h>
#include <stdint.h>
#include <string.h>

static volatile uint32_t overflows;
ISR(TIMER1_OVF_vect) { overflows++; }

static uint32_t cycles(void)
{
    uint32_t high;
    uint16_t low;
    cli();
    low = TCNT1;
    high = overflows + (TIFR1 & 1 && low < 0x8000);
    sei();
    return high << 16 | low;
}

static void print(uint32_t word, char end)
{
    int i;
    for (i = 28; i >= -4; i -= 4) {
        while (!(UCSR0A & (1 << UDRE0))) {
        }
        UDR0 = i < 0 ? end : "0123456789abcdef"[word >> i & 15];
    }
}

static const double measured[][${PREFIX}_MEASURES] PROGMEM = {$measured};

int main(void)
{
    static ${prefix}_policy policy;
    ${prefix}_real q[${PREFIX}_MEASURES], u[${PREFIX}_INPUTS];
    uint32_t longest = 0, before, taken, bits;
    unsigned i, j;
    UCSR0B = 1 << TXEN0;
    UBRR0 = 0;
    TCCR1B = 1;
    TIMSK1 = 1;
    sei();
    ${prefix}_reset(&policy);
    for (i = 0; i < sizeof measured / sizeof measured[0]; i++) {
        for (j = 0; j < ${PREFIX}_MEASURES; j++) {
            q[j] = pgm_read_float(&measured[i][j]);
        }
        before = cycles();
        ${prefix}_step(&policy, q, u);
        taken = cycles() - before;
        longest = taken > longest ? taken : longest;
        for (j = 0; j < ${PREFIX}_INPUTS; j++) {
            memcpy(&bits, &u[j], 4);
            print(bits, j == ${PREFIX}_INPUTS - 1 ? '\n' : ' ');
        }
    }
    print(longest, '\n');
    cli();
    sleep_enable();
    sleep_cpu();
    return 0;
}
"""


def build(command: str, flags: tuple[str, ...], sources: list[Path], out: Path) -> Path:
    """Compile without a warning; the first source's folder has the headers."""
    line = [*need(command), *flags, f"-I{sources[0].parent}", "-o", str(out), *map(str, sources), "-lm"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


def sections(tool: str, file: Path) -> dict[str, int]:
    """The size of every section of an object or program."""
    listed = subprocess.run([*need(tool), "-A", str(file)], capture_output=True, text=True, check=True, timeout=100)
    return {name: int(size) for name, size in re.findall(r"^(\.[\w.]+)\s+(\d+)", listed.stdout, flags=re.M)}


def run_on_uno(source: Path, names: dict[str, str], trial: np.ndarray, into: Path) -> tuple[np.ndarray, int]:
    """What the program in `source` returns for a trial on a simulated ATmega328P, and the cycles of a step at most."""
    rows = ", ".join("{" + ", ".join(map(repr, row)) + "}" for row in trial.tolist())
    (into / "main.c").write_text(Template(MAIN).substitute(names, measured=rows))
    program = build("avr-gcc", (*UNO, *STRICT), [source, into / "main.c"], into / "program.elf")
    command = [*need("simavr"), "-m", "atmega328p", "-f", "16000000", str(program)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    printed = re.sub(r"\x1b\[\d*m", "", done.stdout + done.stderr)  # colours
    words = [re.findall(r"\b[0-9a-f]{8}\b", line) for line in printed.splitlines()]
    *inputs, (cycles,) = [line for line in words if line]
    bits = np.array([[int(word, 16) for word in line] for line in inputs], dtype=np.uint32)
    return bits.view(np.float32).astype(float), int(cycles, 16)


def sketch_for_uno(library: Path, sketch: str, into: Path) -> tuple[int, int]:
    """Build a sketch with a library and Arduino's core for an Uno: the bytes of flash and RAM that it takes."""
    need("avr-gcc")
    if not CORE.exists():
        need("arduino-core-avr")
    (into / "sketch.cpp").write_text(f"#include <Arduino.h>\n{sketch}")
    core = [path for path in sorted((CORE / "cores/arduino").iterdir()) if path.suffix in (".c", ".cpp")]
    includes = [f"-I{path}" for path in (CORE / "cores/arduino", CORE / "variants/standard", library / "src")]
    flags = (*UNO, "-DARDUINO=10819", "-DARDUINO_AVR_UNO", "-DDECIMAL_DIG=17", "-std=gnu++11", "-w", *includes)
    sources = [into / "sketch.cpp", *(library / "src").glob("*.c"), *core]
    sizes = sections("avr-size", build("avr-gcc", flags, sources, into / "sketch.elf"))
    return sizes[".text"] + sizes[".data"], sizes[".data"] + sizes[".bss"]
