/*
 * A learned policy; policy.h tells how it is used.
 *
 * The memory is kept in double, whatever the precision of the rest: differences of positions, which stand for
 * velocities, would lose their digits otherwise. No heap, no state but that of the caller.
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

/* -- what was learned ------------------------------------------------------------------------------------------- */

$tables
/* -- parts ------------------------------------------------------------------------------------------------------ */

/* Told by its bits: under -ffast-math a comparison would not see NaN. */
static int is_finite(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return (bits >> 52 & 0x7ffu) != 0x7ffu;
}

static int is_measurement(const real *q)
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

/* Angles are moved by whole turns to within half a turn of the ones before. */
static void follow(const vfpilco_policy *policy, const real *q, double *z)
{
    int i;
    for (i = 0; i < VFPILCO_MEASURES; i++) {
        z[i] = (double)q[i];
        if (turning[i] && policy->placed) {
            z[i] -= TURN * rint((z[i] - policy->memory[0][i]) / TURN);
        }
    }
}

static void begin(vfpilco_policy *policy, const double *z)
{
    int row, i;
    for (row = 0; row < VFPILCO_MEMORY; row++) {
        for (i = 0; i < VFPILCO_MEASURES; i++) {
            policy->memory[row][i] = start[row] * z[i];
        }
    }
}

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
/* -- what the policy sees, and what it makes of it -------------------------------------------------------------- */

$circle
static void see(const vfpilco_policy *policy, real *x)
{
    const double (*m)[VFPILCO_MEASURES] = policy->memory;
$seen
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
    int i, followed = is_measurement(q);

    if (followed) {
        follow(policy, q, z);
        if (policy->moving) {
            push(policy, z);$filtered
        } else {
            begin(policy, z);
        }
        policy->placed = 1;
        see(policy, x);
        unlimited(x, y);
    }
    policy->moving = followed;
    policy->sample += policy->sample < LAST_SAMPLE;
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        followed = followed && is_finite((double)y[i]);
    }
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        u[i] = followed ? limited(y[i], limits[i]) : 0;
    }$slewed
    return followed;
}
