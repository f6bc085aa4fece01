/* The inputs nearest to u within the slew limit; zero at once if u is not valid. */
static void slew(${prefix}_policy *policy, int valid, real *u)
{
    int i;
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        double most = AT(most_change, i);
        double low = $last - most, high = $last + most;
        double wanted = (double)u[i];
        wanted = wanted < low ? low : wanted > high ? high : wanted;
        $keep;
        u[i] = (real)$last;
    }
}
