import { afterAll, describe, expect, test } from "bun:test";
import { joinBytes } from "../../../src/core/bytes/bytes.ts";
import { type JsonObject, present } from "../../../src/core/json/json-value.ts";
import { GatewayError } from "../../../src/core/errors.ts";
import { inputTokens, outputTokens, type Usage } from "../../../src/core/money/usage.ts";
import { translate } from "../../../src/protocols/translate.ts";
import type { AnswerContext, Metered, RelayProtocol } from "../../../src/protocols/protocol.ts";
import { ANSWER_CONTEXT } from "../../protocols/answer-context.ts";
import { foldEvents } from "../../protocols/folded-events.ts";
import { streamedEvents } from "../../protocols/streamed-events.ts";
import { wireRequest } from "../../protocols/wire-request.ts";
import { loadRecordings, type Recording, recordingsFor } from "../../upstream/recordings.ts";
import type { Json } from "../wire-json.ts";
import { leftOutBy } from "./left-out.ts";
import { at, differences, meaningOf } from "./meaning.ts";
import { refusedBy } from "./refused.ts";
import { RECORDED_APART, type RecordedApart } from "./recorded-apart.ts";
import { decode, PAIRS, requestOf, sent, type Wire } from "./wires.ts";

// Cases that were recorded in several wires. For each two of them the request of one, put into the other, asks for what
// was recorded there. The answer that was recorded there, given to a client of the first, says the same.

const available = recordingsFor("cross-protocol cases");

const recordings = available ? loadRecordings("cross-protocol").filter(isGood) : [];
const rows: string[] = [];

function isGood({ response }: Recording): boolean {
  return response.status === 200;
}

/** The folder of a recording, and which of its turns and modes it is. */
function caseOf({ path }: Recording) {
  const [, name = "", file = ""] = path.split("/");
  return { name, isSecond: file.includes("--followup--"), isStreamed: file.includes("--stream") };
}

/** The same turn of the same case in another wire, in the same mode where there is one. */
function sameIn(spoken: Wire, recording: Recording): Recording | undefined {
  const { name, isSecond, isStreamed } = caseOf(recording);
  const found = recordings.filter((one) => {
    const other = caseOf(one);
    return spoken.holds(one) && other.name === name && other.isSecond === isSecond;
  });
  return found.find((one) => caseOf(one).isStreamed === isStreamed) ?? found[0];
}

/** Reasons by how often they were met. */
type Reasons = Map<string, number>;

function count(reasons: Reasons, why: string): void {
  reasons.set(why, (reasons.get(why) ?? 0) + 1);
}

function report(what: string, held: number, all: number, reasons: Reasons): void {
  const refused = [...reasons].reduce((sum, [why, met]) => sum + (why.startsWith("refused") ? met : 0), 0);
  rows.push(
    `  ${what}: ${held - refused} / ${all}${refused === 0 ? "" : `, ${refused} refused by name`}`,
    ...[...reasons].map(([why, met]) => `      ${met} × ${why}`),
  );
}

describe.skipIf(!available)("cases that were recorded in several wires", () => {
  afterAll(() => console.log(["", "Cross-protocol, pair: held / all:", ...rows].join("\n")));

  for (const pair of PAIRS) {
    const [asked, spoken] = pair;
    const name = `${asked.name} → ${spoken.name}`;

    test(`${name}: the request asks for what was recorded`, () => {
      const cases = recordings
        .filter((one) => asked.holds(one))
        .flatMap((one) => {
          const other = sameIn(spoken, one);
          return other === undefined ? [] : [[one, other] as const];
        });
      const reasons: Reasons = new Map();
      const misses = cases.flatMap(([one, other]) => {
        const miss = compareRequests(pair, one, other, reasons);
        return miss === undefined ? [] : [[one.path, other.path, miss]];
      });
      report(`${name}, requests`, cases.length - misses.length, cases.length, reasons);
      expect(cases.length).toBeGreaterThan(30);
      expect(misses).toEqual([]);
    });

    test(`${name}: the recorded answer says the same to the caller`, () => {
      const answers = recordings.filter((one) => spoken.holds(one));
      const reasons: Reasons = new Map();
      const misses = answers.flatMap((one) => {
        const miss = compareAnswers(pair, one, reasons);
        return miss === undefined ? [] : [[one.path, miss]];
      });
      report(`${name}, answers`, answers.length - misses.length, answers.length, reasons);
      expect(answers.length).toBeGreaterThan(50);
      expect(misses).toEqual([]);
    });
  }
});

function apartBy(path: string, recording: Recording): RecordedApart | undefined {
  const { name, isSecond } = caseOf(recording);
  return RECORDED_APART.find(
    (entry) =>
      entry.at.test(path) && (entry.isSecond !== true || isSecond) && entry.cases?.test(name) !== false,
  );
}

