// `npm run bench [-- --quick] [-- --profile] [-- --books] [-- --tasks] [-- --bodies] [-- --blocking] [-- --format messages] [-- --mode burst]`: what a request costs in our process, beside a bare proxy on
// the same runtime, what an image costs and does to chat beside it, and what its hold and settlement cost in the books, beside the disk's own sync.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { booksTable, measureBooks } from "./books.ts";
import { blockingTable, measureBlocking } from "./blocking.ts";
import { bodiesTable, measureBodies } from "./bodies.ts";
import { shareCores } from "./cores.ts";
import { formatsNamed } from "./formats.ts";
import { describeMachine } from "./machine.ts";
import { profileRequestPath } from "./profile-run.ts";
import { measureReaders, readersTable } from "./readers.ts";
import { measureRequestPath, requestPathTable } from "./request-path.ts";
import type { Pace } from "./request-path.ts";
import { modesNamed, type StageForm } from "./stage.ts";
import { measureTasks, tasksTable } from "./tasks.ts";
import { onTearDown, tearDown } from "./teardown.ts";

const NOTES = [
  "CPU is user + system time of the whole process, by rounds in turns (bare, ours, bare, …) after a warm-up; medians, in brackets the least and the most of a round; the ratio is of rounds beside each other.",
  "Latency is of whole answers at full load. A chunk is an event as the upstream writes it, 300 of content in a stream and up to 5 around them; a stream's fixed cost is in its chunks.",
  "Ours does it all: authentication, validation, hold, settlement, durable SQLite, access log to a file. The bare proxy gets the body that ours sends upstream.",
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
      /** Only these formats: chat, messages, generate. */
      format: { type: "string", multiple: true, default: [] },
      /** Only these modes: plain, stream, burst. */
      mode: { type: "string", multiple: true, default: [] },
      /** The books alone. */
      books: { type: "boolean", default: false },
      /** Tasks alone. */
      tasks: { type: "boolean", default: false },
      /** Many large bodies at once, and readers that stall, alone. */
      bodies: { type: "boolean", default: false },
      /** How long one body blocks other requests, alone. */
      blocking: { type: "boolean", default: false },
      /** With `--books`: the entry file of a gateway of another checkout, measured in turns with this one. */
      beside: { type: "string" },
      /** The entry file of the gateway, to measure another checkout or a stand-in. */
      gateway: { type: "string", default: join(import.meta.dir, "../src/main.ts") },
      /** Where the temporary folder with the gateway's home is made: the disk that is measured. */
      folder: { type: "string", default: tmpdir() },
    },
  });
  const folder = mkdtempSync(join(values.folder, "switchyard-bench-"));
  onTearDown(() => rmSync(folder, { recursive: true, force: true }));
  const cores = shareCores();
  const form: StageForm = { cores, folder, gatewayEntry: resolve(values.gateway), gatewayFlags: [] };
  const modes = modesNamed(values.mode);
  const scenes = formatsNamed(values.format).flatMap((format) => modes.map((mode) => ({ format, mode })));
  console.log(listed(describeMachine(folder, cores)));
  if (values.profile) return console.log(`\n${await profileRequestPath(scenes, form)}`);
  const report = (line: string): void => console.error(line);
  if (values.blocking) return console.log(`\n${blockingTable(await measureBlocking(form, report))}`);
  if (values.bodies) {
    console.log(`\n${bodiesTable(await measureBodies(form, report))}`);
    console.log(`\n${readersTable(await measureReaders(form, report))}`);
    return;
  }
  const pace: Pace = values.quick ? "quick" : "full";
  if (!values.books && !values.tasks) {
    const rows = await measureRequestPath(scenes, form, pace, report);
    console.log(`\n${requestPathTable(rows)}\n\n${listed(NOTES)}`);
  }
  // An argument for one part of the table leaves out the parts behind it.
  const isPart = values.format.length + values.mode.length > 0;
  if (values.tasks || (!values.books && !isPart))
    console.log(`\n${tasksTable(await measureTasks(form, pace, report))}\n\n${listed(TASK_NOTES)}`);
  if (!values.books && (values.tasks || isPart)) return;
  const gatewayEntries = [values.gateway, ...(values.beside === undefined ? [] : [values.beside])];
  const books = await measureBooks(
    { folder, pace, gatewayEntries: gatewayEntries.map((entry) => resolve(entry)) },
    report,
  );
  console.log(`\n${booksTable(books)}\n\n${listed(BOOKS_NOTES)}`);
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
