/* The inputs nearest to u within the slew limit; zero at once if u is not valid. */
static void slew(vfpilco_policy *policy, int valid, real *u)
{
    int i;
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        double low = policy->applied[i] - most_change[i], high = policy->applied[i] + most_change[i];
        double wanted = (double)u[i];
        wanted = wanted < low ? low : wanted > high ? high : wanted;
        policy->applied[i] = valid ? wanted : 0;
        u[i] = (real)policy->applied[i];
    }
}
