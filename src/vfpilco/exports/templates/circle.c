/* Sine and cosine of an unwrapped angle, which may be many turns away from zero. */
static real sine(double angle)
{
    return $sin((real)(angle - TURN * rint(angle / TURN)));
}

static real cosine(double angle)
{
    return $cos((real)(angle - TURN * rint(angle / TURN)));
}
