import type { Part, ToolCallPart } from "../../../core/chat.ts";
import { isJsonObject, present } from "../../../core/json/json-value.ts";
import { type Carried, type CarrierKey, isCarrier, openCarrier } from "../../carrier.ts";
import { wrong } from "../../request-json.ts";
import type { Warn } from "../../warnings.ts";
import type { ContentBlock } from "../schema.ts";
import { decodeBlock } from "./decode-blocks.ts";
import type { ExactInputs } from "./exact-inputs.ts";
import { ownId } from "../../wire-ids.ts";

/** What blocks of earlier answers are read with. */
export interface AnswerReading {
  readonly inputs: ExactInputs;
  /** Opens what our answers gave the caller to keep. */
  readonly carrier: CarrierKey | undefined;
  readonly warn: Warn;
}

/**
 * What an earlier answer said, in its order. A signature that we gave the client is its issuer's again, on the part
 * that it came with. A plain signature is the format's own vendor's.
 */
export function decodeAnswer(
  content: string | readonly ContentBlock[],
  message: number,
  { inputs, carrier, warn }: AnswerReading,
): readonly Part[] {
  if (typeof content === "string") return content === "" ? [] : [{ type: "text", text: content }];
  const parts: Part[] = [];
  /** The signature of the call that follows. */
  let next: string | undefined;
  const take = (carried: Carried | undefined, text: string): void => {
    if (carried === undefined || carried.kind === "compaction") return warn(FOREIGN);
    if (carried.kind === "redacted") {
      const { issuer, data } = carried;
      parts.push({ type: "redacted_thinking", data, issuer });
    } else if (carried.kind === "thinking") {
      const { issuer, signature } = carried;
      parts.push({ type: "thinking", text: carried.text || text, ...present({ issuer, signature }) });
    } else if (carried.of === "next") next = carried.signature;
    else signLast(parts, carried.signature);
  };
  for (const [i, block] of content.entries()) {
    const at = `messages[${message}].content[${i}]`;
    const { type, thinking, signature, data } = block;
    const held = (type === "thinking" ? signature : type === "redacted_thinking" ? data : undefined) ?? "";
    if (isCarrier(held)) take(openCarrier(held, carrier), thinking ?? "");
    else if (type === "thinking") parts.push(...plainThinking(thinking ?? "", held));
    else if (type === "redacted_thinking") parts.push({ type, data: held, issuer: "anthropic" });
    else if (type === "tool_use") {
      parts.push(decodeCall(block, inputs.text(inputOf(block, at), message, i), next));
      next = undefined;
    } else parts.push(...decodeBlock(block, at, warn));
  }
  return parts;
}

const FOREIGN =
  "thinking blocks were left out whose signature was changed, or was given to another account: no model can read them";

function plainThinking(text: string, signature: string): readonly Part[] {
  if (signature !== "") return [{ type: "thinking", text, signature, issuer: "anthropic" }];
  return text === "" ? [] : [{ type: "thinking", text }];
}

function signLast(parts: Part[], signature: string): void {
  const at = parts.findLastIndex(({ type }) => type === "text" || type === "tool_call");
  const part = parts[at];
  if (part?.type === "text" || part?.type === "tool_call") parts[at] = { ...part, signature };
}

function inputOf({ input }: ContentBlock, at: string): object {
  if (isJsonObject(input)) return input;
  throw wrong(`${at}.input`, "must be an object");
}

function decodeCall({ id, name }: ContentBlock, input: string, signature: string | undefined): ToolCallPart {
  return { type: "tool_call", id: ownId(id ?? ""), name: name ?? "", input, ...present({ signature }) };
}
