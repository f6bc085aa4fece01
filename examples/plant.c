/* A cart with a pole as a plant on TCP, in C: replace the part "The plant" by your machine.
 *
 *     cc -std=c99 -O2 plant.c -lm -o plant
 *     ./plant [--address 127.0.0.1:5555] [--patience 1] [--realtime] [--noiseless]
 *
 * It is the plant of the built-in task `cartpole`. The protocol is described in docs/reference/protocol.md.
 */
#define _POSIX_C_SOURCE 200809L

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define LONGEST 4096      /* bytes of a line, including its line feed */
#define HELLO_SECONDS 5.0 /* that a learner has to send its hello */
#define LARGEST_ID 9007199254740992.0

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---------------------------------------------------------------------------------------------------------------
 * The plant: positions p [m] and alpha [rad], 0 hanging down; input force [N]. A real one talks to its driver here.
 */

#define POSITIONS 2
#define INPUTS 1
static const char *const ANNOUNCED = "\"positions\": [\"p\", \"alpha\"], \"inputs\": [\"force\"], \"limits\": [10]";
static const double LIMITS[INPUTS] = {10.0};
static const double NOISE[POSITIONS] = {1e-3, 2e-3};
#define SAMPLING_TIME (1.0 / 30.0)
#define SUBSTEPS 20

typedef struct {
    double state[4]; /* p, alpha and their speeds */
    uint64_t random;
    double due; /* when the next sample is to be taken */
    int realtime, noiseless;
} Plant;

static void derivative(const double x[4], double force, double dx[4]) {
    const double cart = 0.5, pole = 0.5, length = 0.5, friction = 0.1, gravity = 9.81;
    const double s = sin(x[1]), c = cos(x[1]), push = force - friction * x[2];
    const double d = 4 * (cart + pole) - 3 * pole * c * c;
    dx[0] = x[2];
    dx[1] = x[3];
    dx[2] = (2 * pole * length * x[3] * x[3] * s + 3 * pole * gravity * s * c + 4 * push) / d;
    dx[3] = (-3 * pole * length * x[3] * x[3] * s * c - 6 * (cart + pole) * gravity * s - 6 * push * c) / (length * d);
}

static void runge_kutta(double x[4], double force, double h) {
    double k[4][4], at[4];
    const double part[4] = {0, h / 2, h / 2, h};
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < 4; i++) at[i] = stage ? x[i] + part[stage] * k[stage - 1][i] : x[i];
        derivative(at, force, k[stage]);
    }
    for (int i = 0; i < 4; i++) x[i] += h / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

