// Functions shared by the drivers for Node; driving.py says how drivers are called.
export const BATCH = 1000;
const HEAD_START_MS = 3000;
const SCHEDULED_PER_SECOND = 250;
const POLL_MS = 10;

export const url = process.env.BENCH_URL;
export const [measure, count, seconds] = [process.argv[2], +process.argv[3], +process.argv[4]];

export function* batches() {
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    yield Array.from({ length: size }, (_, n) => first + n);
  }
}

export function instants() {
  const start = Date.now() + HEAD_START_MS + (count / SCHEDULED_PER_SECOND) * 1000;
  return Array.from({ length: count }, () => start + Math.random() * seconds * 1000);
}

// Seconds since this process started.
export const now = () => performance.now() / 1000;

export async function until(empty) {
  while (!(await empty())) await new Promise((go) => setTimeout(go, POLL_MS));
}

export const printJson = (document) => console.log(JSON.stringify(document));

export const printRates = (scheduled, drained) =>
  printJson({ "schedule /s": count / scheduled, "drain /s": count / drained });
