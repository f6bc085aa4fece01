/*
 * A learned policy; see policy.h for its use.
 *
 * The memory is always kept in double: differences of positions, which represent velocities, would lose their digits
 * otherwise. No heap, and no state except that of the caller.
 */
#include "policy.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

typedef vfpilco_real real;

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
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 52 & 0x7ffu) != 0x7ffu;
}

static int is_valid(const real *q)
{
    int i;
    for (i = 0; i < VFPILCO_MEASURES; i++) {
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
static void unwrap(const vfpilco_policy *policy, const real *q, double *z)
{
    int i;
    for (i = 0; i < VFPILCO_MEASURES; i++) {
        z[i] = (double)q[i];
        if (turning[i] && policy->started) {
            z[i] -= TURN * rint((z[i] - policy->memory[0][i]) / TURN);
        }
    }
}

/* At rest in the measurement z. */
static void begin(vfpilco_policy *policy, const double *z)
{
    int row, i;
    for (row = 0; row < VFPILCO_MEMORY; row++) {
        for (i = 0; i < VFPILCO_MEASURES; i++) {
            policy->memory[row][i] = start[row] * z[i];
        }
    }
}

/* One sample later. */
static void push(vfpilco_policy *policy, const double *z)
{
    int row, i;
    for (i = 0; i < VFPILCO_MEASURES; i++) {
        for (row = WINDOW - 1; row > 0; row--) {
            policy->memory[row][i] = policy->memory[row - 1][i];
        }
        policy->memory[0][i] = z[i];
    }
}

$filter
/* -- the policy ------------------------------------------------------------------------------------------------- */

$circle
static void policy_input(const vfpilco_policy *policy, real *x)
{
    const double (*m)[VFPILCO_MEASURES] = policy->memory;
$policy_input
}

$layers
static void unlimited(const real *x, real *y)
{
$chains
}

/* -- the interface ---------------------------------------------------------------------------------------------- */

void vfpilco_reset(vfpilco_policy *policy)
{
    memset(policy, 0, sizeof *policy);
}

int vfpilco_step(vfpilco_policy *policy, const vfpilco_real q[VFPILCO_MEASURES], vfpilco_real u[VFPILCO_INPUTS])
{
    double z[VFPILCO_MEASURES];
    real x[ENTRIES], y[VFPILCO_INPUTS] = {0};
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
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        valid = valid && is_finite((double)y[i]);
    }
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        u[i] = valid ? limited(y[i], limits[i]) : 0;
    }$slewed
    return valid;
}
