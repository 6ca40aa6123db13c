import type {
  DocumentPart,
  ImagePart,
  Part,
  ToolCallPart,
  ToolResultPart,
  Turn,
} from "../../../core/chat.ts";
import { isJsonObject, type JsonObject, present } from "../../../core/json/json-value.ts";
import type { CarrierKey } from "../../carrier.ts";
import { parseExact } from "../../exact-json.ts";
import { typeByEnding } from "../../media-type.ts";
import type { Warn } from "../../warnings.ts";
import { type GenerateContentRequest, refusal } from "../request.ts";
import type { Part as WirePart } from "../schema.ts";
import { readSpelling } from "../spelling.ts";
import { readSignature } from "../signatures.ts";

/** What turns are read with. */
interface Reading {
  readonly carrier: CarrierKey | undefined;
  readonly warn: Warn;
  /** The request as its caller spelled it. */
  readonly original: JsonObject;
}

/**
 * The turns of a request: results of calls in a turn of their own behind the calls that they answer, in the order of
 * these. Throws a 400 that names the part for what no other format can say.
 */
export function decodeContents(request: GenerateContentRequest, warn: Warn): Turn[] {
  const { body, json, carrier } = request;
  const reading: Reading = { carrier, warn, original: json.value };
  const contents = exactContents(request);
  const turns: Turn[] = [];
  const system = textsOf(body.systemInstruction?.parts ?? []);
  if (system.length > 0) turns.push({ role: "system", parts: system });
  let open: readonly ToolCallPart[] = [];
  for (const [i, { role, parts = [] }] of contents.entries()) {
    const path = `contents[${i}]`;
    if (role === "model") {
      answerOpen(open, [], turns, warn);
      const said = decodeAnswer(parts, i, path, reading);
      open = said.filter((part) => part.type === "tool_call");
      if (said.length > 0) turns.push({ role: "assistant", parts: said });
      continue;
    }
    const given = parts.some(({ functionResponse }) => functionResponse !== undefined);
    if (given || open.length > 0) {
      answerOpen(open, decodeResults(parts, open, path, reading), turns, warn);
      open = [];
    }
    const asked = parts.flatMap((part, j) =>
      part.functionResponse === undefined ? decodeInput(part, `${path}.parts[${j}]`, reading) : [],
    );
    if (asked.length > 0) turns.push({ role: "user", parts: asked });
  }
  answerOpen(open, [], turns, warn);
  if (turns.every(({ role }) => role === "system"))
    throw refusal("contents", "must have a part that is not empty.", json.value);
  return turns;
}

/** The contents, in which the arguments of calls keep the digits that they were written with. */
function exactContents({ body, json }: GenerateContentRequest): typeof body.contents {
  const hasNumbers = body.contents.some(({ parts = [] }) =>
    parts.some(({ functionCall }) => functionCall !== undefined && hasNumber(functionCall.args)),
  );
  if (!hasNumbers) return body.contents;
  const exact = parseExact(new TextDecoder().decode(json.bytes));
  const { contents } = isJsonObject(exact) ? (readSpelling(exact) as typeof body) : body;
  return contents;
}

function hasNumber(value: unknown): boolean {
  if (typeof value === "number") return true;
  if (Array.isArray(value)) return value.some(hasNumber);
  return isJsonObject(value) && Object.values(value).some(hasNumber);
}

const NO_RESULT: Part = { type: "text", text: "No result was given for this call." };

/** Adds the results of calls, in the order of the calls; one that has none is told so. */
function answerOpen(
  calls: readonly ToolCallPart[],
  results: ReadonlyMap<string, ToolResultPart> | readonly never[],
  turns: Turn[],
  warn: Warn,
): void {
  if (calls.length === 0) return;
  const parts = calls.map(({ id, name }): ToolResultPart => {
    const result = results instanceof Map ? results.get(id) : undefined;
    if (result !== undefined) return result;
    warn(`contents have no functionResponse of a call of ${name}: the model is told that there is none`);
    return { type: "tool_result", callId: id, parts: [NO_RESULT], isError: true };
  });
  turns.push({ role: "tool", parts });
}

/** What the model said: its thoughts as it signed them, its texts and its calls, in their order. */
function decodeAnswer(parts: readonly WirePart[], turn: number, path: string, reading: Reading): Part[] {
  const said: Part[] = [];
  let thoughts = "";
  let calls = 0;
  parts.forEach((part, j) => {
    const { thought = false, text, functionCall: call, thoughtSignature } = part;
    const { carried, own, isForeign } = readSignature(thoughtSignature, reading.carrier);
    if (isForeign) reading.warn(`${path}.parts[${j}].thoughtSignature was left out: it cannot be read here`);
    if (thought && carried.length === 0) {
      thoughts += text ?? "";
      if (own !== undefined)
        said.push({ type: "thinking", text: text ?? "", signature: own, issuer: "google" });
      return;
    }
    const signature = carried.length > 0 ? carriedParts(carried, said) : own;
    // What was thought is told by its carrier, word for word; without one there is the text alone.
    if (thoughts !== "" && carried.length === 0 && own === undefined)
      said.push({ type: "thinking", text: thoughts });
    thoughts = "";
    if (call !== undefined) {
      const id = idOf(call) ?? `call_${turn}_${calls}`;
      calls += 1;
      const input = JSON.stringify(call.args ?? {});
      said.push({ type: "tool_call", id, name: call.name, input, ...present({ signature }) });
      return;
    }
    if (text !== undefined && !thought) {
      addText(said, text, signature);
    } else said.push(...decodeInput(part, `${path}.parts[${j}]`, reading));
  });
  if (thoughts !== "") said.push({ type: "thinking", text: thoughts });
  return said;
}