/** Where the request that arrives asks for something else than the recorded one, beyond what the lists leave out. */
function compareRequests(
  [asked, spoken]: (typeof PAIRS)[number],
  recording: Recording,
  other: Recording,
  reasons: Reasons,
): Json {
  try {
    const wire = requestOf(asked, recording);
    const request = asked.server.protocol.readRequest(wire);
    const { body, warnings } = translate(asked.server, spoken.client).upstreamBody(request, spoken.target);
    const address = { model: spoken.target.model.id, stream: request.stream };
    const meanings = {
      asked: meaningOf(decode(asked, wire).chat),
      arrived: meaningOf(decode(spoken, { ...wireRequest(sent(spoken, body)), address }).chat),
      recorded: meaningOf(decode(spoken, requestOf(spoken, other)).chat),
    };
    const found = differences(meanings.recorded, meanings.arrived).filter((path) => {
      const [said, came] = [at(meanings.asked, path), at(meanings.arrived, path)];
      const why = Bun.deepEquals(said, came)
        ? apartBy(path, recording)?.why
        : leftOutBy({ from: asked.name, to: spoken.name, path, asked: said, arrived: came, warnings })?.why;
      if (why !== undefined) count(reasons, why);
      return why === undefined;
    });
    if (found.length === 0) return undefined;
    return found.map((path) => [path, at(meanings.recorded, path), at(meanings.arrived, path)]);
  } catch (error) {
    // What its own vendor alone has is refused by name.
    count(reasons, `refused: ${refusedBy(error)}`);
    return undefined;
  }
}

const CONTEXT: AnswerContext = {
  ...ANSWER_CONTEXT,
  padding: ["obfuscation"],
  carrier: { secret: "s", account: "a" },
};

/** What a caller's format keeps of a request for its answer, where thoughts are to be shown. */
const ECHOES: Readonly<Record<string, JsonObject>> = {
  generateContent: { showsThoughts: true },
  Responses: { asked: {}, calls: {}, compacts: false },
};

/** What a client of the caller's format is told otherwise than the provider said. */
function compareAnswers(pair: (typeof PAIRS)[number], { response }: Recording, reasons: Reasons): Json {
  const body: Json = response.body;
  const choices = choicesIn(body);
  if (choices > 1) return count(reasons, "several answers, which not every format has");
  try {
    const [said, heard] = typeof body === "string" ? streamed(pair, body) : whole(pair, body);
    if (said === undefined) return count(reasons, "a stream that was cut");
    const found = differences(said, heard);
    return found.length === 0 ? undefined : found.map((path) => [path, at(said, path), at(heard, path)]);
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error;
    // What a model broke off, or called without an object, is no answer of some formats.
    if (!/broke off|no JSON object/.test(error.message)) throw error;
    return count(reasons, `an error to the caller: ${error.message}`);
  }
}

/** A stream as its provider tells it, and as the caller's own client reads what it is sent. */
function streamed([asked, spoken]: (typeof PAIRS)[number], body: string): readonly Json[] {
  const bytes = new TextEncoder().encode(body);
  const context = { ...CONTEXT, model: spoken.target.model.id };
  const said = streamedEvents(spoken.client, bytes, context);
  if (said === undefined) return [];
  const told = { ...context, ...present({ echo: ECHOES[asked.name] }) };
  const { text, metered } = streamOf(translate(asked.server, spoken.client), bytes, told);
  const heard = streamedEvents(asked.client, text, context);
  if (heard === undefined) throw new GatewayError("upstream_error", "The model broke off its answer.");
  return [gistOf(said, metered), gistOf(heard, streamOf(asked.client.protocol, text, context).metered)];
}

/** The same of a plain answer. */
function whole([asked, spoken]: (typeof PAIRS)[number], body: Json): readonly Json[] {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  const context = { ...CONTEXT, model: spoken.target.model.id };
  const answer = spoken.client.protocol.readAnswer(bytes, context);
  const told = { ...context, ...present({ echo: ECHOES[asked.name] }) };
  const text = translate(asked.server, spoken.client).readAnswer(bytes, told).encode(7n);
  const read = asked.client.protocol.readAnswer(text, context);
  return [
    gistOf(spoken.client.decodeAnswer(answer.said(), context), answer.metered),
    gistOf(asked.client.decodeAnswer(read.said(), context), read.metered),
  ];
}

function choicesIn(body: Json): number {
  if (typeof body !== "string") return (body.choices ?? body.candidates ?? [1]).length;
  return Math.max(
    1,
    ...[...body.matchAll(/"choices":\[\{"index":(\d+)/g)].map(([, index]) => Number(index) + 1),
  );
}

function streamOf(way: Pick<RelayProtocol, "openStream">, bytes: Uint8Array, context: AnswerContext) {
  const stream = way.openStream(context);
  const pieces: Uint8Array[] = [];
  const take = (piece: Uint8Array | undefined): void => void (piece && pieces.push(piece.slice()));
  take(stream.push(bytes));
  take(stream.end(false));
  const metered = stream.metered();
  take(stream.tail(metered, 7n));
  return { text: new Uint8Array(joinBytes(pieces)), metered };
}

/** What an answer says, and what it counts. */
function gistOf(events: Parameters<typeof foldEvents>[0], { usage }: Metered): Json {
  const { parts = [], finish } = foldEvents(events).choices.get(0) ?? {};
  const textOf = (...types: readonly string[]): string =>
    parts.map(({ part, text }) => (types.includes(part.type) ? text : "")).join("");
  return {
    text: textOf("text", "refusal"),
    thinking: textOf("thinking"),
    calls: parts.flatMap(({ part, text }) => (part.type === "tool_call" ? [[part.name, inputOf(text)]] : [])),
    finish,
    usage: countsOf(usage),
  };
}

/** A call's input as a value; of a custom tool, and of a call that was cut, the text. */
function inputOf(text: string): Json {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const countsOf = (usage: Usage) => ({
  input: inputTokens(usage),
  cached: usage.cacheRead,
  output: outputTokens(usage),
});
