import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { markdownTable } from "./figures/table.ts";
import { startGateway } from "./gateway.ts";
import { runLoadTool } from "./load-tool.ts";
import { startServer } from "./processes.ts";
import { type Comparison, compare, type RoundPlan, shown, spread, type Subject, warmUp } from "./rounds.ts";
import { requestOf, scenesNamed } from "./scenes.ts";
import { linesOf, type StageForm } from "./stage.ts";

/** Requests to a gateway on a filled home: with no console, with ten, and with none again, in turns. */
export interface ConsolesForm extends StageForm {
  readonly store: string;
}

const CONSOLES = 10;
const PER_SECOND = 200;
/** Long enough for each read of the consoles. */
const PLAN: RoundPlan = {
  rounds: 5,
  seconds: 15,
  warmUp: { roundSeconds: 1, mostSeconds: 20 },
  units: ({ requests }) => requests,
};
const READS_WARM_UP = { roundSeconds: 10, mostSeconds: 60 };
const NAMES = { none: "no console", ten: `${CONSOLES} consoles`, again: "no console, again" } as const;

/** Measures them on a gateway that is not pinned: its thread for reads has a core where one is free. */
export async function measureConsoles(
  form: ConsolesForm,
  report: (line: string) => void,
): Promise<Comparison> {
  const [scene] = scenesNamed(["chat plain"]);
  if (scene === undefined) throw new Error("there is no scene chat plain");
  const request = requestOf(scene);
  const bodyFile = join(form.folder, "consoles.json");
  writeFileSync(bodyFile, linesOf(request.clientBodies));
  const double = await startServer({
    on: [],
    args: [join(import.meta.dir, "../test/upstream/double-server.ts"), ...scene.mode.upstream],
  });
  const isUrl = form.store.includes("://");
  const gateway = await startGateway({
    folder: form.folder,
    upstreamUrl: double.url,
    on: [],
    ...(isUrl ? { env: { DATABASE_URL: form.store } } : { home: form.store }),
  });
  const subject = (name: string, consoles: number): Subject => ({
    name,
    pid: gateway.pid,
    async load(bounds) {
      const entry = join(import.meta.dir, "open-consoles.ts");
      const args = [entry, "--url", gateway.url, "--token", gateway.token, "--count", String(consoles)];
      const open = consoles === 0 ? undefined : await startServer({ on: [], args });
      const options = { url: gateway.url + request.clientPath, bearer: gateway.key, "body-file": bodyFile };
      const load = { ...options, concurrency: 64, "per-second": PER_SECOND, ...bounds };
      const result = await runLoadTool({ name, options: load, on: [] });
      await open?.stop();
      return result;
    },
  });
  report("warming up …");
  await warmUp(subject(NAMES.none, 0), PLAN);
  // The thread for reads compiles what it runs often, for a minute or so.
  await warmUp(subject(NAMES.ten, CONSOLES), { ...PLAN, warmUp: READS_WARM_UP });
  const rounds = await compare(
    [subject(NAMES.none, 0), subject(NAMES.ten, CONSOLES), subject(NAMES.again, 0)],
    PLAN,
  );
  for (const child of [gateway, double]) await child.stop();
  return rounds;
}

/** The rounds as a table in Markdown. */
export function consolesTable(rounds: Comparison): string {
  return [
    `Plain chat at ${PER_SECOND} a second; CPU of the whole process, its reads for the consoles included. Medians of ${PLAN.rounds} rounds of ${PLAN.seconds} s in turns, in brackets the least and the most.`,
    "",
    markdownTable(
      ["open", "CPU µs for each request", "p50 ms", "p99 ms"],
      Object.values(NAMES).map((name) => {
        const of = rounds[name] ?? [];
        return [
          name,
          shown(spread(of.map(({ cpuUs }) => cpuUs)), 0),
          shown(spread(of.map(({ p50Ms }) => p50Ms)), 1),
          shown(spread(of.map(({ p99Ms }) => p99Ms)), 1),
        ];
      }),
    ),
  ].join("\n");
}
