import type { ChatEvent } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import type { EventDecoder } from "../../translate.ts";
import { isBlocked } from "../answer.ts";
import { type CandidateDecoder, openCandidate, textAlone } from "./decode-candidate.ts";

/**
 * A whole answer as events, by the way that a streamed one takes. Throws `content_moderation` for a prompt that was
 * blocked: in this format that is an answer, in others an error.
 */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  const blocked = blockedOf(answer);
  if (blocked !== undefined && objectsIn(answer.candidates).length === 0) {
    const why = blocked === "" ? "." : `: ${blocked}`;
    throw new GatewayError("content_moderation", `The provider blocked the prompt${why}`);
  }
  const events: ChatEvent[] = [];
  const chunks = openDecoder((event) => void events.push(event));
  chunks.read(answer);
  chunks.end();
  return events;
}

/** A decoder of a stream. No choice is told to be finished before all are. */
export function openDecoder(say: (event: ChatEvent) => void): EventDecoder {
  const choices = new Map<number, CandidateDecoder>();
  let id: string | undefined;
  let started = false;
  let blocked: string | undefined;
  let more: ((text: string) => void) | undefined;

  const choiceAt = (index: number): CandidateDecoder =>
    choices.getOrInsertComputed(index, () =>
      openCandidate(index, say, (call) => `call_${digest(`${id ?? ""} ${call}`)}`),
    );

  return {
    read(chunk) {
      id ??= filledText(chunk.responseId);
      if (!started) say({ type: "start", ...present({ id }) });
      started = true;
      blocked ??= blockedOf(chunk);
      let before = -1;
      const candidates = objectsIn(chunk.candidates);
      for (const [place, candidate] of candidates.entries()) {
        // An index of 0 may be left out; where all are, the place says which it is.
        const { index = place === before + 1 ? place : 0 } = candidate;
        before = typeof index === "number" ? index : 0;
        choiceAt(before).read(candidate);
      }
      const [only, ...others] = candidates;
      const part = only === undefined || others.length > 0 ? undefined : textAlone(only);
      more = part && choiceAt(before).moreLike(part);
    },
    get more() {
      return more;
    },
    end() {
      if (choices.size === 0) choiceAt(0);
      for (const [, choice] of [...choices].sort(([a], [b]) => a - b)) choice.end(blocked);
    },
  };
}

/** What is said of a prompt that was not answered, or not to its end; "" where nothing is. */
function blockedOf(chunk: JsonObject): string | undefined {
  if (!isBlocked(chunk) || !isJsonObject(chunk.promptFeedback)) return undefined;
  const { blockReason, blockReasonMessage } = chunk.promptFeedback;
  return filledText(blockReasonMessage) ?? filledText(blockReason) ?? "";
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
