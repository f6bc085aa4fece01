/*
 * Runs an exported policy for a check: reads records of doubles (1 to reset first or 0, then the measurements) and
 * writes the inputs for each. With an argument it measures the duration of a step over the first records instead.
 */
#include "$header"

#include <stdio.h>
#include <time.h>

#define MOST_RECORDS 64
#define STEPS 50000

static double records[MOST_RECORDS][1 + ${PREFIX}_MEASURES];

static void step(${prefix}_policy *policy, const double *record, double *inputs)
{
    ${prefix}_real q[${PREFIX}_MEASURES], u[${PREFIX}_INPUTS];
    int i;
    for (i = 0; i < ${PREFIX}_MEASURES; i++) {
        q[i] = (${prefix}_real)record[1 + i];
    }
    if (record[0] > 0) {
        ${prefix}_reset(policy);
    }
    ${prefix}_step(policy, q, u);
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        inputs[i] = (double)u[i];
    }
}

static double seconds(${prefix}_policy *policy, int count)
{
    double inputs[${PREFIX}_INPUTS];
    clock_t start = clock();
    int i;
    for (i = 0; i < STEPS; i++) {
        step(policy, records[i % count], inputs);
    }
    return (double)(clock() - start) / CLOCKS_PER_SEC / STEPS;
}

int main(int argc, char **argv)
{
    static ${prefix}_policy policy;
    double inputs[${PREFIX}_INPUTS];
    int count = 0;
    (void)argv;
    ${prefix}_reset(&policy);
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
