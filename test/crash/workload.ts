import { parseCredits } from "../../src/core/money/credits.ts";
import type { Answer } from "../upstream/answer.ts";
import { jsonAnswer } from "../upstream/answer.ts";
import { chatAnswer, chatStreamAnswer } from "../upstream/chat-bytes.ts";
import { finAt } from "../upstream/faults.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sseData } from "../upstream/sse-bytes.ts";
import { FALLBACK, MODEL, SECOND_PATH, type Tenant, type Told, type ToldChat, type Way } from "./told.ts";

/** What a chat asks of the double; it travels as the message's text, so that the answer follows from the request. */
interface ChatPlan {
  /** Tells chats apart. */
  readonly label: string;
  readonly stream: boolean;
  readonly words: number;
  readonly prompt: number;
  readonly completion: number;
  /** Between two events of a stream, or before a plain answer. */
  readonly pauseMs: number;
  readonly fault: "none" | "status" | "cut";
  /** Who refuses it: the model's first route, so that the second serves, or both, so that the other model does. */
  readonly refusedBy: "none" | "first" | "both";
  /** The client leaves: at once, or after the first bytes. */
  readonly leaves: "never" | "at once" | "after first bytes";
}

/** The answer of the double to a call for a chat, which the journal has from here on, and which call for it this is. */
export function answerTo(
  request: SeenRequest,
  told: readonly Told[],
): { readonly answer: Answer; readonly call: number } {
  const body = request.json() as {
    readonly model: string;
    readonly messages: readonly { readonly content: string }[];
  };
  const plan = JSON.parse(body.messages[0]?.content ?? "{}") as ChatPlan;
  const way = wayOf(request.target, body.model);
  const calls = told.find(
    (entry): entry is ToldChat => entry.kind === "chat" && entry.label === plan.label,
  )?.calls;
  return { answer: answerOf(plan, way), call: calls?.push(way) ?? 0 };
}

function wayOf(target: string, model: string): Way {
  if (target.startsWith(SECOND_PATH)) return "second";
  return FALLBACK.endsWith(`/${model}`) ? "fallback" : "first";
}

function answerOf(plan: ChatPlan, way: Way): Answer {
  const { fault, refusedBy } = plan;
  const isRefused = way === "first" ? refusedBy !== "none" : way === "second" && refusedBy === "both";
  if (isRefused) return jsonAnswer(429, { error: { message: "too many" } });
  if (fault === "status") return jsonAnswer(500, { error: { message: "broken", type: "server_error" } });
  const form = {
    words: Array.from({ length: plan.words }, (_, i) => `word${i} `),
    usage: {
      prompt_tokens: plan.prompt,
      completion_tokens: plan.completion,
      total_tokens: plan.prompt + plan.completion,
    },
  };
  if (!plan.stream) {
    const answer = chatAnswer(form, { marks: [{ at: "start", pauseMs: plan.pauseMs }] });
    return fault === "cut" ? finAt(answer, "head-end") : answer;
  }
  const answer = chatStreamAnswer(form, { pauseMs: plan.pauseMs });
  return fault === "cut" ? finAt(answer, 600) : answer;
}

let goodChats = 0;

/** A chat that ends well unless the gateway is killed. */
export function goodChat(stream: boolean): ChatPlan {
  return {
    label: `good-${(goodChats += 1)}`,
    stream,
    words: 4,
    prompt: 21,
    completion: 7,
    pauseMs: 2,
    fault: "none",
    refusedBy: "none",
    leaves: "never",
  };
}

/** What a workload runs with. */
export interface Workload {
  readonly url: string;
  readonly adminToken: string;
  readonly tenants: readonly Tenant[];
  readonly random: () => number;
  /** Where every client writes down what it was told; grows over the life of an installation. */
  readonly told: Told[];
  /** Called when a chat has been read to its end. */
  readonly onAnswered?: () => void;
}

/** Up to twenty clients at once, each with a few requests after one another. Ends when all have ended, however. */
export async function runWorkload(workload: Workload): Promise<void> {
  const { random } = workload;
  const clients = 1 + Math.floor(random() * 20);
  const plans = Array.from({ length: clients }, () =>
    Array.from({ length: 1 + Math.floor(random() * 3) }, () => planOne(workload)),
  );
  await Promise.all(
    plans.map(async (steps) => {
      for (const step of steps) await step();
    }),
  );
}

/** Chance is asked when the plan is made and never while it runs: a seed gives the same requests again. */
function planOne(workload: Workload): () => Promise<void> {
  const { random, tenants } = workload;
  const tenant = pick(tenants, random);
  const kind = random();
  const label = Math.floor(random() * 1e15).toString(36);
  const amount = BigInt(1 + Math.floor(random() * 5_000_000));
  const plan = planChat(label, random);
  if (kind < 0.7) return () => chat(workload, tenant, plan);
  if (kind < 0.85) return () => grant(workload, tenant, `crash-${label}`, amount);
  if (kind < 0.93) return () => issue(workload, tenant, label);
  return () => revokeLatest(workload);
}

