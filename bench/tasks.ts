import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Gateway, startGateway } from "./gateway.ts";
import type { LoadResult } from "./load-client.ts";
import { median } from "./percentile.ts";
import { processCpuSeconds } from "./process-cpu.ts";
import { runLoadTool } from "./load-tool.ts";
import { startServer } from "./processes.ts";
import type { Pace } from "./request-path.ts";
import { type Round, spread, toRound } from "./rounds.ts";
import type { StageForm } from "./stage.ts";

/** What is asked of the gateway, and how many ask at once. */
interface Question {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body: unknown;
  readonly callers: number;
}

/** One line of the table: a load, and another that goes on behind it. */
export interface TaskRow {
  readonly name: string;
  readonly callers: number;
  readonly rounds: readonly Round[];
}

interface Scene extends Question {
  readonly name: string;
  readonly behind?: Question;
}

const CHAT = {
  method: "POST",
  path: "/api/v1/chat/completions",
  body: { model: "openai/gpt-5.6-luna", messages: [{ role: "user", content: "Hello." }] },
} as const;

const IMAGE_PATH = "/api/v1/images/generations";
const MIB = 1024 * 1024;

/** An image of so many bytes, that its client waits for unless it says `async`. */
function image(bytes: number, more: object = {}): Omit<Question, "callers"> {
  const body = { model: "openai/gpt-image-2", prompt: `${bytes} bytes`, quality: "low", ...more };
  return { method: "POST", path: IMAGE_PATH, body };
}

const PACES: Readonly<Record<Pace, { readonly rounds: number; readonly seconds: number }>> = {
  quick: { rounds: 2, seconds: 1 },
  full: { rounds: 5, seconds: 3 },
};

/** More than can be asked in a round. */
const REQUESTS = 100_000_000;

const WAIT_MS = 10_000;

/**
 * Measures tasks in one gateway on SQLite and a folder, with a vendor that has every image ready. It does so by rounds
 * in turns, beside plain chat in the same process. It tells `report` how far it has come.
 */
export async function measureTasks(
  form: StageForm,
  pace: Pace,
  report: (line: string) => void,
): Promise<TaskRow[]> {
  const folder = join(form.folder, "tasks");
  mkdirSync(join(folder, "home"), { recursive: true });
  // As many as ask at once, so that none waits for its turn.
  writeFileSync(join(folder, "home", "switchyard.yaml"), "tasks: { running_per_provider: 64 }\n");
  const maker = await startServer({
    on: form.cores.others,
    args: [join(import.meta.dir, "maker-server.ts")],
  });
  const gateway = await startGateway({
    folder,
    upstreamUrl: maker.url,
    on: form.cores.subject,
  });
  const scenes = scenesOf(await endedTask(gateway));
  const rows = scenes.map((scene) => ({ name: scene.name, callers: scene.callers, rounds: [] as Round[] }));
  const { rounds, seconds } = PACES[pace];
  for (let round = 0; round <= rounds; round++) {
    report(round === 0 ? "tasks: warm-up …" : `tasks: round ${round} of ${rounds} …`);
    for (const [i, scene] of scenes.entries()) {
      const measured = await measureRound({ gateway, form, folder }, scene, seconds);
      if (round > 0) rows[i]?.rounds.push(measured);
    }
  }
  for (const child of [gateway, maker]) await child.stop();
  return rows;
}

function scenesOf(taskId: string): Scene[] {
  const chat = { ...CHAT, callers: 16 };
  return [
    { name: "chat, plain", ...chat },
    { name: "tasks, images of 1 KiB", ...image(1_024), callers: 16 },
    { name: "tasks, images of 4 MiB", ...image(4 * MIB), callers: 4 },
    {
      name: "polls of an ended task",
      method: "GET",
      path: `${IMAGE_PATH}/${taskId}`,
      body: "",
      callers: 16,
    },
    {
      name: "chat, while one image of 4 MiB after the other is made",
      ...chat,
      behind: { ...image(4 * MIB), callers: 1 },
    },
  ];
}

interface Place {
  readonly gateway: Gateway;
  readonly form: StageForm;
  readonly folder: string;
}

async function measureRound(place: Place, { behind, ...scene }: Scene, seconds: number): Promise<Round> {
  const { pid } = place.gateway;
  const before = processCpuSeconds(pid);
  // What goes on behind does so from before the first request until after the last.
  const aside = behind === undefined ? undefined : load(place, behind, seconds + 1);
  if (aside !== undefined) await Bun.sleep(500);
  const result = await load(place, scene, seconds);
  await aside;
  return toRound(processCpuSeconds(pid) - before, result.requests, result);
}

let bodies = 0;

async function load(
  { gateway, form, folder }: Place,
  { method, path, body, callers }: Question,
  seconds: number,
): Promise<LoadResult> {
  bodies += 1;
  const bodyFile = join(folder, `body-${bodies}.json`);
  writeFileSync(bodyFile, body === "" ? "" : JSON.stringify(body));
  const options = {
    method,
    url: gateway.url + path,
    bearer: gateway.key,
    "body-file": bodyFile,
    concurrency: callers,
    requests: REQUESTS,
    seconds,
  };
  return runLoadTool({ name: path, options, on: form.cores.others });
}

/** The id of a task that has its image. */
async function endedTask({ url, key }: Gateway): Promise<string> {
  const ask = async (path: string, init: RequestInit = {}): Promise<{ id: string; status: string }> => {
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const answer = await fetch(url + path, { ...init, headers });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as { id: string; status: string };
  };
  const { id } = await ask(IMAGE_PATH, {
    method: "POST",
    body: JSON.stringify(image(1_024, { async: true }).body),
  });
  for (const deadline = performance.now() + WAIT_MS; performance.now() < deadline; await Bun.sleep(50)) {
    const { status } = await ask(`${IMAGE_PATH}/${id}`);
    if (status === "completed") return id;
    if (status === "failed") break;
  }
  throw new Error("the task of the benchmark was not completed");
}

const HEAD = [
  "what",
  "at once",
  "each second",
  "CPU µs for each",
  "beside plain chat (min–max)",
  "ms p50 / p99",
  "p99 beside plain chat",
];

/** The rows as a table in Markdown; the first is what the others are held against, round by round. */
export function tasksTable(rows: readonly TaskRow[]): string {
  const [chat] = rows;
  const lines = [HEAD, HEAD.map(() => "---"), ...rows.map((row) => cells(row, chat?.rounds ?? []))];
  return lines.map((line) => `| ${line.join(" | ")} |`).join("\n");
}

function cells({ name, callers, rounds }: TaskRow, chat: readonly Round[]): string[] {
  const middle = (figure: keyof Round): number => median(rounds.map((round) => round[figure]));
  const beside = (figure: keyof Round): string => {
    const ratios = rounds.map((round, i) => round[figure] / (chat[i]?.[figure] ?? Number.NaN));
    const { median: value, min, max } = spread(ratios);
    return `${value.toFixed(2)} (${min.toFixed(2)}–${max.toFixed(2)})`;
  };
  return [
    name,
    String(callers),
    middle("requestsPerSecond").toFixed(0),
    middle("cpuUs").toFixed(0),
    beside("cpuUs"),
    `${middle("p50Ms").toFixed(1)} / ${middle("p99Ms").toFixed(1)}`,
    beside("p99Ms"),
  ];
}
