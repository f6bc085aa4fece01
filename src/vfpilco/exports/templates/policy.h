/*
 * A learned policy: takes measurements and returns inputs, once per sample.
 *
 * task: $task
 * written by vfpilco $version; see README.md for where it was learned
 *
 *     ${prefix}_policy policy;
 *     ${prefix}_reset(&policy);
 *     every ${PREFIX}_SAMPLING_TIME seconds:
 *         ${prefix}_step(&policy, q, u);
 *
$footprint
 */
#ifndef ${PREFIX}_POLICY_H
#define ${PREFIX}_POLICY_H

#ifdef __cplusplus
extern "C" {
#endif

typedef $real ${prefix}_real;

#define ${PREFIX}_MEASURES $measures
#define ${PREFIX}_INPUTS $inputs
#define ${PREFIX}_MEMORY $memory$past_inputs
#define ${PREFIX}_SAMPLING_TIME $sampling_time

/* The state of one policy; any number of them can be used at the same time. */
typedef struct {
    double memory[${PREFIX}_MEMORY][${PREFIX}_MEASURES];$last_inputs
    long sample;
    int started; /* whether there was a valid measurement since the reset */
    int valid;   /* whether the last measurement was valid */
} ${prefix}_policy;

/*
 * Forget the past: the next measurement is taken as the start, at rest.
 */
void ${prefix}_reset(${prefix}_policy *policy);

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
 * rest, with the next valid one; the turns of angles and the position in a reference are kept.$past$slew
 */
int ${prefix}_step(${prefix}_policy *policy, const ${prefix}_real q[${PREFIX}_MEASURES], ${prefix}_real u[${PREFIX}_INPUTS]);$actual

#ifdef __cplusplus
}
#endif

#endif
