import type { ListedProtocolId } from "../../src/core/model.ts";
import { filledBody, recordedClientRequests } from "../../test/clients/client-request.ts";
import { SESSION_MARK } from "./session-mark.ts";
import type { Incoming } from "./ways.ts";

/** A request of a coding agent. */
export interface AgentRequest extends Incoming {
  readonly name: string;
  /** Its size. */
  readonly kilobytes: (typeof SIZES)[number];
}

/** The parts of an agent's session, at one size. */
interface SessionForm {
  readonly kilobytes: AgentRequest["kilobytes"];
  readonly systemCharacters: number;
  readonly tools: number;
  readonly toolCharacters: number;
  /** Calls of tools so far, each with its result. */
  readonly steps: number;
  readonly resultCharacters: number;
}

const SESSIONS: readonly SessionForm[] = [
  { kilobytes: 1, systemCharacters: 150, tools: 1, toolCharacters: 30, steps: 0, resultCharacters: 0 },
  { kilobytes: 13, systemCharacters: 1_500, tools: 20, toolCharacters: 120, steps: 3, resultCharacters: 300 },
  {
    kilobytes: 125,
    systemCharacters: 9_000,
    tools: 25,
    toolCharacters: 1_000,
    steps: 45,
    resultCharacters: 1_300,
  },
  // Many tool servers, and a long session of small steps: as much structure as a session can have.
  {
    kilobytes: 125,
    systemCharacters: 9_000,
    tools: 60,
    toolCharacters: 150,
    steps: 150,
    resultCharacters: 230,
  },
];

const SIZES = [1, 13, 125] as const;

/** A session in no format. */
interface Session extends SessionForm {
  /** The instructions and the tools are of this session alone, too. */
  readonly isNew?: boolean;
  /** Text of the first question, which brings the body to its size. */
  readonly question: string;
  readonly stream: boolean;
}

/**
 * Requests of 1, 13 and 125 kB in the format, the same session in each format, to the byte of that size. Only
 * generateContent does not say in its body whether the answer is a stream.
 */
export function ownRequests(format: ListedProtocolId, modelId: string, stream: boolean): AgentRequest[] {
  return SESSIONS.map((form) => ({
    name: `tools ${form.tools}, calls ${form.steps}`,
    kilobytes: form.kilobytes,
    body: writtenIn(format, modelId, sizedSession(format, modelId, { ...form, stream })),
    headers: JSON_TYPE,
  }));
}

/**
 * The last requests of a session, each with one more call than the one before, the last one of the size. With `isNew`,
 * one request of a session of which nothing was sent before.
 */
export function sessionRequests(
  format: ListedProtocolId,
  modelId: string,
  { kilobytes, isNew }: { readonly kilobytes: AgentRequest["kilobytes"]; readonly isNew: boolean },
): Uint8Array[] {
  const form = SESSIONS.find((session) => session.kilobytes === kilobytes);
  if (form === undefined) return [];
  const whole = sizedSession(format, modelId, { ...form, stream: false, isNew });
  const requests = isNew ? 1 : Math.min(SESSION_REQUESTS, form.steps + 1);
  return Array.from({ length: requests }, (_, place) =>
    writtenIn(format, modelId, { ...whole, steps: whole.steps - (requests - 1 - place) }),
  );
}

const SESSION_REQUESTS = 10;

/** The session with a question that brings it to its size. */
function sizedSession(format: ListedProtocolId, modelId: string, form: Omit<Session, "question">): Session {
  const missing =
    form.kilobytes * 1_000 - writtenIn(format, modelId, { ...form, question: SESSION_MARK }).length;
  if (missing < 0) throw new Error(`A session of ${form.kilobytes} kB is too long by ${-missing} bytes.`);
  const proses = Math.floor(missing / writtenLength(PROSE));
  const rest = missing - proses * writtenLength(PROSE);
  return { ...form, question: SESSION_MARK + PROSE.repeat(proses) + "a".repeat(rest) };
}

function writtenIn(format: ListedProtocolId, modelId: string, session: Session): Uint8Array {
  return encoder.encode(JSON.stringify(WRITERS[format](session, modelId)));
}

/** Of the recorded requests in the format, the one nearest to each size; none where they are not here. */
export function recordedRequests(format: ListedProtocolId, modelId: string): AgentRequest[] {
  const ofFormat = recordedClientRequests().filter(({ endpoint }) => ENDPOINTS[format] === endpoint);
  const requests = ofFormat.map(({ client, headers, body }) => {
    const filled = filledBody(body, SIGNED);
    const asked = format === "compat_generate_content" ? filled : { ...filled, model: modelId };
    return {
      name: `${client}, recorded`,
      headers: headersOf(headers),
      body: encoder.encode(JSON.stringify(asked)),
    };
  });
  const nearest = SIZES.flatMap((kilobytes) => {
    const distance = ({ body }: Incoming): number => Math.abs(Math.log(body.length / (kilobytes * 1_000)));
    const [first] = requests.toSorted((a, b) => distance(a) - distance(b));
    return first === undefined ? [] : [{ ...first, kilobytes }];
  });
  return nearest.filter(({ body }, index) => body !== nearest[index - 1]?.body);
}