/* Uniform in (0, 1), by splitmix64. */
static double uniform(Plant *plant) {
    uint64_t z = (plant->random += UINT64_C(0x9E3779B97F4A7C15));
    z = (z ^ (z >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94D049BB133111EB);
    return ((double)((z ^ (z >> 31)) >> 11) + 0.5) / LARGEST_ID;
}

static void measure(Plant *plant, double q[POSITIONS]) {
    for (int i = 0; i < POSITIONS; i++) {
        const double gauss = sqrt(-2 * log(uniform(plant))) * cos(6.283185307179586 * uniform(plant));
        q[i] = plant->state[i] + (plant->noiseless ? 0 : NOISE[i] * gauss);
    }
}

static void plant_reset(Plant *plant, double seed, double q[POSITIONS]) {
    memset(plant->state, 0, sizeof plant->state);
    plant->random = (uint64_t)seed;
    measure(plant, q);
    plant->due = now();
}

/* Hold `u` for one sampling time and measure at its end. */
static void plant_step(Plant *plant, const double u[INPUTS], double q[POSITIONS]) {
    for (int i = 0; i < SUBSTEPS; i++) runge_kutta(plant->state, u[0], SAMPLING_TIME / SUBSTEPS);
    if (plant->realtime) {
        /* Counted from the last sample, so that delays do not add up; but a missed sample is not caught up with. */
        plant->due = fmax(plant->due + SAMPLING_TIME, now());
        for (double left; (left = plant->due - now()) > 0;) {
            struct timespec t = {(time_t)left, (long)(1e9 * fmod(left, 1.0))};
            nanosleep(&t, NULL);
        }
    }
    measure(plant, q);
}

static void plant_stop(Plant *plant) {
    (void)plant; /* Apply the safe input of your machine here. */
    puts("plant stopped");
}

/* ---------------------------------------------------------------------------------------------------------------
 * A request: the fields of one line of JSON. Values are strings, numbers, lists of numbers, true, false and null.
 */

typedef struct {
    char type[16], protocol[32];
    double id, version, seed; /* NAN where they are missing */
    double inputs[INPUTS];
    int count; /* how many inputs there were */
} Request;

/* Every reader below moves `*at` past what it read; the line ends with a zero, which no reader moves past. */

static void skip(const char **at) {
    while (**at == ' ' || **at == '\t' || **at == '\r') ++*at;
}

static int take(const char **at, char due) {
    skip(at);
    if (**at != due) return 0;
    ++*at;
    return 1;
}

static int digits(const char **at) {
    const char *begin = *at;
    while (**at >= '0' && **at <= '9') ++*at;
    return *at > begin;
}

/* strtod takes more than JSON has, such as `inf` and `0x1`: the characters are checked first. */
static int read_number(const char **at, double *value) {
    const char *begin = *at;
    if (**at == '-') ++*at;
    if (!digits(at)) return 0;
    if (**at == '.') {
        ++*at;
        if (!digits(at)) return 0;
    }
    if (**at == 'e' || **at == 'E') {
        ++*at;
        if (**at == '+' || **at == '-') ++*at;
        if (!digits(at)) return 0;
    }
    *value = strtod(begin, NULL);
    return isfinite(*value);
}

/* Characters beyond `size` and the values of escapes are dropped: no string that matters here contains them. */
static int read_string(const char **at, char *text, size_t size) {
    size_t n = 0;
    if (!take(at, '"')) return 0;
    while (**at != '"') {
        char c = **at;
        if ((unsigned char)c < ' ') return 0;
        ++*at;
        if (c == '\\') {
            c = **at;
            if (!c || !strchr("\"\\/bfnrtu", c)) return 0;
            ++*at;
            for (int i = 0; c == 'u' && i < 4; i++, ++*at)
                if (!**at || !strchr("0123456789abcdefABCDEF", **at)) return 0;
        }
        if (n + 1 < size) text[n++] = c;
    }
    text[n] = 0;
    ++*at;
    return 1;
}

static int read_list(const char **at, double *values, int size, int *count) {
    *count = 0;
    if (!take(at, '[')) return 0;
    if (take(at, ']')) return 1;
    do {
        double value;
        skip(at);
        if (!read_number(at, &value)) return 0;
        if (*count < size) values[*count] = value;
        ++*count;
    } while (take(at, ','));
    return take(at, ']');
}

static int read_word(const char **at) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++) {
        const size_t n = strlen(words[i]);
        if (!strncmp(*at, words[i], n)) {
            *at += n;
            return 1;
        }
    }
    return 0;
}

/* Read one value into the field called `name`; values with other names are dropped. */
static int read_value(const char **at, const char *name, Request *request) {
    char text[LONGEST];
    double value, values[INPUTS];
    int count;
    skip(at);
    if (**at == '"') {
        if (!read_string(at, text, sizeof text)) return 0;
        if (!strcmp(name, "type")) snprintf(request->type, sizeof request->type, "%.15s", text);
        if (!strcmp(name, "protocol")) snprintf(request->protocol, sizeof request->protocol, "%.31s", text);
        return 1;
    }
    if (**at == '[') {
        if (!read_list(at, values, INPUTS, &count)) return 0;
        if (!strcmp(name, "inputs")) {
            request->count = count;
            for (int i = 0; i < INPUTS && i < count; i++) request->inputs[i] = values[i];
        }
        return 1;
    }
    if (!read_number(at, &value)) return read_word(at);
    if (!strcmp(name, "id")) request->id = value;
    if (!strcmp(name, "version")) request->version = value;
    if (!strcmp(name, "seed")) request->seed = value;
    return 1;
}

