import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Engine } from "../../src/db/engine.ts";
import type { KeptTables } from "../../src/db/kept-tables.ts";
import { openPostgres } from "../../src/db/postgres.ts";
import { type Clock, systemClock } from "../../src/core/time/clock.ts";
import { toText } from "../upstream/bytes.ts";
import type { TestPlace } from "../gateway/engines.ts";
import { type Json, startGateway, type TestGateway, UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer, sseAnswer } from "../upstream/answer.ts";
import { startUpstreamDouble, type UpstreamDouble } from "../upstream/double.ts";
import { messageAnswer, messageStreamAnswer } from "../upstream/messages-bytes.ts";
import type { SeenRequest } from "../upstream/seen-request.ts";
import { sse, sseData } from "../upstream/sse-bytes.ts";

/** Models of one provider that speaks Responses, and of one that does not: every test asks both. */
export const KEPT_MODELS = ["test/gpt", "anthropic/claude-haiku-4.5"] as const;

/** A clock that a test can set forward. */
export interface ShiftedClock extends Clock {
  forward(ms: number): void;
}

/** The machine's clock, from 2026 on. */
export function createShiftedClock(): ShiftedClock {
  let aheadMs = Date.UTC(2026, 10, 21, 12) - systemClock.nowMs();
  return {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + aheadMs,
    forward: (ms) => void (aheadMs += ms),
  };
}

/** What a model says, by how often it was asked: reasoning and a text, or reasoning and calls. */
export type KeptScript = (round: number) => { readonly text: string } | { readonly call: Json };

const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };

/** A double of both providers. Each answer has ids of its own. */
export async function startKeptDouble(): Promise<{
  readonly double: UpstreamDouble;
  /** Begins anew, with what the model says from now on, its answers `changed`; at first `Answer 1.` and so on. */
  says(script: KeptScript, changed?: (answer: Answer) => Answer): void;
}> {
  const double = await startUpstreamDouble();
  let asked = 0;
  let script: KeptScript = (round) => ({ text: `Answer ${round}.` });
  const says = (next: KeptScript, changed = (answer: Answer): Answer => answer): void => {
    double.reset();
    asked = 0;
    script = next;
    double.handle((request) => {
      asked += 1;
      const said = script(asked);
      return changed(
        request.target.endsWith("/responses")
          ? responsesAnswer(request, asked, said)
          : claudeAnswer(request, asked, said),
      );
    });
  };
  says(script);
  return { double, says };
}

function claudeAnswer(request: SeenRequest, round: number, said: ReturnType<KeptScript>) {
  const blocks = [
    { type: "thinking", thinking: `Thought ${round}.`, signature: btoa(`signature ${round}`) },
    "text" in said
      ? { type: "text", text: said.text }
      : { type: "tool_use", id: `toolu_${round}`, name: "weather", input: said.call },
  ];
  return (request.json() as Json).stream === true
    ? messageStreamAnswer({ blocks })
    : messageAnswer({ blocks });
}

let answers = 0;

function responsesAnswer(request: SeenRequest, round: number, said: ReturnType<KeptScript>) {
  answers += 1;
  const id = `${answers}`.padStart(24, "0");
  const reasoning = {
    id: `rs_${id}`,
    type: "reasoning",
    summary: [{ type: "summary_text", text: `Thought ${round}.` }],
    encrypted_content: `gAAAA${round}`,
  };
  const item =
    "text" in said
      ? {
          id: `msg_${id}`,
          type: "message",
          status: "completed",
          role: "assistant",
          content: [{ type: "output_text", text: said.text, annotations: [], logprobs: [] }],
        }
      : {
          id: `fc_${id}`,
          type: "function_call",
          status: "completed",
          call_id: `call_${round}`,
          name: "weather",
          arguments: JSON.stringify(said.call),
        };
  const response = (status: string, output: readonly Json[]): Json => ({
    id: `resp_${id}`,
    object: "response",
    created_at: 1,
    model: "gpt",
    status,
    store: false,
    previous_response_id: null,
    output,
    usage: status === "completed" ? usage : null,
  });
  const whole = response("completed", [reasoning, item]);
  if ((request.json() as Json).stream !== true) return jsonAnswer(200, whole);
  const events = [
    { type: "response.created", response: response("in_progress", []) },
    ...[reasoning, item].flatMap((each, i) => [
      {
        type: "response.output_item.added",
        output_index: i,
        item: "text" in said && each === item ? { ...item, content: [] } : each,
      },
      ...("text" in said && each === item ? textEvents(item.id, i, said.text) : []),
      { type: "response.output_item.done", output_index: i, item: each },
    ]),
    { type: "response.completed", response: whole },
  ].map((event, i) => ({ ...event, sequence_number: i }));
  return sseAnswer(sse(events, { eventName: (event) => (event as Json).type }));
}

