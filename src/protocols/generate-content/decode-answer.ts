import type { ChatEvent } from "../../core/chat.ts";
import { GatewayError } from "../../core/errors.ts";
import { isJsonObject, type JsonObject } from "../../core/json-value.ts";
import { parseExact } from "../exact-json.ts";
import type { EventDecoder } from "../translate.ts";
import { isBlocked } from "./answer.ts";
import { type Blocked, type CandidateDecoder, createCandidateDecoder } from "./decode-candidate.ts";

/**
 * A whole answer as events, by the way that a streamed one takes. Throws `content_moderation` for a prompt that was
 * blocked: in this format that is an answer, in others an error.
 */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  if (isBlocked(answer) && candidatesOf(answer).length === 0) {
    const message = blockedOf(answer)?.message;
    throw new GatewayError(
      "content_moderation",
      message === undefined
        ? "The provider blocked the prompt."
        : `The provider blocked the prompt: ${message}`,
    );
  }
  const events: ChatEvent[] = [];
  const chunks = createChunkDecoder((event) => void events.push(event));
  chunks.read(answer);
  chunks.end();
  return events;
}

/** A decoder of a stream. No choice is told to be finished before all are. */
export function openDecoder(say: (event: ChatEvent) => void): EventDecoder {
  const chunks = createChunkDecoder(say);
  return {
    read(data) {
      // Only what a tool is called with is written again, and must keep its digits.
      const chunk = data.includes("functionCall") ? parseExact(data) : JSON.parse(data);
      if (isJsonObject(chunk)) chunks.read(chunk);
    },
    end: () => chunks.end(),
  };
}

interface ChunkDecoder {
  read(chunk: JsonObject): void;
  end(): void;
}

function createChunkDecoder(say: (event: ChatEvent) => void): ChunkDecoder {
  const choices = new Map<number, CandidateDecoder>();
  let responseId: string | undefined;
  let started = false;
  let blocked: Blocked | undefined;

  const choiceAt = (index: number): CandidateDecoder => {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const made = createCandidateDecoder(
      index,
      say,
      (call) => `call_${digest(`${responseId ?? ""} ${call}`)}`,
    );
    choices.set(index, made);
    return made;
  };

  return {
    read(chunk) {
      if (typeof chunk.responseId === "string" && chunk.responseId !== "") responseId ??= chunk.responseId;
      if (!started) {
        say({ type: "start", ...(responseId === undefined ? {} : { id: responseId }) });
        started = true;
      }
      blocked ??= blockedOf(chunk);
      let before = -1;
      for (const [place, candidate] of candidatesOf(chunk).entries()) {
        // An index of 0 may be left out; where all are, the place says which it is.
        const { index = place === before + 1 ? place : 0 } = candidate;
        before = typeof index === "number" ? index : 0;
        choiceAt(before).read(candidate);
      }
    },
    end() {
      if (choices.size === 0) choiceAt(0);
      for (const [, choice] of [...choices].sort(([a], [b]) => a - b)) choice.end(blocked);
    },
  };
}

function candidatesOf({ candidates }: JsonObject): readonly JsonObject[] {
  return Array.isArray(candidates) ? candidates.filter(isJsonObject) : [];
}

function blockedOf(chunk: JsonObject): Blocked | undefined {
  if (!isBlocked(chunk) || !isJsonObject(chunk.promptFeedback)) return undefined;
  const { blockReason, blockReasonMessage } = chunk.promptFeedback;
  const message = [blockReasonMessage, blockReason].find((said) => typeof said === "string" && said !== "");
  return typeof message === "string" ? { message } : {};
}

/** Sixteen hexadecimal digits that are the same for the same text: two FNV-1a of 32 bits. */
function digest(text: string): string {
  let [low, high] = [0x811c9dc5, 0x01000193];
  for (let i = 0; i < text.length; i += 1) {
    low = Math.imul(low ^ text.charCodeAt(i), 0x01000193);
    high = Math.imul(high ^ text.charCodeAt(i) ^ i, 0x85ebca6b);
  }
  const hex = (half: number): string => (half >>> 0).toString(16).padStart(8, "0");
  return hex(low) + hex(high);
}
