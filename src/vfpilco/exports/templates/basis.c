/* y = y + sum_i w_i exp(-|a_i - s x|^2) */
static void basis(int count, int in, int out, const real *s, const real *a, const real *w, const real *x, real *y)
{
    int i, j;
    for (i = 0; i < count; i++) {
        real distance = 0, value;
        for (j = 0; j < in; j++) {
            real d = AT(a, i * in + j) - AT(s, j) * x[j];
            distance += d * d;
        }
        value = $exp(-distance);
        for (j = 0; j < out; j++) {
            y[j] += AT(w, i * out + j) * value;
        }
    }
}
