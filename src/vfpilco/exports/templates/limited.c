static real limited(real total, real limit)
{
    real u = limit * $tanh(total / limit);
    return u > limit ? limit : u < -limit ? -limit : u;
}