static int read_request(const char *line, Request *request) {
    char name[32];
    memset(request, 0, sizeof *request);
    request->id = request->version = request->seed = NAN;
    if (!take(&line, '{')) return 0;
    if (!take(&line, '}')) {
        do {
            if (!read_string(&line, name, sizeof name) || !take(&line, ':')) return 0;
            if (!read_value(&line, name, request)) return 0;
        } while (take(&line, ','));
        if (!take(&line, '}')) return 0;
    }
    skip(&line);
    return !*line;
}

static int is_integer(double value) {
    return value >= 0 && value < LARGEST_ID && floor(value) == value; /* false for NAN */
}

/* ---------------------------------------------------------------------------------------------------------------
 * The server: speaks with one learner at a time, and sees to it that the plant never moves without one.
 */

typedef struct {
    Plant plant;
    int learner; /* its socket, or -1 */
    char buffer[LONGEST + 1];
    size_t length;
    int greeted, moving;
    double patience, deadline; /* INFINITY if there is none */
} Server;

static volatile sig_atomic_t ended;

static void on_signal(int number) {
    (void)number;
    ended = 1;
}

static void rest(Server *server) {
    if (server->moving) plant_stop(&server->plant);
    server->moving = 0;
}

static void end(Server *server, const char *reason) {
    rest(server);
    if (server->learner >= 0) {
        close(server->learner);
        printf("connection ended: %s\n", reason);
    }
    server->learner = -1;
    server->deadline = INFINITY;
}

/* Send a line; returns 0 if the learner does not accept it within `seconds`. */
static int send_line(int to, double seconds, const char *format, ...) {
    char line[LONGEST];
    va_list values;
    va_start(values, format);
    const int n = vsnprintf(line, sizeof line - 1, format, values);
    va_end(values);
    if (n < 0 || (size_t)n >= sizeof line - 1) return 0;
    line[n] = '\n';
    const double deadline = now() + seconds;
    for (size_t sent = 0, length = (size_t)n + 1; sent < length;) {
        const ssize_t done = send(to, line + sent, length - sent, 0);
        if (done >= 0) {
            sent += (size_t)done;
            continue;
        }
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR) return 0;
        const double left = deadline - now();
        struct pollfd writable = {to, POLLOUT, 0};
        if (left <= 0 || poll(&writable, 1, (int)(1e3 * left) + 1) == 0) return 0;
    }
    return 1;
}

/* Stop the plant, send the reason, and close the connection. */
static void refuse(Server *server, const char *reason) {
    char unread[LONGEST];
    rest(server);
    if (send_line(server->learner, server->patience, "{\"error\": \"%s\"}", reason)) {
        /* If lines were left unread, the reason might not arrive. */
        struct pollfd readable = {server->learner, POLLIN, 0};
        shutdown(server->learner, SHUT_WR);
        if (poll(&readable, 1, 100) > 0 && recv(server->learner, unread, sizeof unread, 0) < 0) errno = 0;
    }
    end(server, reason);
}

/* Answer with measured positions; the learner then has `patience` seconds for the next input. */
static void tell(Server *server, double id, const double q[POSITIONS]) {
    char list[POSITIONS * 32] = "";
    size_t n = 0;
    for (int i = 0; i < POSITIONS; i++) {
        if (!isfinite(q[i])) {
            refuse(server, "a position is not finite");
            return;
        }
        n += (size_t)snprintf(list + n, sizeof list - n, "%s%.17g", i ? ", " : "", q[i]);
    }
    const char *const format = "{\"type\": \"positions\", \"id\": %.0f, \"positions\": [%s]}";
    if (send_line(server->learner, server->patience, format, id, list))
        server->deadline = now() + server->patience;
    else
        end(server, "the learner has disconnected");
}

