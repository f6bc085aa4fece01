/* Remember an input that is applied now. */
static void keep(${prefix}_policy *policy, int i, double u)
{
    int row;
    for (row = ${PREFIX}_PAST_INPUTS - 1; row > 0; row--) {
        policy->applied[row][i] = policy->applied[row - 1][i];
    }
    policy->applied[0][i] = u;
}