function planChat(label: string, random: () => number): ChatPlan {
  const leaving = random();
  const failing = random();
  const refusing = random();
  return {
    label,
    stream: random() < 0.6,
    words: 1 + Math.floor(random() * 8),
    prompt: 5 + Math.floor(random() * 40),
    completion: 1 + Math.floor(random() * 40),
    pauseMs: Math.floor(random() * 4),
    fault: failing < 0.08 ? "status" : failing < 0.16 ? "cut" : "none",
    refusedBy: refusing < 0.1 ? "both" : refusing < 0.25 ? "first" : "none",
    leaves: leaving < 0.1 ? "at once" : leaving < 0.2 ? "after first bytes" : "never",
  };
}

function pick<Item>(items: readonly Item[], random: () => number): Item {
  return items[Math.floor(random() * items.length)] as Item;
}

/** The ways that are tried for it, where none is cut short. */
function waysOf({ fault, refusedBy }: ChatPlan): readonly Way[] {
  if (fault === "status" || refusedBy === "both") return ["first", "second", "fallback"];
  return refusedBy === "first" ? ["first", "second"] : ["first"];
}

/** One chat: what it was told stands in the journal from before it was sent. */
export async function chat(workload: Workload, tenant: Tenant, plan: ChatPlan): Promise<void> {
  const told: ToldChat = {
    kind: "chat",
    label: plan.label,
    ways: waysOf(plan),
    calls: [],
    account: tenant.account,
    requestId: undefined,
    status: undefined,
    credit: undefined,
    whole: false,
    expected:
      plan.fault === "none" && plan.leaves === "never"
        ? { input: plan.prompt, output: plan.completion }
        : undefined,
  };
  workload.told.push(told);
  const controller = new AbortController();
  if (plan.leaves === "at once") setTimeout(() => controller.abort(), 1 + plan.pauseMs);
  try {
    const response = await fetch(`${workload.url}/api/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${tenant.key}`, "content-type": "application/json" },
      body: JSON.stringify({
        model: MODEL,
        stream: plan.stream,
        max_tokens: 64,
        messages: [{ role: "user", content: JSON.stringify(plan) }],
      }),
      signal: controller.signal,
    });
    told.requestId = response.headers.get("x-request-id") ?? undefined;
    told.status = response.status;
    let text = "";
    const decoder = new TextDecoder();
    const reader = response.body?.getReader();
    for (;;) {
      const part = await reader?.read();
      if (part === undefined || part.done) break;
      text += decoder.decode(part.value, { stream: true });
      told.credit = creditIn(text, plan.stream);
      if (plan.leaves === "after first bytes") controller.abort();
    }
    // A stream that broke says so before its end mark.
    told.whole = response.ok && !text.includes('data: {"error":');
    if (response.ok) workload.onAnswered?.();
  } catch {
    // Killed, or the client has left: what it was told until then stands in the journal.
  }
}

/** The credit that the client has read by now. */
function creditIn(text: string, stream: boolean): bigint | undefined {
  const values = stream ? sseData(text).filter((data) => data !== "[DONE]") : [text];
  for (const value of values) {
    try {
      const credit = (JSON.parse(value) as { readonly credit?: number }).credit;
      if (credit !== undefined) return parseCredits(credit);
    } catch {
      // Not whole yet.
    }
  }
  return undefined;
}

/** Gives credit under an idempotency key; `true` once it was acknowledged. */
async function grant(workload: Workload, tenant: Tenant, key: string, amount: bigint): Promise<void> {
  const told = { kind: "grant", account: tenant.account, key, amount, acknowledged: false } as const;
  const entry: Told = { ...told };
  workload.told.push(entry);
  if (await sendGrant(workload, entry)) Object.assign(entry, { acknowledged: true });
}

/** Sends a grant, for the first time or again. */
export async function sendGrant(
  target: Pick<Workload, "url" | "adminToken">,
  { account, key, amount }: { readonly account: string; readonly key: string; readonly amount: bigint },
): Promise<boolean> {
  const answer = await admin(target, "POST", `/accounts/${account}/credits`, {
    amount: Number(amount) / 1e6,
    reason: "crash test",
    idempotency_key: key,
  });
  return answer?.status === 200;
}

async function issue(workload: Workload, tenant: Tenant, name: string): Promise<void> {
  const entry: Told = { kind: "key", name, id: undefined, text: undefined, revoked: "no" };
  workload.told.push(entry);
  const answer = await admin(workload, "POST", "/keys", { account_id: tenant.account, name });
  if (answer?.status !== 201) return;
  const { id, key } = answer.json as { readonly id: string; readonly key: string };
  Object.assign(entry, { id, text: key });
}

/** Revokes the latest key that a client knows of and that was never to be revoked before. */
async function revokeLatest(workload: Workload): Promise<void> {
  const entry = workload.told.findLast(
    (told) => told.kind === "key" && told.id !== undefined && told.revoked === "no",
  );
  if (entry?.kind !== "key") return;
  entry.revoked = "asked";
  const answer = await admin(workload, "DELETE", `/keys/${entry.id}`);
  if (answer?.status === 200) entry.revoked = "acknowledged";
}

/** Calls the admin interface; undefined when no whole answer came. */
export async function admin(
  { url, adminToken }: Pick<Workload, "url" | "adminToken">,
  method: string,
  path: string,
  body?: unknown,
): Promise<{ readonly status: number; readonly json: unknown } | undefined> {
  try {
    const response = await fetch(`${url}/admin/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${adminToken}`, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, json: await response.json() };
  } catch {
    return undefined;
  }
}
