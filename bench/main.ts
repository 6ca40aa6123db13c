// `npm run bench`: what a request costs in our process beside proxies that do nothing. What an image costs and does to
// chat beside it, and what a hold and its settlement cost in the books. docs/benchmarks.md has the arguments.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { booksTable, measureBooks } from "./books.ts";
import { blockingTable, measureBlocking } from "./blocking.ts";
import { bodiesTable, measureBodies } from "./bodies.ts";
import { checkOut } from "./checkout.ts";
import { type Count, countRequests, countsTable } from "./counts/counts.ts";
import { LIMITS } from "./counts/limits.ts";
import { consolesTable, measureConsoles } from "./consoles.ts";
import { shareCores } from "./cores.ts";
import { filledTable, measureFilled } from "./filled.ts";
import { interactionsTable, measureInteractions } from "./interactions.ts";
import { describeMachine } from "./machine.ts";
import { profileRequestPath } from "./profile-run.ts";
import { measureReaders, readersTable } from "./readers.ts";
import { measureReads, readsTable } from "./reads.ts";
import { measureRequestPath, requestPathTable } from "./request-path.ts";
import type { Pace } from "./request-path.ts";
import { scenesNamed } from "./scenes.ts";
import type { StageForm } from "./stage.ts";
import { measureTasks, tasksTable } from "./tasks.ts";
import { onTearDown, tearDown } from "./teardown.ts";

const NOTES = [
  "CPU is user + system time of the whole process, by rounds in turns after a warm-up that ends when three rounds have brought nothing; medians, in brackets the least and the most of a round; ratios are of rounds beside each other.",
  "Latency is of whole answers. A chunk is an event as the upstream writes it, 300 of content in a stream and up to 5 around them; a stream's fixed cost is in its chunks. In a burst each event is a write of its own, in large writes 50 share one.",
  "Ours does it all: authentication, validation, hold, settlement, durable SQLite, access log to a file. Bare proxy, tap (which reads each chunk of a stream and looks at nothing) and nginx get the body that ours sends upstream.",
  "An agent's request is one of a session with tools, calls and results that grows by a call with each request; instructions and tools are those of all sessions. Where each is new, no text was sent before.",
];

const TASK_NOTES = [
  "One gateway on SQLite and a folder, and a vendor in another process that has every answer and image ready; rounds in turns, medians, in brackets the least and the most; ratios are of rounds beside each other.",
  "A task is an image whose client waits: hold, queue, claim, call, file checked, hashed and made durable, settlement, answer. A poll reads a task that has ended and signs its URL.",
  "CPU is user + system time of the whole gateway; of the last row it includes that of the tasks behind.",
];

