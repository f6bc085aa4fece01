/*
 * A learned policy: measurements in, inputs out, once per sample.
 *
 * task: $task
 * made by vfpilco $version; README.md tells where it was learned.
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

/* What one policy remembers; as many of them as you like can be used side by side. */
typedef struct {
    double memory[VFPILCO_MEMORY][VFPILCO_MEASURES];$last_inputs
    long sample;
    int placed;
    int moving;
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
 * Returns 1 if the policy was followed. Returns 0, with all inputs zero, if q is no measurement (NaN, infinite or beyond
 * $largest) or nothing sensible comes of it. After what is no measurement the memory begins anew, at rest, with the next one;
 * the turns of angles and the place in a reference are kept.$slew
 */
int vfpilco_step(vfpilco_policy *policy, const vfpilco_real q[VFPILCO_MEASURES], vfpilco_real u[VFPILCO_INPUTS]);

#ifdef __cplusplus
}
#endif

#endif
