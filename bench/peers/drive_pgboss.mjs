// pg-boss. A loop of fetch and complete, 500 at a time, is fastest.
import * as library from "pg-boss";
import pg from "pg";
import { batches, now, printRates, until, url } from "./driving.mjs";

const FASTEST = 500;
const PgBoss = library.PgBoss ?? library.default;
const boss = new PgBoss({ connectionString: url, max: 10 });
const pool = new pg.Pool({ connectionString: url, max: 1 });
boss.on("error", () => {});
await boss.start();
await boss.createQueue("noop");

async function empty() {
  const left = "SELECT count(*)::int AS n FROM pgboss.job WHERE name = 'noop' AND state < 'completed'";
  return (await pool.query(left)).rows[0].n === 0;
}

let began = now();
for (const numbers of batches()) {
  await boss.insert(numbers.map((n) => ({ name: "noop", data: { n } })));
}
const scheduled = now() - began;
began = now();
for (;;) {
  const jobs = await boss.fetch("noop", { batchSize: FASTEST });
  if (!jobs.length) break;
  await boss.complete("noop", jobs.map((job) => job.id));
}
await until(empty);
printRates(scheduled, now() - began);
await boss.stop({ graceful: false });
process.exit(0);
