import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Checkout } from "./checkout.ts";
import type { Cores } from "./cores.ts";
import { type Gateway, GRANT, startGateway } from "./gateway.ts";
import type { LoadResult } from "./load-client.ts";
import { runLoadTool } from "./load-tool.ts";
import { startNginx } from "./nginx.ts";
import { type Server, startServer } from "./processes.ts";
import type { RoundBounds, Subject } from "./rounds.ts";
import { requestOf, type Scene, type SceneLoad, type SceneRequest, streamEvents } from "./scenes.ts";

/** What all scenes have in common. */
export interface StageForm {
  readonly cores: Cores;
  /** A temporary folder for all that this run writes. */
  readonly folder: string;
  /** A commit whose gateway is measured beside ours. */
  readonly theirs: Checkout | undefined;
}

/** An upstream and all that is measured in front of it, running. */
export interface Stage {
  /** Each as it is loaded so. */
  subjects(load: SceneLoad): Subject[];
  /** Credits charged for each request to our gateway so far; throws when there was no charge or a hold was left. */
  charged(): Promise<number>;
  close(): Promise<void>;
}

/** What is measured in turns. `theirs` is the gateway of another commit. */
export type SubjectName = "bare" | "tap" | "nginx" | "ours" | "theirs";

/** How a subject is asked. */
interface Target {
  readonly url: string;
  readonly bearer: string;
  readonly bodyFile: string;
  readonly endMark: string;
  /** Events that each of its streams has at least. */
  readonly events: number;
}

interface Measured {
  readonly name: SubjectName;
  readonly pid: number;
  readonly target: Target;
}

const PLAIN_END = "}";

/** Starts everything that a scene needs; `gatewayFlags` are further flags of Bun for our gateway. */
export async function openStage(
  scene: Scene,
  form: StageForm,
  gatewayFlags: readonly string[] = [],
): Promise<Stage> {
  const folder = join(form.folder, scene.name.replaceAll(/\W+/g, "-"));
  mkdirSync(folder, { recursive: true });
  const request = requestOf(scene);
  const parts = await startParts(scene, request, { ...form, folder }, gatewayFlags);
  const measured = targetsOf(scene, request, folder, parts);
  let answered = 0;

  const load = async (
    { name, target }: Measured,
    { atOnce, perSecond }: SceneLoad,
    bounds: RoundBounds,
  ): Promise<LoadResult> => {
    const options = {
      mode: scene.mode.stream ? "stream" : "plain",
      "end-mark": target.endMark,
      url: target.url,
      bearer: target.bearer,
      "body-file": target.bodyFile,
      concurrency: atOnce,
      ...(perSecond === undefined ? {} : { "per-second": perSecond }),
      ...bounds,
    };
    const result = await runLoadTool({ name: `${scene.name}, ${name}`, options, on: form.cores.others });
    if (result.events < result.requests * target.events)
      throw new Error(`${scene.name}: ${result.events} events in ${result.requests} streams: some were lost`);
    if (name === "ours") answered += result.requests;
    return result;
  };
  return {
    subjects: (loaded) =>
      measured.map((one) => ({
        name: one.name,
        pid: one.pid,
        load: (bounds) => load(one, loaded, bounds),
      })),
    charged: async () => {
      const spent = GRANT - (await parts.ours.balance());
      if (spent <= 0) throw new Error(`the gateway charged ${spent} credits for ${answered} requests`);
      return spent / answered;
    },
    close: async () => {
      const { double, ours, bare, tap, nginx, theirs } = parts;
      for (const child of [ours, theirs, nginx, tap, bare, double]) await child?.stop();
    },
  };
}

interface Parts {
  readonly double: Server;
  readonly bare: Server;
  readonly tap: Server | undefined;
  readonly nginx: Server | undefined;
  readonly ours: Gateway;
  readonly theirs: Gateway | undefined;
}

async function startParts(
  { spoken, mode }: Scene,
  { upstreamPath }: SceneRequest,
  { cores, folder, theirs }: StageForm,
  flags: readonly string[],
): Promise<Parts> {
  const on = cores.subject;
  const answers = ["--format", spoken.name, "--path", upstreamPath, ...mode.upstream];
  const double = await startServer({
    on: cores.others,
    args: [fileHere("../test/upstream/double-server.ts"), ...answers],
  });
  const proxy = (kind: string) =>
    startServer({ on, args: [fileHere("bare-proxy.ts"), `${double.url}${upstreamPath}`, kind] });
  const gateway = (name: string, more: { checkout?: string; flags?: readonly string[] }) =>
    startGateway({ folder: join(folder, name), upstreamUrl: double.url, on, ...more });
  return {
    double,
    bare: await proxy("bare"),
    // The tap differs from the bare proxy in streams alone.
    tap: mode.stream ? await proxy("tap") : undefined,
    nginx: await startNginx({ folder: join(folder, "nginx"), upstreamUrl: double.url, on }),
    ours: await gateway("ours", { flags }),
    theirs: theirs === undefined ? undefined : await gateway("theirs", { checkout: theirs.root }),
  };
}

/** The bare ones are asked with the body that the gateway sends upstream. */
function targetsOf(scene: Scene, request: SceneRequest, folder: string, parts: Parts): Measured[] {
  const { asked, spoken, mode } = scene;
  const written = (name: string, bodies: readonly Uint8Array[]): string => {
    const file = join(folder, name);
    writeFileSync(file, linesOf(bodies));
    return file;
  };
  const events = mode.stream ? streamEvents(scene) : 0;
  const upstream = {
    bearer: "sk-bench",
    bodyFile: written("upstream.json", request.upstreamBodies),
    endMark: mode.stream ? spoken.streamEnd : PLAIN_END,
    events,
  };
  const client = {
    bodyFile: written("client.json", request.clientBodies),
    endMark: mode.stream ? asked.streamEnd : PLAIN_END,
    // The formats differ in what stands around the content.
    events: asked === spoken ? events : Math.max(0, events - spoken.eventsAround),
  };
  const { bare, tap, nginx, ours, theirs } = parts;
  const proxied = (name: SubjectName, { pid }: Server, url: string): Measured[] => [
    { name, pid, target: { ...upstream, url } },
  ];
  const served = (name: SubjectName, { pid, url, key }: Gateway): Measured[] => [
    { name, pid, target: { ...client, url: url + request.clientPath, bearer: key } },
  ];
  return [
    ...proxied("bare", bare, bare.url),
    ...(tap === undefined ? [] : proxied("tap", tap, tap.url)),
    ...(nginx === undefined ? [] : proxied("nginx", nginx, nginx.url + request.upstreamPath)),
    ...(theirs === undefined ? [] : served("theirs", theirs)),
    ...served("ours", ours),
  ];
}

/** Bodies as the load tool reads them. */
export function linesOf(bodies: readonly Uint8Array[]): string {
  return bodies.map((body) => new TextDecoder().decode(body)).join("\n");
}

function fileHere(name: string): string {
  return join(import.meta.dir, name);
}
