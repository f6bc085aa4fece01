/*
 * The interface of FMI 2 for co-simulation of a learned policy.
 *
 * Its inputs are the measurements, its outputs the inputs to apply. At a sampling instant the outputs follow from the
 * measurements at once; they are held until the next one.
 */
#include "$header"

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

enum { OK = 0, ERROR = 3 };

typedef struct {
    ${prefix}_policy before, after; /* the memory before and after the present sample */
    ${prefix}_real q[${PREFIX}_MEASURES], u[${PREFIX}_INPUTS];
    double due;  /* the present sampling instant, or the next one */
    int instant; /* whether this is a sampling instant */
    int changed; /* whether measurements were set since the outputs were computed */
    int sampled; /* whether outputs were computed at this instant */
    int valid;
} model;

static void start(model *m)
{
    memset(m, 0, sizeof *m);
    ${prefix}_reset(&m->before);
    m->instant = m->changed = 1;
}

/* Measurements that are set again at the same instant start from the same memory again. */
static void evaluate(model *m)
{
    if (m->instant && m->changed) {
        m->after = m->before;
        m->valid = ${prefix}_step(&m->after, m->q, m->u);
        m->changed = 0;
        m->sampled = 1;
    }
}

/* -- life -------------------------------------------------------------------------------------------------------- */

EXPORT const char *fmi2GetTypesPlatform(void) { return "default"; }
EXPORT const char *fmi2GetVersion(void) { return "2.0"; }

EXPORT void *fmi2Instantiate(const char *name, int type, const char *guid, const char *place, const void *functions,
                             int visible, int logging)
{
    model *m;
    (void)name, (void)place, (void)functions, (void)visible, (void)logging;
    if (type != 1 || guid == NULL || strcmp(guid, "{GUID_OF_THE_MODEL}") != 0) {
        return NULL;
    }
    m = malloc(sizeof *m);
    if (m != NULL) {
        start(m);
    }
    return m;
}

EXPORT void fmi2FreeInstance(void *c) { free(c); }

EXPORT int fmi2Reset(void *c)
{
    start(c);
    return OK;
}

EXPORT int fmi2SetupExperiment(void *c, int has_tolerance, double tolerance, double begin, int has_end, double end)
{
    model *m = c;
    (void)has_tolerance, (void)tolerance, (void)has_end, (void)end;
    m->due = begin;
    return OK;
}

EXPORT int fmi2EnterInitializationMode(void *c) { return c != NULL ? OK : ERROR; }
EXPORT int fmi2ExitInitializationMode(void *c) { return c != NULL ? OK : ERROR; }
EXPORT int fmi2Terminate(void *c) { return c != NULL ? OK : ERROR; }

EXPORT int fmi2SetDebugLogging(void *c, int on, size_t count, const char *const categories[])
{
    (void)c, (void)on, (void)count, (void)categories;
    return OK;
}

/* -- variables --------------------------------------------------------------------------------------------------- */

EXPORT int fmi2SetReal(void *c, const unsigned references[], size_t count, const double values[])
{
    model *m = c;
    size_t i;
    for (i = 0; i < count; i++) {
        if (references[i] >= ${PREFIX}_MEASURES) {
            return ERROR;
        }
        m->q[references[i]] = (${prefix}_real)values[i];
    }
    m->changed = 1;
    return OK;
}

EXPORT int fmi2GetReal(void *c, const unsigned references[], size_t count, double values[])
{
    model *m = c;
    size_t i;
    for (i = 0; i < count; i++) {
        unsigned r = references[i];
        if (r >= ${PREFIX}_MEASURES + ${PREFIX}_INPUTS) {
            return ERROR;
        }
        if (r >= ${PREFIX}_MEASURES) {
            evaluate(m);
        }
        values[i] = r < ${PREFIX}_MEASURES ? (double)m->q[r] : (double)m->u[r - ${PREFIX}_MEASURES];
    }
    return OK;
}

