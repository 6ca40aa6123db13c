import type { Part, ToolResultPart, Turn } from "../../../core/chat.ts";
import { filledText, type JsonObject } from "../../../core/json/json-value.ts";
import { type CarrierKey, openCarrier } from "../../carrier.ts";
import { openEmbeddedJson } from "../../embedded-json.ts";
import { plainMediaType } from "../../media-type.ts";
import { printable } from "../../printable.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import { calledId, decodeCall, decodeOutput, isCall, isOutput, outputParts } from "./decode-calls.ts";
import { contentOf } from "./decode-parts.ts";
import { itemType } from "../kept.ts";
import { readReasoning } from "./decode-reasoning.ts";
import type { ToolTable } from "./tool-table.ts";

/** What items are decoded with. */
export interface ItemReading {
  readonly table: ToolTable;
  readonly carrier: CarrierKey | undefined;
  readonly warn: Warn;
}

const NO_RESULT: Part = { type: "text", text: "No result was given for this call." };

/** Items that say nothing of their own here: what they change was read before. */
const READ_BEFORE: ReadonlySet<unknown> = new Set(["additional_tools", "configuration_update"]);

/**
 * Items as turns, in their order. All that an assistant says and calls until somebody else speaks is one turn. The
 * results of its calls are the next, whatever stands between. Throws a 400 that names the item for what cannot be said
 * in any other format.
 */
export function decodeItems(items: readonly JsonObject[], reading: ItemReading): Turn[] {
  const decoder = new ItemDecoder(items, reading);
  items.forEach((item, i) => decoder.read(item, i));
  return decoder.end();
}

/** A call of the assistant's turn that is being put together, and its place. */
interface OpenCall {
  readonly id: string;
  readonly place: number;
}

class ItemDecoder {
  readonly #items: readonly JsonObject[];
  readonly #reading: ItemReading;
  readonly #json = openEmbeddedJson();
  readonly #turns: Turn[] = [];
  /** What the assistant says, and the signature that waits for its next call. */
  #answer: Part[] = [];
  #signature: string | undefined;
  #calls: OpenCall[] = [];
  /** The places of outputs by their call's id, and those that are used. */
  readonly #outputs = new Map<string, number[]>();
  readonly #used = new Set<number>();
  /** The outputs that answered a call, by its id. */
  readonly #answered = new Map<string, JsonObject>();

  constructor(items: readonly JsonObject[], reading: ItemReading) {
    this.#items = items;
    this.#reading = reading;
    for (const [i, item] of items.entries()) {
      const id = isOutput(item) ? calledId(item) : undefined;
      if (id !== undefined) this.#outputs.getOrInsertComputed(id, () => []).push(i);
    }
  }

  read(item: JsonObject, place: number): void {
    const path = `input[${place}]`;
    const type = itemType(item);
    if (type === "message") return this.#readMessage(item, path);
    if (type === "reasoning") return this.#readReasoning(item, path);
    if (isCall(item)) return this.#readCall(item, place);
    if (isOutput(item)) return this.#readOutput(item, place);
    if (!READ_BEFORE.has(type)) this.#readOther(item, type, path);
  }

  end(): Turn[] {
    this.#endAnswer();
    return this.#turns;
  }

