

/*
 * Where the machine applied other inputs than the last step returned, call this before the next step with those that it
 * applied: the policy sees past inputs. Beyond the limits the limits are taken, and zero where u is not finite.
 */
void ${prefix}_actual(${prefix}_policy *policy, const ${prefix}_real u[${PREFIX}_INPUTS]);
