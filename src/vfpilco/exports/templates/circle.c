/* Sine and cosine of an angle that may have made many turns. */
static real sine(double angle)
{
    return $sin((real)(angle - TURN * rint(angle / TURN)));
}

static real cosine(double angle)
{
    return $cos((real)(angle - TURN * rint(angle / TURN)));
}
