/* y = y + W x + b, or the tanh of it */
static void dense(int squash, int in, int out, const real *w, const real *b, const real *x, real *y)
{
    int i, j;
    for (i = 0; i < in; i++) {
        for (j = 0; j < out; j++) {
            y[j] += AT(w, i * out + j) * x[i];
        }
    }
    for (j = 0; j < out; j++) {
        y[j] += AT(b, j);
        y[j] = squash ? $tanh(y[j]) : y[j];
    }
}
