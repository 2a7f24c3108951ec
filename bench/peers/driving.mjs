// What the drivers of Node share; how they are called: see driving.py.
export const BATCH = 1000;
const AHEAD = 3000;
const A_SECOND = 250;
const PAUSE = 10;

export const url = process.env.BENCH_URL;
export const [measure, count, seconds] = [process.argv[2], +process.argv[3], +process.argv[4]];

export function* batches() {
  for (let first = 0; first < count; first += BATCH) {
    const size = Math.min(BATCH, count - first);
    yield Array.from({ length: size }, (_, n) => first + n);
  }
}

export function instants() {
  const start = Date.now() + AHEAD + (count / A_SECOND) * 1000;
  return Array.from({ length: count }, () => start + Math.random() * seconds * 1000);
}

// Seconds since the clock of this process began.
export const now = () => performance.now() / 1000;

export async function until(empty) {
  while (!(await empty())) await new Promise((go) => setTimeout(go, PAUSE));
}

export const tell = (document) => console.log(JSON.stringify(document));

export const tellRates = (scheduled, drained) =>
  tell({ "schedule /s": count / scheduled, "drain /s": count / drained });
