import type { JsonObject } from "../../../core/json/json-value.ts";
import { creditsText } from "../../../core/money/credits.ts";
import type { GatewayError } from "../../../core/errors.ts";
import type { MicroCredits } from "../../../core/money/credits.ts";
import type { AnswerContext, Metered } from "../../protocol.ts";
import type { EventEncoder } from "../../translate.ts";
import { encodeError } from "../error-body.ts";
import { KEEP_ALIVE } from "../relay.ts";
import { encodeUsage } from "../usage.ts";
import { answerId, brokenOff } from "./encode-answer.ts";
import { endMembers, openPartWriter, type PartSink, type PartWriter } from "./encode-parts.ts";

/**
 * Writes an answer's events as chunks of data alone. Every chunk has a candidate with a part, because clients forget
 * the whole turn otherwise. The last has the reasons to stop, the usage and the credit.
 */
export function openEncoder(context: AnswerContext): EventEncoder {
  return new Chunks(context);
}

class Chunks implements EventEncoder, PartSink {
  readonly keepAlive = KEEP_ALIVE;
  readonly #context: AnswerContext;
  readonly #writer: PartWriter;
  #foot: string;
  #text = "";

  constructor(context: AnswerContext) {
    this.#context = context;
    this.#writer = openPartWriter(this, context);
    this.#foot = footOf(undefined, context);
  }

  push(event: Parameters<EventEncoder["push"]>[0]): string {
    if (event.type === "start") this.#foot = footOf(event.id, this.#context);
    this.#writer.push(event);
    const taken = this.#text;
    this.#text = "";
    return taken;
  }

  part(index: number, part: JsonObject): void {
    const candidate = `{"content":{"parts":[${plainLines(JSON.stringify(part))}],"role":"model"},"index":${index}}`;
    this.#text += `data: {"candidates":[${candidate}],${this.#foot}}\n\n`;
  }

  tail(metered: Metered, credit: MicroCredits): string {
    const candidates: JsonObject[] = [];
    for (const [index, end] of [...this.#writer.ends].toSorted(([a], [b]) => a - b)) {
      const members = endMembers(end);
      if (members === undefined) return this.failureTail(brokenOff(), metered, credit);
      candidates.push({ content: { parts: [{ text: "" }], role: "model" }, ...members, index });
    }
    const said = plainLines(JSON.stringify(candidates));
    const usage = JSON.stringify(encodeUsage(metered.usage));
    return `data: {"candidates":${said},"usageMetadata":${usage},${this.#foot},"credit":${creditsText(credit)}}\n\n`;
  }

  failureTail(error: GatewayError, _metered: Metered, credit: MicroCredits | undefined): string {
    const charge = credit === undefined ? "" : `,"credit":${creditsText(credit)}`;
    return `data: ${plainLines(JSON.stringify(encodeError(error))).slice(0, -1)}${charge}}\n\n`;
  }
}

function footOf(id: string | undefined, context: AnswerContext): string {
  const { model } = context;
  return `"modelVersion":${JSON.stringify(model)},"responseId":${JSON.stringify(answerId(id, context))}`;
}

/** The line ends of Unicode as escapes: the format's own clients end a line at them, and lose the rest of the chunk. */
function plainLines(text: string): string {
  return /[\u2028\u2029\u0085]/.test(text)
    ? text.replace(/[\u2028\u2029\u0085]/g, (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, "0")}`)
    : text;
}
