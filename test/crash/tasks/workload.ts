import { parseCredits } from "../../../src/core/money/credits.ts";
import { type Answer, jsonAnswer } from "../../upstream/answer.ts";
import type { WorkScript } from "../../upstream/media/media-double.ts";
import type { SeenRequest } from "../../upstream/seen-request.ts";

/** A task that a client asks for; its label is the prompt, by which the double knows it again. */
export interface TaskPlan {
  readonly label: string;
  readonly kind: "image" | "video";
  /** How many images. */
  readonly n: number;
  /** The answer waits for the end. Images only. */
  readonly waits: boolean;
  readonly fails: boolean;
  /** The provider of the first route refuses it once. */
  readonly busy: boolean;
  /** The client asks at once for it to be cancelled. */
  readonly cancels: boolean;
}

/** What its client was told. */
export interface ToldTask {
  readonly plan: TaskPlan;
  readonly account: string;
  id: string | undefined;
  /** The status of the answer to the cancel. */
  cancel: number | undefined;
  /** The end that was read, and what it was said to cost, in micro-credits. */
  end: string | undefined;
  credit: bigint | undefined;
  /** The provider of which it was unknown whether it has the task when the gateway died; absent: none. */
  inDoubtAt?: string;
}

/** What a client asks with. */
export interface TaskClient {
  readonly url: string;
  readonly account: string;
  readonly key: string;
}

/** Micro-credits of an image and of a video of five seconds of 720p. */
const PRICE = { image: 350_000_000n, video: 5_000_000_000n } as const;

/** What the task costs when it completes. */
export function priceOf({ kind, n }: TaskPlan): bigint {
  return PRICE[kind] * BigInt(n);
}

/** How the provider goes about work with this prompt. */
export function scriptOf(label: string): WorkScript {
  return label.startsWith("fails") ? { fails: { code: "DataInspectionFailed", message: "double" } } : {};
}

/** Plans of one run: every kind of task, so that each step is come to by some of them. */
export function planTasks(run: string, random: () => number, routes: number): readonly TaskPlan[] {
  const kinds: readonly Partial<TaskPlan>[] = [
    { kind: "video" },
    { kind: "image", n: 1 + Math.floor(random() * 4) },
    { kind: "image", waits: true },
    { kind: "video", fails: true },
    { kind: "image", fails: true },
    { kind: "video", cancels: true },
    { kind: "image", cancels: true },
  ];
  // Where there is a second route, all but the last need it.
  return kinds.map((each, i) => planOf({ ...each, busy: routes > 1 && i < kinds.length - 1 }, `${run}-${i}`));
}

function planOf(given: Partial<TaskPlan>, name: string): TaskPlan {
  const label = `${given.fails === true ? "fails" : "good"}-${given.busy === true ? "busy" : "free"}-${name}`;
  return { label, kind: "image", n: 1, waits: false, fails: false, busy: false, cancels: false, ...given };
}

/** The label of a task in a request to a provider; `undefined` where it begins none. */
export function labelIn({ method, bodyText }: SeenRequest): string | undefined {
  return method === "POST" ? /(?:good|fails)-(?:busy|free)-\d+-\d+/.exec(bodyText)?.[0] : undefined;
}

/** The first answer to a task that finds its provider busy. */
export const BUSY: Answer = jsonAnswer(429, {
  code: "Throttling",
  message: "Too many.",
  request_id: "double",
});

const PATHS = { image: "/api/v1/images/generations", video: "/api/v1/videos" } as const;
const MODELS = { image: "alibaba/qwen-image-2.0", video: "alibaba/wan-2.6" } as const;

/** Submits the task and polls it until it has ended, or the gateway does not answer any more. */
export async function runTask(client: TaskClient, plan: TaskPlan, journal: ToldTask[]): Promise<void> {
  const told: ToldTask = {
    plan,
    account: client.account,
    id: undefined,
    cancel: undefined,
    end: undefined,
    credit: undefined,
  };
  journal.push(told);
  try {
    const answer = await ask(client, "POST", PATHS[plan.kind], {
      model: MODELS[plan.kind],
      prompt: plan.label,
      ...(plan.kind === "image" ? { n: plan.n, size: "512*512", async: !plan.waits } : {}),
    });
    if (plan.waits) {
      if (answer.status === 200) Object.assign(told, { end: "completed", credit: creditOf(answer.json) });
      return;
    }
    if (answer.status !== 202) throw new Error(`The task was answered with ${answer.status}.`);
    told.id = (answer.json as { readonly id: string }).id;
    if (plan.cancels) told.cancel = (await ask(client, "POST", `${pathOf(told)}/cancel`)).status;
    await poll(client, told);
  } catch (error) {
    // No answer: the gateway was killed. The journal has what it told until then.
    if (!(error instanceof TypeError) && !isCutOff(error)) throw error;
  }
}

async function poll(client: TaskClient, told: ToldTask): Promise<void> {
  for (let polls = 0; polls < 600; polls += 1) {
    const { status, json } = await ask(client, "GET", pathOf(told));
    if (status !== 200) throw new Error(`The task was read with ${status}.`);
    const task = json as { readonly status: string };
    if (task.status !== "pending" && task.status !== "running") {
      told.end = task.status;
      told.credit = creditOf(json);
      return;
    }
    await Bun.sleep(100);
  }
}

/** The path of a task that its client knows. */
export function pathOf({ id, plan }: ToldTask): string {
  return `${PATHS[plan.kind]}/${id}`;
}

function creditOf(json: unknown): bigint | undefined {
  const { credit } = json as { readonly credit?: number };
  return credit === undefined ? undefined : parseCredits(credit);
}

/** A request of the client; rejects without an answer. */
export async function ask(
  { url, key }: TaskClient,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly json: unknown }> {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: await response.json() };
}

function isCutOff(error: unknown): boolean {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  return /^(ECONN|Connection|FailedToOpenSocket|UND_ERR)/.test(code) || error instanceof SyntaxError;
}