static void step(Server *server, const Request *request) {
    double q[POSITIONS];
    int fits = request->count == INPUTS;
    for (int i = 0; i < INPUTS && fits; i++) fits = fabs(request->inputs[i]) <= LIMITS[i];
    if (!server->moving) {
        refuse(server, "a step needs a reset before it");
    } else if (!fits) {
        refuse(server, "a step needs as many inputs as announced, within their limits");
    } else {
        plant_step(&server->plant, request->inputs, q);
        tell(server, request->id, q);
    }
}

static void greet(Server *server, const Request *request) {
    const int fits = !strcmp(request->type, "hello") && !strcmp(request->protocol, "vfpilco-plant");
    if (!fits || request->version != 1) {
        refuse(server, "the first line must be a hello of vfpilco-plant version 1");
        return;
    }
    server->greeted = 1;
    server->deadline = INFINITY;
}

/* Fulfil the request in a line, and answer it. */
static void handle(Server *server, const char *line) {
    Request request;
    double q[POSITIONS];
    if (!read_request(line, &request)) {
        refuse(server, "a line must be one flat JSON object");
    } else if (!server->greeted) {
        greet(server, &request);
    } else if (!is_integer(request.id)) {
        refuse(server, "a request must have an id, an integer");
    } else if (!strcmp(request.type, "step")) {
        step(server, &request);
    } else if (!strcmp(request.type, "reset") && is_integer(request.seed)) {
        server->moving = 1;
        plant_reset(&server->plant, request.seed, q);
        tell(server, request.id, q);
    } else if (!strcmp(request.type, "stop")) {
        server->moving = 1; /* Stop in any case: one stop too many does no harm. */
        rest(server);
        server->deadline = INFINITY;
        if (!send_line(server->learner, server->patience, "{\"type\": \"stopped\", \"id\": %.0f}", request.id))
            end(server, "the learner has disconnected");
    } else if (!strcmp(request.type, "bye")) {
        end(server, "the learner said bye");
    } else {
        refuse(server, "the type must be one of reset (with a seed), step, stop, bye");
    }
}

/* Receive data from the learner, and handle every complete line. */
static void receive(Server *server) {
    const ssize_t n = recv(server->learner, server->buffer + server->length, LONGEST - server->length, 0);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return;
    if (n <= 0) {
        end(server, "the learner has disconnected");
        return;
    }
    server->length += (size_t)n;
    char *newline;
    while (server->learner >= 0 && (newline = memchr(server->buffer, '\n', server->length))) {
        const size_t used = (size_t)(newline - server->buffer) + 1;
        char line[LONGEST];
        memcpy(line, server->buffer, used);
        line[used - 1] = 0;
        server->length -= used;
        memmove(server->buffer, server->buffer + used, server->length);
        handle(server, strlen(line) == used - 1 ? line : ""); /* A null byte within a line is refused. */
    }
    if (server->learner >= 0 && server->length == LONGEST) refuse(server, "a line is longer than 4096 bytes");
}