EXPORT int fmi2GetBoolean(void *c, const unsigned references[], size_t count, int values[])
{
    model *m = c;
    size_t i;
    for (i = 0; i < count; i++) {
        if (references[i] != 0) {
            return ERROR;
        }
        evaluate(m);
        values[i] = m->valid;
    }
    return OK;
}

/* -- time -------------------------------------------------------------------------------------------------------- */

EXPORT int fmi2DoStep(void *c, double time, double step, int no_set_state)
{
    model *m = c;
    (void)no_set_state;
    if (!(step > 0) || step > (1 + 1e-6) * ${PREFIX}_SAMPLING_TIME) {
        return ERROR; /* samples would be missed */
    }
    if (m->instant) {
        m->changed = m->changed || !m->sampled; /* if nothing was set, the last measurements are still valid */
        evaluate(m);
        m->before = m->after;
        m->due += ${PREFIX}_SAMPLING_TIME;
    }
    m->instant = time + step >= m->due - 1e-6 * ${PREFIX}_SAMPLING_TIME;
    m->changed = m->sampled = 0;
    return OK;
}

/* -- what there is not ------------------------------------------------------------------------------------------- */

#define NONE(function, value)                                                             \
    EXPORT int function(void *c, const unsigned references[], size_t count, value values) \
    {                                                                                     \
        (void)c, (void)references, (void)values;                                          \
        return count == 0 ? OK : ERROR;                                                   \
    }
NONE(fmi2GetInteger, int *)
NONE(fmi2SetInteger, const int *)
NONE(fmi2SetBoolean, const int *)
NONE(fmi2GetString, const char **)
NONE(fmi2SetString, const char *const *)

#define NOT_SUPPORTED(function, second, third)            \
    EXPORT int function(void *c, second one, third other) \
    {                                                     \
        (void)c, (void)one, (void)other;                  \
        return ERROR;                                     \
    }
NOT_SUPPORTED(fmi2SerializedFMUstateSize, void *, size_t *)
NOT_SUPPORTED(fmi2GetStatus, int, int *)
NOT_SUPPORTED(fmi2GetRealStatus, int, double *)
NOT_SUPPORTED(fmi2GetIntegerStatus, int, int *)
NOT_SUPPORTED(fmi2GetBooleanStatus, int, int *)
NOT_SUPPORTED(fmi2GetStringStatus, int, const char **)

EXPORT int fmi2CancelStep(void *c) { return (void)c, ERROR; }
EXPORT int fmi2GetFMUstate(void *c, void **state) { return (void)c, (void)state, ERROR; }
EXPORT int fmi2SetFMUstate(void *c, void *state) { return (void)c, (void)state, ERROR; }
EXPORT int fmi2FreeFMUstate(void *c, void **state) { return (void)c, (void)state, ERROR; }

EXPORT int fmi2SerializeFMUstate(void *c, void *state, char bytes[], size_t size)
{
    return (void)c, (void)state, (void)bytes, (void)size, ERROR;
}

EXPORT int fmi2DeSerializeFMUstate(void *c, const char bytes[], size_t size, void **state)
{
    return (void)c, (void)bytes, (void)size, (void)state, ERROR;
}

EXPORT int fmi2GetDirectionalDerivative(void *c, const unsigned of[], size_t count, const unsigned to[], size_t known,
                                        const double change[], double values[])
{
    return (void)c, (void)of, (void)count, (void)to, (void)known, (void)change, (void)values, ERROR;
}

EXPORT int fmi2SetRealInputDerivatives(void *c, const unsigned r[], size_t count, const int order[], const double v[])
{
    return (void)c, (void)r, (void)count, (void)order, (void)v, ERROR;
}

EXPORT int fmi2GetRealOutputDerivatives(void *c, const unsigned r[], size_t count, const int order[], double v[])
{
    return (void)c, (void)r, (void)count, (void)order, (void)v, ERROR;
}