const BOOKS_NOTES = [
  "Each: a hold and its settlement, one after the other, by callers in the gateway's own process and nothing else in it; two transactions where one asks at a time, shared ones where several do.",
  "CPU is user + system time of all threads of the gateway's process, and of all processes of the PostgreSQL server; medians of rounds in turns, in brackets the least and the most. Not pinned to cores.",
  "A sync for each transaction; the disk's own is the median of a write of 4 KiB at a file's end and its fdatasync, measured between the rounds. PostgreSQL runs with fsync and its default settings, in the system's temporary folder.",
];

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      quick: { type: "boolean", default: false },
      profile: { type: "boolean", default: false },
      /** Only the scenes whose names contain one of these texts. */
      scene: { type: "string", multiple: true, default: [] },
      /** The books alone. */
      books: { type: "boolean", default: false },
      /** Tasks alone. */
      tasks: { type: "boolean", default: false },
      /** Many large bodies at once, and readers that stall, alone. */
      bodies: { type: "boolean", default: false },
      /** How long one body blocks other requests, alone. */
      blocking: { type: "boolean", default: false },
      /** What a request does, by number, beside what it may do. */
      counts: { type: "boolean", default: false },
      /** Plain chat on a store with this share of 100,000 accounts and 10,000,000 rows. */
      filled: { type: "string" },
      /** The reads of the console's screens on this filled home, or on the database of this address. */
      reads: { type: "string" },
      /** Requests beside open consoles, on such a store. */
      consoles: { type: "string" },
      /** What a user does with the console, in Chromium, on such a home. */
      interactions: { type: "string" },
      /** What drops the store's pages from memory before each cold read. */
      cold: { type: "string" },
      /** A commit whose gateway and books are measured in turns with ours. */
      compare: { type: "string" },
      /** Where the temporary folder with the gateway's home is made: the disk that is measured. */
      folder: { type: "string", default: tmpdir() },
    },
  });
  const scenes = scenesNamed(values.scene);
  const folder = mkdtempSync(join(values.folder, "switchyard-bench-"));
  onTearDown(() => rmSync(folder, { recursive: true, force: true }));
  const theirs = values.compare === undefined ? undefined : await checkOut(values.compare, folder);
  const cores = shareCores();
  const form: StageForm = { cores, folder, theirs };
  console.log(listed(describeMachine(folder, cores)));
  if (values.profile) return console.log(`\n${await profileRequestPath(scenes, form)}`);
  const report = (line: string): void => console.error(line);
  if (values.counts) return console.log(`\n${await countAll(folder)}`);
  if (values.blocking) return console.log(`\n${blockingTable(await measureBlocking(form, report))}`);
  if (values.bodies) {
    console.log(`\n${bodiesTable(await measureBodies(form, report))}`);
    console.log(`\n${readersTable(await measureReaders(form, report))}`);
    return;
  }
  if (values.reads !== undefined) {
    const reads = { ...form, store: values.reads, coldCommand: values.cold };
    return console.log(`\n${readsTable(await measureReads(reads, report))}`);
  }
  if (values.consoles !== undefined) {
    const rounds = await measureConsoles({ ...form, store: values.consoles }, report);
    return console.log(`\n${consolesTable(rounds)}`);
  }
  if (values.interactions !== undefined) {
    const measured = await measureInteractions({ ...form, store: values.interactions }, report);
    return console.log(`\n${interactionsTable(measured)}`);
  }
  const pace: Pace = values.quick ? "quick" : "full";
  if (values.filled !== undefined)
    return console.log(`\n${filledTable(await measureFilled(form, Number(values.filled), pace, report))}`);
  // An argument for one part leaves out the others.
  const isPart = values.books || values.tasks || values.scene.length > 0;
  if (!isPart || values.scene.length > 0) {
    const rows = await measureRequestPath(scenes, form, pace, report);
    console.log(`\n${requestPathTable(rows, theirs?.name)}\n\n${listed(NOTES)}`);
  }
  if (!isPart || values.tasks)
    console.log(`\n${tasksTable(await measureTasks(form, pace, report))}\n\n${listed(TASK_NOTES)}`);
  if (!isPart || values.books) {
    const books = await measureBooks({ folder, pace, theirs }, report);
    console.log(`\n${booksTable(books)}\n\n${listed(BOOKS_NOTES)}`);
  }
}

async function countAll(folder: string): Promise<string> {
  const counts: Count[] = [];
  for (const limit of LIMITS)
    counts.push(...(await countRequests(limit, mkdtempSync(join(folder, "counts-")))));
  return countsTable(counts);
}

function listed(lines: readonly string[]): string {
  return lines.map((line) => `- ${line}`).join("\n");
}

let stopping = false;
for (const [signal, code] of [
  ["SIGINT", 130],
  ["SIGTERM", 143],
] as const) {
  process.on(signal, () => {
    if (stopping) return;
    stopping = true;
    void tearDown().then(() => process.exit(code));
  });
}

try {
  await main();
} catch (error) {
  // A run that is stopped fails because its processes are torn down: that is no error.
  if (!stopping) {
    console.error(error);
    process.exitCode = 1;
  }
}
if (!stopping) await tearDown();