/* Send lines without delay, and notice within half a minute that a learner's computer has lost power. */
static void prepare(int learner) {
    const int on = 1;
    fcntl(learner, F_SETFL, fcntl(learner, F_GETFL) | O_NONBLOCK);
    setsockopt(learner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(learner, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
#if defined TCP_KEEPIDLE && defined TCP_KEEPINTVL && defined TCP_KEEPCNT
    const int idle = 10, interval = 5, count = 3;
    setsockopt(learner, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
    setsockopt(learner, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
    setsockopt(learner, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
#endif
}

/* Announce the plant to a new learner; a second learner is refused. */
static void welcome(Server *server, int listener) {
    const int learner = accept(listener, NULL, NULL);
    if (learner < 0) return; /* It may have disconnected already. */
    prepare(learner);
    if (server->learner >= 0) {
        send_line(learner, 0, "{\"error\": \"busy with another learner\"}");
        close(learner);
        return;
    }
    server->learner = learner;
    server->length = 0;
    server->greeted = 0;
    server->deadline = now() + HELLO_SECONDS;
    const char *const format = "{\"type\": \"hello\", \"protocol\": \"vfpilco-plant\", \"version\": 1, %s, "
                               "\"sampling_time\": %.17g}";
    if (!send_line(learner, server->patience, format, ANNOUNCED, SAMPLING_TIME)) end(server, "the learner has disconnected");
}

/* Wait for data, for a learner or for the deadline, and handle it. */
static void serve_next(Server *server, int listener) {
    struct pollfd waiting[2] = {{listener, POLLIN, 0}, {server->learner, POLLIN, 0}};
    /* At most a second, because a signal may come just before the wait. */
    const double left = fmin(fmax(server->deadline - now(), 0), 1);
    const int ready = poll(waiting, 2, (int)(1e3 * left) + 1);
    if (ready > 0 && server->learner >= 0 && waiting[1].revents) {
        receive(server); /* First: if it has disconnected, another one can connect. */
    } else if (ready > 0) {
        welcome(server, listener);
    }
    /* Checked in any case: incomplete lines and other learners that connect do not postpone the deadline. */
    if (now() >= server->deadline) refuse(server, server->greeted ? "no input within patience" : "no hello");
}

static int fail(const char *what) {
    fprintf(stderr, "plant: %s\n", what);
    return 2;
}

/* Listen on `host:port`, both numbers; without a host only this computer can connect. */
static int open_listener(const char *address) {
    struct sockaddr_in at;
    char host[64] = "127.0.0.1", *rest_of_port;
    const char *colon = strrchr(address, ':');
    const int on = 1, length = colon ? (int)(colon - address) : 0;
    if (length) snprintf(host, sizeof host, "%.*s", length, address);
    const char *port = colon ? colon + 1 : address;
    const long number = strtol(port, &rest_of_port, 10);
    memset(&at, 0, sizeof at);
    at.sin_family = AF_INET;
    at.sin_port = htons((uint16_t)number);
    if (*rest_of_port || !*port || number < 0 || number > 65535 || inet_pton(AF_INET, host, &at.sin_addr) != 1)
        return fail("an address has the form 127.0.0.1:5555"), -1;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t size = sizeof at;
    if (bind(listener, (struct sockaddr *)&at, sizeof at) || listen(listener, 4) ||
        getsockname(listener, (struct sockaddr *)&at, &size)) {
        perror("plant: cannot listen");
        return -1;
    }
    fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK);
    printf("plant on tcp://%s:%d\n", host, ntohs(at.sin_port));
    return listener;
}

int main(int argc, char **argv) {
    static Server server;
    const char *address = "127.0.0.1:5555";
    server.patience = 1;
    server.learner = -1;
    server.deadline = INFINITY;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--realtime")) server.plant.realtime = 1;
        else if (!strcmp(argv[i], "--noiseless")) server.plant.noiseless = 1;
        else if (!strcmp(argv[i], "--address") && i + 1 < argc) address = argv[++i];
        else if (!strcmp(argv[i], "--patience") && i + 1 < argc) server.patience = strtod(argv[++i], NULL);
        else return fail("usage: plant [--address HOST:PORT] [--patience SECONDS] [--realtime] [--noiseless]");
    }
    if (!(server.patience > 0 && server.patience < 1e6)) return fail("patience must be a positive number of seconds");
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    setvbuf(stdout, NULL, _IOLBF, 0);
    const int listener = open_listener(address);
    if (listener < 0) return 2;
    while (!ended) serve_next(&server, listener);
    end(&server, "the plant's program ends");
    return 0;
}