  #readMessage(item: JsonObject, path: string): void {
    const { role } = item;
    const parts = contentOf(item, path);
    if (role === "assistant") for (const part of parts) this.#answer.push(part);
    else if (role !== "user" && role !== "system" && role !== "developer")
      throw wrong(`${path}.role`, "must be user, assistant, system or developer");
    else {
      this.#endAnswer();
      if (parts.length > 0) this.#turns.push({ role: role === "user" ? role : "system", parts });
    }
    if (parts.length === 0) this.#reading.warn(`${path} was left out: there is nothing in it`);
  }

  #readReasoning(item: JsonObject, path: string): void {
    const read = readReasoning(item, this.#reading.carrier);
    switch (read?.kind) {
      case undefined:
        return this.#reading.warn(
          `${path} was left out: what is in its encrypted_content only the model can read that wrote it`,
        );
      case "part":
        return void this.#answer.push(read.part);
      case "signature":
        if (read.of === "next") this.#signature = read.signature;
        else this.#signLast(read.signature);
    }
  }

  /** A signature that came behind its part; without any it stands alone, as its vendor has it too. */
  #signLast(signature: string): void {
    const last = this.#answer.at(-1);
    if (last?.type === "text" || last?.type === "tool_call")
      this.#answer[this.#answer.length - 1] = { ...last, signature };
    else this.#answer.push({ type: "thinking", text: "", signature, issuer: "google" });
  }

  #readCall(item: JsonObject, place: number): void {
    const call = decodeCall(item, `input[${place}]`, { table: this.#reading.table, json: this.#json });
    if (call === undefined) return;
    // Calls behind results are another round.
    if (this.#calls.some(({ id }) => id === call.id))
      throw wrong(`input[${place}].call_id`, "stands twice in one answer");
    const { signature } = this.#takeSignature();
    this.#answer.push(signature === undefined ? call : { ...call, signature });
    this.#calls.push({ id: call.id, place });
  }

  #takeSignature(): { readonly signature?: string } {
    const signature = this.#signature;
    this.#signature = undefined;
    return signature === undefined ? {} : { signature };
  }

  #readOutput(item: JsonObject, place: number): void {
    this.#endAnswer();
    const { table, warn } = this.#reading;
    const path = `input[${place}]`;
    const id = calledId(item);
    if (this.#used.has(place)) return;
    // The provider's own search has no call to answer.
    if (item.type === "tool_search_output" && (id === undefined || item.execution === "server")) return;
    if (id === undefined) {
      warn(`${path} has no call_id: it was sent as the user's`);
      const parts = outputParts(item, path, table);
      if (parts.length > 0) this.#turns.push({ role: "user", parts });
      return;
    }
    const earlier = this.#answered.get(id);
    if (earlier === undefined)
      throw wrong(`${path}.call_id`, "answers no call before it: send the call that it belongs to");
    if (JSON.stringify(earlier.output) !== JSON.stringify(item.output))
      throw wrong(`${path}.call_id`, "was answered already, with another output: send one for a call");
    warn(`${path} was left out: the same output stands before it`);
  }

  #readOther(item: JsonObject, type: string | undefined, path: string): void {
    const { warn, carrier } = this.#reading;
    switch (type) {
      case "compaction": {
        const carried = openCarrier(filledText(item.encrypted_content) ?? "", carrier);
        if (carried?.kind !== "compaction")
          throw wrong(
            `${path}.encrypted_content`,
            "was not written here: only the model that wrote it can read it",
          );
        this.#endAnswer();
        return void this.#turns.push({ role: "system", parts: [{ type: "text", text: carried.text }] });
      }
      case "image_generation_call": {
        const data = filledText(item.result);
        const source = data && ({ kind: "data", mediaType: imageType(data), data } as const);
        if (source)
          this.#answer.push({ type: "image", source, at: `${path}.result`, ...this.#takeSignature() });
        return;
      }
      case "web_search_call":
        return warn(`${path} was left out: the model goes on with what was said of the search`);
      case "compaction_trigger":
        throw wrong(path, "must be the last item");
      default:
        throw wrong(
          `${path}.type`,
          `must not be ${printable(type ?? "missing")}: this model's provider has no such item`,
        );
    }
  }

  /** Ends the assistant's turn, and puts the results of its calls behind it. */
  #endAnswer(): void {
    if (this.#answer.length > 0) this.#turns.push({ role: "assistant", parts: this.#answer });
    if (this.#calls.length > 0)
      this.#turns.push({ role: "tool", parts: this.#calls.map((call) => this.#resultOf(call)) });
    this.#answer = [];
    this.#calls = [];
    this.#signature = undefined;
  }

  #resultOf({ id, place }: OpenCall): ToolResultPart {
    const { table, warn } = this.#reading;
    const at = this.#outputs.get(id)?.find((output) => output > place && !this.#used.has(output));
    const item = at === undefined ? undefined : this.#items[at];
    if (at === undefined || item === undefined) {
      warn(`input[${place}] has no output: the model was told so`);
      return { type: "tool_result", callId: id, parts: [NO_RESULT], isError: true };
    }
    this.#used.add(at);
    this.#answered.set(id, item);
    if (this.#items.slice(place + 1, at).some((between) => !isCall(between) && !isOutput(between)))
      this.#warnOfMoved(place + 1, at);
    return decodeOutput(item, id, `input[${at}]`, table);
  }

  /** Only what somebody says can stand in the way of a result. */
  #warnOfMoved(from: number, to: number): void {
    for (let i = from; i < to; i += 1) {
      const { role } = this.#items[i] ?? {};
      if (role !== undefined && role !== "assistant" && itemType(this.#items[i] ?? {}) === "message")
        this.#reading.warn(`input[${i}] was moved behind the outputs of the calls before it`);
    }
  }
}

/** By the first bytes of the file, in base64. */
function imageType(data: string): string {
  const found = [
    ["/9j/", "jpeg"],
    ["UklGR", "webp"],
    ["R0lGOD", "gif"],
  ].find(([begin = ""]) => data.startsWith(begin));
  return plainMediaType(`image/${found?.[1] ?? "png"}`);
}
