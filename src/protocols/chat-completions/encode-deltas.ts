import type { BegunPart, ChatEvent, Citation, FinishReason } from "../../core/chat.ts";
import type { JsonObject } from "../../core/json-value.ts";
import { writeDataUrl } from "./data-url.ts";
import { FORMATS, REDACTED } from "./decode-reasoning.ts";

/** What one chunk says of one choice. */
export interface ChoiceDelta {
  readonly choice: number;
  readonly delta: JsonObject;
  readonly finish: FinishReason | null;
}

/** Turns what a running answer says into deltas of chat completions. */
export interface DeltaWriter {
  push(event: ChatEvent): void;
  /** Writes what was held back when the answer broke: nothing that would make it look whole. */
  flush(): void;
  /** Whether each choice that has begun has ended, by index. */
  readonly choices: ReadonlyMap<number, boolean>;
  /** Whether there are choices and all of them ended in an error. */
  readonly failed: boolean;
}

/** The part that is open in a choice. */
interface OpenPart {
  readonly begun: BegunPart;
  /** Characters of the choice's text before it. */
  readonly textStart: number;
  text: string;
  signature?: string;
}

interface OpenCall {
  readonly at: number;
  /** The call's first fragments wait until it is known whether a signature belongs into the first. */
  waiting: boolean;
  held: string;
}

/** An item of `reasoning_details`, and how much of the choice's text came before it. */
interface Reasoned {
  readonly item: JsonObject;
  readonly before: number;
}

interface ChoiceState {
  part: OpenPart | undefined;
  call: OpenCall | undefined;
  calls: number;
  textLength: number;
  failed: boolean;
  readonly images: JsonObject[];
  readonly annotations: JsonObject[];
  readonly reasoning: Reasoned[];
  /** Parts so far as the answer comes back: texts that no reasoning parts are one by then. */
  places: number;
  /** There was text since the last reasoning. */
  hasText: boolean;
  /** The choice's text so far, in units of a string. */
  textUnits: number;
  /** Citations of the open part that do not say which text they are of: all of it. */
  readonly citations: Citation[];
}

/**
 * A writer for one answer that hands its deltas to `write`. Lists that clients do not join over chunks (images, annotations, `reasoning_details`) come
 * once and whole, before the finish; `id`, `type` and `name` of a call stand in its first fragment only, and with them
 * its signature where it comes soon enough: some clients look for it nowhere else.
 */
export function openDeltaWriter(write: (delta: ChoiceDelta) => void): DeltaWriter {
  const states = new Map<number, ChoiceState>();
  const choices = new Map<number, boolean>();

  /** The state of a choice; one that begins here says its role first. */
  const stateOf = (choice: number): ChoiceState => {
    const known = states.get(choice);
    if (known !== undefined) return known;
    const state: ChoiceState = {
      part: undefined,
      call: undefined,
      calls: 0,
      textLength: 0,
      failed: false,
      images: [],
      annotations: [],
      reasoning: [],
      places: 0,
      hasText: false,
      textUnits: 0,
      citations: [],
    };
    states.set(choice, state);
    choices.set(choice, false);
    write({ choice, delta: { role: "assistant", content: "" }, finish: null });
    return state;
  };

  return {
    push(event) {
      if (event.type === "start") return void stateOf(0);
      const { choice } = event;
      const state = stateOf(choice);
      const say = (delta: JsonObject): void => write({ choice, delta, finish: null });
      switch (event.type) {
        case "part_start":
          startPart(state, event.part);
          break;
        case "delta":
          addText(state, event.text, say);
          break;
        case "signature":
          if (state.part !== undefined) state.part.signature = event.signature;
          break;
        case "citation":
          cite(state, event.citation);
          break;
        case "part_end":
          endPart(state, say);
          break;
        case "finish":
          if (event.refusal !== undefined && event.refusal !== "") say({ refusal: event.refusal });
          sayCollected(state, say);
          state.failed = event.reason === "error";
          choices.set(choice, true);
          write({ choice, delta: {}, finish: finishOf(state, event.reason) });
      }
    },
    flush() {
      for (const [choice, state] of states) {
        const say = (delta: JsonObject): void => write({ choice, delta, finish: null });
        if (state.part !== undefined && state.call !== undefined) beginCall(state.call, state.part, say);
      }
    },
    choices,
    get failed() {
      return states.size > 0 && [...states.values()].every((state) => state.failed);
    },
  };
}

type Say = (delta: JsonObject) => void;

function startPart(state: ChoiceState, begun: BegunPart): void {
  state.part = { begun, textStart: state.textLength, text: "" };
  if (begun.type !== "tool_call") return;
  state.call = { at: state.calls, waiting: true, held: "" };
  state.calls += 1;
}

