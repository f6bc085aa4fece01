/*
 * A learned policy: takes measurements and returns inputs, once per sample.
 *
 * task: $task
 * written by vfpilco $version; see README.md for where it was learned
 *
 *     vfpilco_policy policy;
 *     vfpilco_reset(&policy);
 *     every VFPILCO_SAMPLING_TIME seconds:
 *         vfpilco_step(&policy, q, u);
 */
#ifndef VFPILCO_POLICY_H
#define VFPILCO_POLICY_H

#ifdef __cplusplus
extern "C" {
#endif

typedef $real vfpilco_real;

#define VFPILCO_MEASURES $measures
#define VFPILCO_INPUTS $inputs
#define VFPILCO_MEMORY $memory
#define VFPILCO_SAMPLING_TIME $sampling_time

/* The state of one policy; any number of them can be used at the same time. */
typedef struct {
    double memory[VFPILCO_MEMORY][VFPILCO_MEASURES];$last_inputs
    long sample;
    int started; /* whether there was a valid measurement since the reset */
    int valid;   /* whether the last measurement was valid */
} vfpilco_policy;

/*
 * Forget the past: the next measurement is taken as the start, at rest.
 */
void vfpilco_reset(vfpilco_policy *policy);

/*
 * The inputs to apply until the next sample, now that q was measured.
 *
 * q:
$measured
 * u:
$applied
 *
 * Returns 1 if the inputs are those of the policy. Returns 0, with all inputs zero, if q is not a valid measurement (NaN,
 * infinite or beyond $largest) or the inputs would not be finite. After an invalid measurement the memory starts again, at
 * rest, with the next valid one; the turns of angles and the position in a reference are kept.$slew
 */
int vfpilco_step(vfpilco_policy *policy, const vfpilco_real q[VFPILCO_MEASURES], vfpilco_real u[VFPILCO_INPUTS]);

#ifdef __cplusplus
}
#endif

#endif