function textEvents(id: string, index: number, text: string): Json[] {
  const at = { item_id: id, output_index: index, content_index: 0 };
  const part = { type: "output_text", text: "", annotations: [], logprobs: [] };
  return [
    { type: "response.content_part.added", ...at, part },
    { type: "response.output_text.delta", ...at, delta: text, logprobs: [] },
    { type: "response.output_text.done", ...at, text, logprobs: [] },
    { type: "response.content_part.done", ...at, part: { ...part, text } },
  ];
}

/** A gateway with both providers at the double. */
export function startKeptGateway(
  double: UpstreamDouble,
  options: {
    readonly environment?: Readonly<Record<string, string>>;
    readonly clock?: Clock;
    readonly responses?: Json;
  } = {},
): Promise<TestGateway> {
  const { environment = {}, clock = createShiftedClock(), responses = {} } = options;
  const model = { id: "test/gpt", upstream_id: "gpt", max_output: 1_000, prices: { input: 1, output: 2 } };
  const provider = {
    protocols: ["responses"],
    dialect: "native",
    base_url: `${double.url}/v1`,
    api_key: UPSTREAM_KEY,
    models: [model],
  };
  return startGateway({
    clock,
    environment,
    anthropic: double.url,
    settings: JSON.stringify({ responses, providers: { test: provider } }),
  });
}

/** Asks for an answer; gives the response object, of a stream that of its last event. */
export async function askKept(gateway: TestGateway, body: Json): Promise<Json> {
  const response = await gateway.post("/api/v1/responses", { input: "hi", ...body });
  if (body.stream !== true || response.status !== 200) return response.json();
  const last = sseData(await response.text()).at(-1);
  return JSON.parse(last ?? "{}").response;
}

/** Calls an address of answers that are kept. */
export async function callKept(
  gateway: Pick<TestGateway, "url" | "key">,
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly json: Json }> {
  const headers = { authorization: `Bearer ${gateway.key}` };
  const response = await fetch(`${gateway.url}/api/v1/responses/${path}`, { method, headers });
  return { status: response.status, json: await response.json() };
}

/** The events of a stream that ends with this answer, as texts. */
export function streamOf(response: Json): {
  readonly events: readonly Json[];
  readonly stream: readonly string[];
} {
  const begun = { ...response, status: "in_progress", output: [] };
  const events = [
    { type: "response.created", response: begun },
    ...response.output.map((item: Json, i: number) => ({
      type: "response.output_item.done",
      output_index: i,
      item,
    })),
    { type: "response.completed", response },
  ].map((event, i) => ({ ...event, sequence_number: i }));
  return { events, stream: events.map((event) => toText(sse([event], { eventName: () => event.type }))) };
}

/** All that the store has of answers, as text. */
export async function bytesOfStore(place: TestPlace, engine: Engine): Promise<string> {
  if (engine === "sqlite") {
    const home = place.environment.SWITCHYARD_HOME ?? "";
    const files = readdirSync(home).filter((name) => name.startsWith("responses.db"));
    return files.map((name) => readFileSync(join(home, name), "latin1")).join("");
  }
  const database = openPostgres<KeptTables>(place.environment.DATABASE_URL ?? "");
  const rows = await database.selectFrom("kept_responses").selectAll().execute();
  await database.destroy();
  return rows.map((row) => Object.values(row).join(" ")).join("\n");
}