function addText(state: ChoiceState, text: string, say: Say): void {
  const { part, call } = state;
  if (part === undefined || text === "") return;
  switch (part.begun.type) {
    case "text":
      part.text += text;
      state.textUnits += text.length;
      state.textLength += Array.from(text).length;
      return say({ content: text });
    case "thinking":
      part.text += text;
      return say({ reasoning_content: text });
    case "tool_call":
      part.text += text;
      if (call === undefined) return;
      // A signature, if there is one, comes behind the whole input: so the first piece waits for what follows it.
      if (call.waiting && call.held === "") call.held = text;
      else {
        beginCall(call, part, say);
        say(fragment(call.at, { function: { arguments: text } }));
      }
      return;
    case "redacted_thinking":
    case "image":
      // These are whole when they begin.
      return;
  }
}

function beginCall(call: OpenCall, { begun, signature }: OpenPart, say: Say): void {
  if (!call.waiting || begun.type !== "tool_call") return;
  call.waiting = false;
  const extra = signature === undefined ? {} : signedCall(signature);
  const { id, name } = begun;
  say(fragment(call.at, { id, type: "function", function: { name, arguments: "" }, ...extra }));
  if (call.held !== "") say(fragment(call.at, { function: { arguments: call.held } }));
}

/** Source: "Thought signatures" of the Gemini API, as its own chat completions have it. */
function signedCall(signature: string): JsonObject {
  return { extra_content: { google: { thought_signature: signature } } };
}

function fragment(index: number, call: JsonObject): JsonObject {
  return { tool_calls: [{ index, ...call }] };
}

function endPart(state: ChoiceState, say: Say): void {
  const { part, call } = state;
  if (part === undefined) return;
  const { begun, signature, text } = part;
  const reason = (thinking: string, signed: string | undefined, format: string): void => {
    const item = detail(thinking, signed, format, state.places);
    state.reasoning.push({ item, before: state.textUnits });
  };
  switch (begun.type) {
    case "text":
      // The interface has no signature on a text, so it travels as a piece of reasoning without words.
      if (signature !== undefined) reason("", signature, FORMATS.google);
      break;
    case "thinking":
      if (text !== "" || signature !== undefined) reason(text, signature, FORMATS[begun.issuer]);
      break;
    case "redacted_thinking":
      reason("", REDACTED + begun.data, FORMATS[begun.issuer]);
      break;
    case "tool_call":
      if (call === undefined) break;
      if (call.waiting) beginCall(call, part, say);
      else if (signature !== undefined)
        say(fragment(call.at, { function: { arguments: "" }, ...signedCall(signature) }));
      // Clients parse the arguments, and nothing is no JSON.
      if (text.trim() === "") say(fragment(call.at, { function: { arguments: "{}" } }));
      break;
    case "image": {
      const signed = signature === undefined ? {} : { signature };
      const url = writeDataUrl({ mediaType: begun.mediaType, data: begun.data, ...signed });
      state.images.push({ type: "image_url", image_url: { url } });
    }
  }
  for (const citation of state.citations.splice(0))
    state.annotations.push(annotation(citation, part.textStart, state.textLength));
  const silent =
    (begun.type === "text" || begun.type === "thinking") && text === "" && signature === undefined;
  if (!silent && !(begun.type === "text" && state.hasText)) state.places += 1;
  if (!silent) state.hasText = begun.type === "text" || (state.hasText && !isReasoning(begun));
  state.part = undefined;
  state.call = undefined;
}

function isReasoning({ type }: BegunPart): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function detail(thinking: string, signature: string | undefined, format: string, index: number): JsonObject {
  return { type: "thinking", thinking, ...(signature === undefined ? {} : { signature }), format, index };
}

function cite(state: ChoiceState, citation: Citation): void {
  if (state.part !== undefined && (citation.start === undefined || citation.end === undefined))
    state.citations.push(citation);
  else state.annotations.push(annotation(citation, 0, state.textLength));
}

function annotation({ url, title, start, end }: Citation, from: number, to: number): JsonObject {
  const span = { start_index: start ?? from, end_index: end ?? to };
  return { type: "url_citation", url_citation: { ...span, title: title ?? url, url } };
}

function sayCollected({ images, annotations, reasoning, textUnits }: ChoiceState, say: Say): void {
  // All text is one for the client: how much of it came before a thought that had more behind it must be said.
  const details = reasoning.map(({ item, before }) =>
    Number(item.index) > 0 && before < textUnits ? Object.assign({}, item, { text_before: before }) : item,
  );
  const lists = { images, annotations, reasoning_details: details };
  const delta = Object.fromEntries(Object.entries(lists).filter(([, list]) => list.length > 0));
  if (Object.keys(delta).length > 0) say(delta);
}

/** An answer that calls tools ends for them, whatever word its model has for a good end. */
function finishOf({ calls }: ChoiceState, reason: FinishReason): FinishReason {
  return reason === "stop" && calls > 0 ? "tool_calls" : reason;
}
