// Graphile Worker. For throughput: a local queue of 500, completions in batches, 24 at once.
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import pg from "pg";
import { batches, count, instants, measure, now, printJson, printRates, until, url } from "./driving.mjs";

const SLOTS = 24;
const FASTEST = {
  worker: {
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
    concurrentJobs: SLOTS,
    maxPoolSize: SLOTS + 4,
  },
};

const logger = new Logger(() => () => {});
const pool = new pg.Pool({ connectionString: url, max: SLOTS + 6 });
pool.on("error", () => {});
await runMigrations({ pgPool: pool, logger });
const utils = await makeWorkerUtils({ pgPool: pool, logger });

async function empty() {
  const left = await pool.query("SELECT count(*)::int AS n FROM graphile_worker._private_jobs");
  return left.rows[0].n === 0;
}

async function work(options, task, taskDone) {
  const common = { pgPool: pool, noHandleSignals: true, logger, taskList: { [task]: taskDone } };
  return run({ ...common, ...options });
}

async function drain() {
  let began = now();
  for (const numbers of batches()) {
    await utils.addJobs(numbers.map((n) => ({ identifier: "noop", payload: { n } })));
  }
  const scheduled = now() - began;
  let ran = 0, finish;
  const done = new Promise((resolve) => (finish = resolve));
  began = now();
  const runner = await work({ preset: FASTEST }, "noop", async () => {
    if (++ran === count) finish();
  });
  await done;
  await until(empty);
  printRates(scheduled, now() - began);
  return runner;
}

async function spread() {
  const late = [];
  let finish;
  const done = new Promise((resolve) => (finish = resolve));
  const runner = await work({}, "timed", async ({ due }) => {
    if (late.push((Date.now() - due) / 1000) === count) finish();
  });
  const jobs = instants().map((due) => (
    { identifier: "timed", payload: { due }, runAt: new Date(due) }
  ));
  await utils.addJobs(jobs);
  await done;
  printJson({ late });
  return runner;
}

const runner = await (measure === "drain" ? drain() : spread());
await runner.stop();
await utils.release();
process.exit(0);
