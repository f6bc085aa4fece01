/* u_max tanh(y / u_max), which rounding must not move beyond u_max */
static real limited(real y, real limit)
{
    real u = limit * $tanh(y / limit);
    return u > limit ? limit : u < -limit ? -limit : u;
}
