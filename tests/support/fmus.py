"""A small machine as an FMU, built from C: x'' = (force - damping x') / mass."""

from __future__ import annotations

import re
import subprocess
import zipfile
from pathlib import Path

import fmpy

from exports import need

SOURCE = r"""
#include <stddef.h>
#include <stdlib.h>
#include <math.h>
enum { X, FORCE, MASS, DAMPING, ANGLE, VARIABLES };
typedef struct { double value[VARIABLES], velocity; } model;
static int status(const model *m) { return fabs(m->value[X]) > 200 ? 3 : fabs(m->value[X]) > 100 ? 2 : 0; }
static void start(model *m)
{
    model fresh = {{0}, 0};
    *m = fresh;
    m->value[MASS] = 2;
}
static int set(model *m, const unsigned *r, size_t n, const double *v)
{
    size_t i;
    for (i = 0; i < n; i++) {
        m->value[r[i]] = v[i];
    }
    return 0;
}
static int get(model *m, const unsigned *r, size_t n, double *v)
{
    size_t i;
    m->value[ANGLE] = 90 * m->value[X];
    for (i = 0; i < n; i++) {
        v[i] = m->value[r[i]];
    }
    return 0;
}
static int step(model *m, double h)
{
    double a = (m->value[FORCE] - m->value[DAMPING] * m->velocity) / m->value[MASS];
    m->value[X] += h * m->velocity + h * h / 2 * a;
    m->velocity += h * a;
    return status(m);
}
#define F(name) __attribute__((visibility("default"))) name
#ifdef FMI3
void *F(fmi3InstantiateCoSimulation)(const char *name, const char *token)
{
    model *m = malloc(sizeof *m);
    (void)name, (void)token;
    start(m);
    return m;
}
void F(fmi3FreeInstance)(void *c) { free(c); }
int F(fmi3Reset)(void *c) { return start(c), 0; }
int F(fmi3EnterInitializationMode)(void *c) { return c == NULL; }
int F(fmi3ExitInitializationMode)(void *c) { return c == NULL; }
int F(fmi3Terminate)(void *c) { return c == NULL; }
int F(fmi3SetFloat64)(void *c, const unsigned *r, size_t n, const double *v) { return set(c, r, n, v); }
int F(fmi3GetFloat64)(void *c, const unsigned *r, size_t n, double *v) { return get(c, r, n, v); }
int F(fmi3DoStep)(void *c, double t, double h, _Bool no, _Bool *event, _Bool *end, _Bool *early, double *last)
{
    int found = step(c, h);
    (void)no;
    *event = *early = 0;
    *end = found == 2;
    *last = t + h;
    return found == 3 ? 3 : 0;
}
#else
void *F(fmi2Instantiate)(const char *name) { model *m = malloc(sizeof *m); (void)name; start(m); return m; }
void F(fmi2FreeInstance)(void *c) { free(c); }
int F(fmi2Reset)(void *c) { return start(c), 0; }
int F(fmi2SetupExperiment)(void *c) { return c == NULL; }
int F(fmi2EnterInitializationMode)(void *c) { return c == NULL; }
int F(fmi2ExitInitializationMode)(void *c) { return c == NULL; }
int F(fmi2Terminate)(void *c) { return c == NULL; }
int F(fmi2SetReal)(void *c, const unsigned *r, size_t n, const double *v) { return set(c, r, n, v); }
int F(fmi2GetReal)(void *c, const unsigned *r, size_t n, double *v) { return get(c, r, n, v); }
int F(fmi2DoStep)(void *c, double t, double h, int no) { return (void)t, (void)no, step(c, h); }
#endif
"""
ATTRIBUTES = {
    "x": 'causality="output" variability="continuous" initial="exact"',
    "drive.force": 'causality="input" variability="continuous"',
    "mass": 'causality="parameter" variability="fixed" initial="exact"',
    "damping": 'causality="parameter" variability="fixed" initial="exact"',
    "angle": 'causality="output" variability="continuous" initial="calculated"',
}
VALUES = {
    "x": 'unit="m" start="0"',
    "drive.force": 'unit="N" start="0" min="-8" max="8"',
    "mass": 'unit="kg" start="2"',
    "damping": 'start="0"',
    "angle": 'unit="deg"',
}


def description(version: int, kind: str = "CoSimulation") -> str:
    """The model description."""
    units = "".join(f'<Unit name="{unit}"/>' for unit in ("m", "N", "kg", "deg"))
    if version == 2:
        variables = "".join(
            f'<ScalarVariable name="{name}" valueReference="{i}" {more}><Real {VALUES[name]}/></ScalarVariable>'
            for i, (name, more) in enumerate(ATTRIBUTES.items())
        )
        outputs = '<Outputs><Unknown index="1"/><Unknown index="5"/></Outputs>'
        head = 'fmiVersion="2.0" modelName="rig" guid="{1}"'
    else:
        variables = "".join(
            f'<Float64 name="{name}" valueReference="{i}" {more} {VALUES[name]}/>'
            for i, (name, more) in enumerate(ATTRIBUTES.items())
        )
        outputs = '<Output valueReference="0"/><Output valueReference="4"/>'
        head = 'fmiVersion="3.0" modelName="rig" instantiationToken="{1}"'
    return (
        f'<?xml version="1.0" encoding="UTF-8"?>\n<fmiModelDescription {head}><{kind} modelIdentifier="rig"/>'
        f"<UnitDefinitions>{units}</UnitDefinitions><ModelVariables>{variables}</ModelVariables>"
        f"<ModelStructure>{outputs}</ModelStructure></fmiModelDescription>"
    )


def build(path: Path, version: int = 2) -> Path:
    """Compile the machine and write its FMU."""
    source, library = path.with_suffix(".c"), path.with_suffix(".so")
    header = Path(fmpy.__file__).parent / f"c-code/fmi{version}Functions.h"
    needed = set(re.findall(rf"\bfmi{version}[A-Z]\w+(?=;)", header.read_text())) - set(re.findall(r"fmi\d\w+", SOURCE))
    source.write_text(SOURCE + "".join(f"int {name}(void) {{ return 3; }}\n" for name in sorted(needed)))
    command = [*need("gcc"), "-O1", "-shared", "-fPIC", f"-DFMI{version}", "-o", str(library), str(source), "-lm"]
    subprocess.run(command, check=True, timeout=100)
    folder = "linux64" if version == 2 else "x86_64-linux"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("modelDescription.xml", description(version))
        archive.write(library, f"binaries/{folder}/rig.so")
    return path
