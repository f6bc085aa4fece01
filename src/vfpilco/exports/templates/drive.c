/*
 * Runs an exported policy for a check: reads records of doubles (1 to reset first or 0, then the measurements) and
 * writes the inputs for each. With an argument it measures the duration of a step over the first records instead.
 */
#include "policy.h"

#include <stdio.h>
#include <time.h>

#define MOST_RECORDS 64
#define STEPS 50000

static double records[MOST_RECORDS][1 + VFPILCO_MEASURES];

static void step(vfpilco_policy *policy, const double *record, double *inputs)
{
    vfpilco_real q[VFPILCO_MEASURES], u[VFPILCO_INPUTS];
    int i;
    for (i = 0; i < VFPILCO_MEASURES; i++) {
        q[i] = (vfpilco_real)record[1 + i];
    }
    if (record[0] > 0) {
        vfpilco_reset(policy);
    }
    vfpilco_step(policy, q, u);
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        inputs[i] = (double)u[i];
    }
}

static double seconds(vfpilco_policy *policy, int count)
{
    double inputs[VFPILCO_INPUTS];
    clock_t start = clock();
    int i;
    for (i = 0; i < STEPS; i++) {
        step(policy, records[i % count], inputs);
    }
    return (double)(clock() - start) / CLOCKS_PER_SEC / STEPS;
}

int main(int argc, char **argv)
{
    static vfpilco_policy policy;
    double inputs[VFPILCO_INPUTS];
    int count = 0;
    (void)argv;
    vfpilco_reset(&policy);
    while (fread(records[count], sizeof records[0], 1, stdin) == 1) {
        if (argc > 1) {
            if (++count == MOST_RECORDS) {
                break;
            }
            continue;
        }
        step(&policy, records[0], inputs);
        if (fwrite(inputs, sizeof inputs, 1, stdout) != 1 || fflush(stdout) != 0) {
            return 1;
        }
    }
    if (argc > 1 && count > 0) {
        inputs[0] = seconds(&policy, count);
        return fwrite(inputs, sizeof inputs[0], 1, stdout) != 1;
    }
    return 0;
}
