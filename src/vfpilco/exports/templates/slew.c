/* The inputs nearest to u within the slew limit; zero at once if u is not valid. */
static void slew(${prefix}_policy *policy, int valid, real *u)
{
    int i;
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        double most = AT(most_change, i);
        double low = policy->applied[i] - most, high = policy->applied[i] + most;
        double wanted = (double)u[i];
        wanted = wanted < low ? low : wanted > high ? high : wanted;
        policy->applied[i] = valid ? wanted : 0;
        u[i] = (real)policy->applied[i];
    }
}