/** Adds a text. Clients of streams keep it in the pieces that it came in: they are one, as long as none is signed. */
function addText(said: Part[], text: string, signature: string | undefined): void {
  const last = said.at(-1);
  if (signature === undefined && last?.type === "text" && last.signature === undefined)
    said[said.length - 1] = { ...last, text: last.text + text };
  else if (text !== "" || signature !== undefined)
    said.push({ type: "text", text, ...present({ signature }) });
}

/** Adds what carriers hold; the signature of the part that they stand on, if that is among them. */
function carriedParts(
  carried: ReturnType<typeof readSignature>["carried"],
  said: Part[],
): string | undefined {
  let signature: string | undefined;
  for (const one of carried) {
    if (one.kind === "thinking") {
      const { kind: type, ...thinking } = one;
      said.push({ type, ...thinking });
    } else if (one.kind === "redacted")
      said.push({ type: "redacted_thinking", data: one.data, issuer: one.issuer });
    else if (one.kind === "signature" && one.of === "next") signature = one.signature;
  }
  return signature;
}

function idOf(called: object): string | undefined {
  const { id } = called as { readonly id?: unknown };
  return typeof id === "string" && id !== "" ? id : undefined;
}

/** The results in a turn, by the ids of the calls: each answers the call of its id, else the next of its name. */
function decodeResults(
  parts: readonly WirePart[],
  calls: readonly ToolCallPart[],
  path: string,
  reading: Reading,
): ReadonlyMap<string, ToolResultPart> {
  const results = new Map<string, ToolResultPart>();
  const byId = new Map(calls.map((call) => [call.id, call]));
  const byName = Map.groupBy(calls, ({ name }) => name);
  const nextOf = (name: string): ToolCallPart | undefined => {
    const open = byName.get(name) ?? [];
    while (open[0] !== undefined && results.has(open[0].id)) open.shift();
    return open[0];
  };
  parts.forEach((part, j) => {
    const { functionResponse: given } = part;
    if (given === undefined) return;
    const id = idOf(given);
    const named = id === undefined || results.has(id) ? undefined : byId.get(id);
    const call = named ?? nextOf(given.name);
    const at = `${path}.parts[${j}].functionResponse`;
    if (call === undefined)
      throw refusal(
        at,
        "answers no functionCall of the turn before it: send that turn with it.",
        reading.original,
      );
    const media = (given.parts ?? []).flatMap((inner, k) => decodeInput(inner, `${at}.parts[${k}]`, reading));
    results.set(call.id, resultOf(call.id, (given.response ?? {}) as JsonObject, media));
  });
  return results;
}

/** A result as text: what the format's own names for an output and for an error hold, else the object. */
function resultOf(callId: string, response: JsonObject, media: readonly Part[]): ToolResultPart {
  const [name, other] = Object.keys(response);
  const isAlone = other === undefined;
  const isError = isAlone && name === "error";
  const held = isAlone && (name === "output" || name === "error") ? response[name] : response;
  const text = typeof held === "string" ? held : JSON.stringify(held ?? null);
  const texts: readonly Part[] = text === "" ? [] : [{ type: "text", text }];
  return { type: "tool_result", callId, parts: [...texts, ...media], isError };
}

function textsOf(parts: readonly WirePart[]): Part[] {
  return parts.flatMap(({ text = "" }) => (text === "" ? [] : [{ type: "text", text }]));
}

/** What is no call and no thought: text, or a medium by its type. */
function decodeInput(
  part: Pick<WirePart, "text" | "inlineData" | "fileData">,
  path: string,
  { warn }: Reading,
): Part[] {
  const { text, inlineData, fileData } = part;
  if (text !== undefined) return text === "" ? [] : [{ type: "text", text }];
  if (inlineData !== undefined) {
    const { mimeType: mediaType, data } = inlineData;
    return [mediumOf(mediaType, { kind: "data", mediaType, data }, `${path}.inlineData`)];
  }
  if (fileData !== undefined) {
    const { fileUri: url, mimeType } = fileData;
    const source = url.startsWith("files/")
      ? ({ kind: "file", id: url } as const)
      : ({ kind: "url", url, ...present({ mediaType: mimeType }) } as const);
    // A link may leave its type to the ending of its name.
    return [mediumOf(mimeType ?? typeByEnding(url) ?? "", source, `${path}.fileData`)];
  }
  const [name = "part"] = Object.keys(part);
  warn(`${path}.${name} was left out: this model's provider has no place for it`);
  return [];
}

function mediumOf(
  mediaType: string,
  source: ImagePart["source"],
  at: string,
): ImagePart | DocumentPart | Extract<Part, { type: "audio" | "video" }> {
  const kind = mediaType.split("/", 1)[0];
  if (kind === "image" || kind === "audio" || kind === "video") return { type: kind, source, at };
  return { type: "document", source, at };
}