const encoder = new TextEncoder();
const JSON_TYPE = new Headers({ "content-type": "application/json" });
const SIGNED = {
  thinking: { thinking: "The file first, then the test.", signature: "EqQBCgIYAhIM" },
  thoughtSignature: "EsQBCsEBAdHtim9z",
};
const ENDPOINTS: Readonly<Record<ListedProtocolId, string>> = {
  compat_chat_completions: "chat-completions",
  compat_messages: "messages",
  compat_generate_content: "streamGenerateContent",
};

/** A length stands in the place of a header's text. */
function headersOf(headers: Readonly<Record<string, string>>): Headers {
  return new Headers(Object.entries(headers).filter(([, value]) => !value.startsWith("…")));
}

const PROSE =
  "You are a coding agent and work in the user's folder. Read a file before you change it – never guess what is in it.\nRun the tests after each change, and say in one sentence what you did.\n\n";
const CODE =
  'export function total(rows: readonly Row[]): number {\n\treturn rows.filter((row) => row.kind !== "draft").reduce((sum, { cents }) => sum + cents, 0);\n}\n';

/** Bytes that a text is in a body, between its quotes. */
function writtenLength(text: string): number {
  return encoder.encode(JSON.stringify(text)).length - 2;
}

function prose(length: number): string {
  return PROSE.repeat(length / PROSE.length + 1).slice(0, length);
}

function code(length: number): string {
  return CODE.repeat(length / CODE.length + 1).slice(0, length);
}

/** Name, description and schema of the tool at a place. */
function toolAt(place: number, characters: number) {
  return {
    name: `${["read", "write", "search", "run", "list"][place % 5]}_${place}`,
    description: prose(characters),
    schema: {
      type: "object",
      properties: {
        file_path: { type: "string", description: "Absolute path of the file." },
        offset: { type: "integer", minimum: 0 },
        mode: { type: "string", enum: ["text", "bytes"] },
      },
      required: ["file_path"],
      additionalProperties: false,
    },
  };
}

function toolsOf({ tools, toolCharacters, isNew }: Session) {
  const mark = isNew === true ? SESSION_MARK : "";
  return Array.from({ length: tools }, (_, place) => {
    const tool = toolAt(place, toolCharacters - mark.length);
    return { ...tool, description: mark + tool.description };
  });
}

function instructionsOf({ systemCharacters, isNew }: Session): string {
  return isNew === true ? SESSION_MARK + prose(systemCharacters) : prose(systemCharacters);
}

function stepsOf({ steps, resultCharacters }: Session) {
  return Array.from({ length: steps }, (_, place) => ({
    id: `call_${SESSION_MARK}${String(place).padStart(4, "0")}`,
    name: "read_0",
    input: { file_path: `/home/me/shop/src/orders/total-${place}.ts`, offset: place },
    result: `${SESSION_MARK} ${place}\n${code(resultCharacters)}`,
  }));
}

/** A session as clients of each format write it. */
const WRITERS: Readonly<Record<ListedProtocolId, (session: Session, modelId: string) => object>> = {
  compat_chat_completions: (session, modelId) => ({
    model: modelId,
    max_tokens: 32_000,
    messages: [
      { role: "system", content: instructionsOf(session) },
      { role: "user", content: session.question },
      ...stepsOf(session).flatMap(({ id, name, input, result }) => [
        {
          role: "assistant",
          content: "",
          tool_calls: [{ id, type: "function", function: { name, arguments: JSON.stringify(input) } }],
        },
        { role: "tool", tool_call_id: id, content: result },
      ]),
    ],
    tools: toolsOf(session).map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
    tool_choice: "auto",
    ...(session.stream ? { stream: true, stream_options: { include_usage: true } } : {}),
  }),
  compat_messages: (session, modelId) => ({
    model: modelId,
    max_tokens: 32_000,
    system: [{ type: "text", text: instructionsOf(session), cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: [{ type: "text", text: session.question }] },
      ...stepsOf(session).flatMap(({ id, name, input, result }) => [
        { role: "assistant", content: [{ type: "tool_use", id, name, input }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: result }] },
      ]),
    ],
    tools: toolsOf(session).map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: schema,
    })),
    ...(session.stream ? { stream: true } : {}),
  }),
  compat_generate_content: (session) => ({
    systemInstruction: { parts: [{ text: instructionsOf(session) }] },
    contents: [
      { role: "user", parts: [{ text: session.question }] },
      ...stepsOf(session).flatMap(({ name, input, result }) => [
        { role: "model", parts: [{ functionCall: { name, args: input } }] },
        { role: "user", parts: [{ functionResponse: { name, response: { output: result } } }] },
      ]),
    ],
    tools: [
      {
        functionDeclarations: toolsOf(session).map(({ name, description, schema }) => ({
          name,
          description,
          parametersJsonSchema: schema,
        })),
      },
    ],
    generationConfig: { maxOutputTokens: 32_000 },
  }),
};
