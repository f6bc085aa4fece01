// Runs a learned policy for the task $task at its sampling time.
//
// Complete measure() and apply(). Then send g over the serial port (115200 baud) to start a trial and s to stop it.
// A line per sample is printed; save the lines to a file, and vfpilco inspect and vfpilco tell read it.

#include <$header>

const uint32_t PERIOD_US = $microseconds;  // the sampling time, in microseconds
const uint16_t PERIOD_REST_NS = $rest;  // and what is left of it, in nanoseconds

${prefix}_policy policy;
${prefix}_real q[${PREFIX}_MEASURES], u[${PREFIX}_INPUTS];
bool running = false;
uint32_t due, start;
uint16_t rest;

// The measurements, in the units that the policy was learned with; angles may wrap.
$measured
void measure(${prefix}_real *q) {
  for (int i = 0; i < ${PREFIX}_MEASURES; i++) {
    q[i] = analogRead(A0 + i) * (1.0 / 1023.0);  // replace this by your sensors
  }
}

// Apply the inputs and hold them until the next call. Zero must be safe.
$applied
void apply(const ${prefix}_real *u) {
  (void)u;  // replace this by your motor driver
}

void stop() {
  running = false;
  memset(u, 0, sizeof u);
  apply(u);
}

// The next sampling instant. Adding to the last one, instead of waiting for a period, lets no error accumulate.
void next() {
  due += PERIOD_US;
  rest += PERIOD_REST_NS;
  if (rest >= 1000) {
    rest -= 1000;
    due++;
  }
}

void setup() {
  Serial.begin(115200);
  stop();
}

void loop() {
  switch (Serial.available() ? Serial.read() : -1) {
    case 'g':
      ${prefix}_reset(&policy);
      Serial.println(F("$columns"));
      start = due = micros();
      rest = 0;
      running = true;
      break;
    case 's':
      stop();
      break;
  }
  if (!running) {
    return;
  }
  uint32_t now = micros();
  if ((int32_t)(now - due) < 0) {  // correct when micros() overflows, too
    return;
  }
  measure(q);
  next();
  while ((int32_t)(now - due) >= 0) {  // a sample was missed: without it differences of positions are wrong velocities
    ${prefix}_real invalid[${PREFIX}_MEASURES]$unused;
    for (int i = 0; i < ${PREFIX}_MEASURES; i++) {
      invalid[i] = NAN;
    }
    ${prefix}_step(&policy, invalid, $into);$held
    next();
  }
  ${prefix}_step(&policy, q, u);
  apply(u);
  Serial.print(now - start);
  for (int i = 0; i < ${PREFIX}_MEASURES; i++) {
    Serial.print(',');
    Serial.print((double)q[i], 6);
  }
  for (int i = 0; i < ${PREFIX}_INPUTS; i++) {
    Serial.print(',');
    Serial.print((double)u[i], 6);
  }
  Serial.println();
}
