/* The inputs nearest to u that may follow those before; where the policy is not followed, zero is applied at once. */
static void slew(vfpilco_policy *policy, int followed, real *u)
{
    int i;
    for (i = 0; i < VFPILCO_INPUTS; i++) {
        double wanted = (double)u[i], low = policy->applied[i] - most[i], high = policy->applied[i] + most[i];
        wanted = wanted < low ? low : wanted > high ? high : wanted;
        policy->applied[i] = followed ? wanted : 0;
        u[i] = (real)policy->applied[i];
    }
}
