/* One step of the filters, m = A m + b z. */
static void filter(${prefix}_policy *policy, const double *z)
{
    double (*m)[${PREFIX}_MEASURES] = policy->memory + WINDOW;
    double next[FILTERS];
    int i, row, other;
    for (i = 0; i < ${PREFIX}_MEASURES; i++) {
        for (row = 0; row < FILTERS; row++) {
            next[row] = AT(filter_b, i * FILTERS + row) * z[i];
            for (other = 0; other < FILTERS; other++) {
                next[row] += AT(filter_a, (i * FILTERS + row) * FILTERS + other) * m[other][i];
            }
        }
        for (row = 0; row < FILTERS; row++) {
            m[row][i] = next[row];
        }
    }
}
