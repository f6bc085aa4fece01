/*
 * A learned policy; see $header for its use.
 *
 * The memory is always kept in double: differences of positions, which represent velocities, would lose their digits
 * otherwise. No heap, and no state except that of the caller.
 */
#include "$header"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

/* On an 8-bit AVR constants would be copied to RAM at the start, unless they are kept in flash and read from there. */
#ifdef __AVR__
#if DBL_MANT_DIG != FLT_MANT_DIG
#error "build for a double of 4 bytes, the default of avr-gcc"
#endif
#include <avr/pgmspace.h>
#define FLASH PROGMEM
#define AT(table, i) pgm_read_float(&(table)[i])
#define rint round /* avr-libc has no rint */
#else
#define FLASH
#define AT(table, i) ((table)[i])
#endif

typedef ${prefix}_real real;

#define ENTRIES $entries
#define WINDOW $window
#define FILTERS $filters
#define LAST_SAMPLE $last_sample

static const double TURN = 6.283185307179586;
static const double LARGEST = $largest;

/* -- learned values --------------------------------------------------------------------------------------------- */

$tables
/* -- measurements and inputs ------------------------------------------------------------------------------------ */

/* Tests the bits: under -ffast-math a comparison would not detect NaN. */
static int is_finite(double value)
{
#if DBL_MANT_DIG == FLT_MANT_DIG
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 23 & 0xffu) != 0xffu;
#else
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 52 & 0x7ffu) != 0x7ffu;
#endif
}

static int is_valid(const real *q)
{
    int i;
    for (i = 0; i < ${PREFIX}_MEASURES; i++) {
        if (!is_finite((double)q[i]) || fabs((double)q[i]) > LARGEST) {
            return 0;
        }
    }
    return 1;
}

$limited
$slew
/* -- memory ----------------------------------------------------------------------------------------------------- */

/* Shift angles by full turns to within half a turn of the last ones. */
static void unwrap(const ${prefix}_policy *policy, const real *q, double *z)
{
    int i;
    for (i = 0; i < ${PREFIX}_MEASURES; i++) {
        z[i] = (double)q[i];
        if (turning[i] && policy->started) {
            z[i] -= TURN * rint((z[i] - policy->memory[0][i]) / TURN);
        }
    }
}

/* At rest in the measurement z. */
static void begin(${prefix}_policy *policy, const double *z)
{
    int row, i;
    for (row = 0; row < ${PREFIX}_MEMORY; row++) {
        for (i = 0; i < ${PREFIX}_MEASURES; i++) {
            policy->memory[row][i] = AT(start, row) * z[i];
        }
    }
}

/* One sample later. */
static void push(${prefix}_policy *policy, const double *z)
{
    int row, i;
    for (i = 0; i < ${PREFIX}_MEASURES; i++) {
        for (row = WINDOW - 1; row > 0; row--) {
            policy->memory[row][i] = policy->memory[row - 1][i];
        }
        policy->memory[0][i] = z[i];
    }
}

$filter
/* -- the policy ------------------------------------------------------------------------------------------------- */

$circle
static void policy_input(const ${prefix}_policy *policy, real *x)
{
    const double (*m)[${PREFIX}_MEASURES] = policy->memory;
$policy_input
}

$layers
static void unlimited(const real *x, real *y)
{
$chains
}

/* -- the interface ---------------------------------------------------------------------------------------------- */

void ${prefix}_reset(${prefix}_policy *policy)
{
    memset(policy, 0, sizeof *policy);
}

int ${prefix}_step(${prefix}_policy *policy, const ${prefix}_real q[${PREFIX}_MEASURES], ${prefix}_real u[${PREFIX}_INPUTS])
{
    double z[${PREFIX}_MEASURES];
    real x[ENTRIES], y[${PREFIX}_INPUTS] = {0};
    int i, valid = is_valid(q);

    if (valid) {
        unwrap(policy, q, z);
        if (policy->valid) {
            push(policy, z);$filtered
        } else {
            begin(policy, z);
        }
        policy->started = 1;
        policy_input(policy, x);
        unlimited(x, y);
    }
    policy->valid = valid;
    policy->sample += policy->sample < LAST_SAMPLE;
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        valid = valid && is_finite((double)y[i]);
    }
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        u[i] = valid ? limited(y[i], AT(limits, i)) : 0;
    }$slewed
    return valid;
}
$actual