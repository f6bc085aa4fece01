
void ${prefix}_actual(${prefix}_policy *policy, const ${prefix}_real u[${PREFIX}_INPUTS])
{
    int i;
    for (i = 0; i < ${PREFIX}_INPUTS; i++) {
        double applied = (double)u[i], limit = (double)AT(limits, i);
        applied = is_finite(applied) ? applied : 0;
        policy->applied[0][i] = applied < -limit ? -limit : applied > limit ? limit : applied;
    }
}
