import type { ChatEvent } from "../../../core/chat.ts";
import {
  filledText,
  isJsonObject,
  type JsonObject,
  objectsIn,
  present,
} from "../../../core/json/json-value.ts";
import type { EventDecoder } from "../../translate.ts";
import { isEmpty } from "../empty.ts";
import { type ChoiceDecoder, openChoice, type TextMember } from "./decode-choice.ts";

/** A whole answer as the events that its stream would have been: each message is one delta. */
export function decodeAnswer(answer: JsonObject): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const decoder = openDecoder((event) => void events.push(event));
  const choices = objectsIn(answer.choices).map((choice) =>
    Object.assign({}, choice, { delta: choice.message }),
  );
  decoder.read({ ...answer, choices });
  decoder.end();
  return events;
}

/** A decoder of a stream. */
export function openDecoder(say: (event: ChatEvent) => void): EventDecoder {
  return new AnswerReader(say);
}

/** Reads one answer, chunk by chunk. No choice is told to be finished before all are. */
class AnswerReader implements EventDecoder {
  more: EventDecoder["more"];
  readonly #say: (event: ChatEvent) => void;
  readonly #choices = new Map<number, ChoiceDecoder>();
  #id: string | undefined;
  #hasStarted = false;

  constructor(say: (event: ChatEvent) => void) {
    this.#say = say;
  }

  read(chunk: JsonObject): void {
    this.more = undefined;
    this.#id ??= filledText(chunk.id);
    const choices = objectsIn(chunk.choices);
    // Azure begins with a chunk that has neither an id nor a choice.
    if (!this.#hasStarted && (this.#id !== undefined || choices.length > 0)) this.#start();
    for (const [place, choice] of choices.entries()) this.#choiceAt(choice, place).read(choice);
    const [only] = choices;
    const member = choices.length === 1 && only !== undefined ? textAlone(only) : undefined;
    if (member !== undefined && only !== undefined) this.more = this.#choiceAt(only, 0).moreOf(member);
  }

  end(): void {
    if (!this.#hasStarted) this.#start();
    if (this.#choices.size === 0) this.#choiceAt({}, 0);
    for (const [, choice] of [...this.#choices].sort(([a], [b]) => a - b)) choice.end();
  }

  #start(): void {
    this.#hasStarted = true;
    this.#say({ type: "start", ...present({ id: this.#id }) });
  }

  #choiceAt({ index }: JsonObject, place: number): ChoiceDecoder {
    const at = typeof index === "number" ? index : place;
    return this.#choices.getOrInsertComputed(at, () =>
      openChoice(at, this.#say, (call) => `call_${this.#id ?? "0"}_${at}_${call}`),
    );
  }
}

/** The one text that a choice says, and nothing beside it. */
function textAlone({ delta, logprobs, finish_reason: reason }: JsonObject): TextMember | undefined {
  if (!isJsonObject(delta) || !isEmpty(reason) || isJsonObject(logprobs)) return undefined;
  let found: TextMember | undefined;
  for (const name in delta) {
    if (name === "role" || isEmpty(delta[name])) continue;
    if (found !== undefined || typeof delta[name] !== "string") return undefined;
    if (name !== "content" && name !== "reasoning_content" && name !== "reasoning") return undefined;
    found = name;
  }
  return found;
}
