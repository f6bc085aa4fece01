/*
 * Drives an exported policy for a check: reads records of doubles (1 to reset first or 0, then the measurements) and
 * answers each with the inputs. With an argument it instead takes the time of a step over the first records.
 */
#include "policy.h"

#include <stdio.h>
#include <time.h>

#define KEPT 64
#define STEPS 50000

static double records[KEPT][1 + VFPILCO_MEASURES];

static void answer(vfpilco_policy *policy, const double *record, double *answers)
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
        answers[i] = (double)u[i];
    }
}

static double seconds(vfpilco_policy *policy, int kept)
{
    double answers[VFPILCO_INPUTS];
    clock_t begun = clock();
    int i;
    for (i = 0; i < STEPS; i++) {
        answer(policy, records[i % kept], answers);
    }
    return (double)(clock() - begun) / CLOCKS_PER_SEC / STEPS;
}

int main(int argc, char **argv)
{
    static vfpilco_policy policy;
    double answers[VFPILCO_INPUTS];
    int kept = 0;
    (void)argv;
    vfpilco_reset(&policy);
    while (fread(records[kept], sizeof records[0], 1, stdin) == 1) {
        if (argc > 1) {
            if (++kept == KEPT) {
                break;
            }
            continue;
        }
        answer(&policy, records[0], answers);
        if (fwrite(answers, sizeof answers, 1, stdout) != 1 || fflush(stdout) != 0) {
            return 1;
        }
    }
    if (argc > 1 && kept > 0) {
        answers[0] = seconds(&policy, kept);
        return fwrite(answers, sizeof answers[0], 1, stdout) != 1;
    }
    return 0;
}
