import type { ChatEvent } from "../core/chat.ts";
import type { JsonObject } from "../core/json/json-value.ts";

// A format without stop sequences is not told of them: its model goes on, and the answer ends here before the first one.

const NOTE = "stop_sequences";

/** What an answer's reader must know of its request; see `AnswerContext.echo`. */
export function noteStops(echo: JsonObject | undefined, asked: readonly string[]): JsonObject | undefined {
  const stops = asked.filter((stop) => stop !== "");
  return stops.length === 0 ? echo : { ...echo, [NOTE]: stops };
}

/** Hands events on to `say` up to the first stop sequence in a text of a choice, and its end in place of all others. */
export function untilStop(
  echo: JsonObject | undefined,
  say: (event: ChatEvent) => void,
): (event: ChatEvent) => void {
  const stops = echo?.[NOTE];
  if (!Array.isArray(stops)) return say;
  const sequences = stops.filter((stop) => typeof stop === "string");
  const choices = new Map<number, ChoiceCutter>();
  return (event) => {
    if (event.type === "start") return say(event);
    choices.getOrInsertComputed(event.choice, () => new ChoiceCutter(sequences, say)).hear(event);
  };
}

class ChoiceCutter {
  readonly #stops: readonly string[];
  readonly #say: (event: ChatEvent) => void;
  /** The end of the open text, which a stop sequence may begin with. */
  #held = "";
  #isText = false;
  /** The stop sequence that the answer has ended before. */
  #stop: string | undefined;

  constructor(stops: readonly string[], say: (event: ChatEvent) => void) {
    this.#stops = stops;
    this.#say = say;
  }

  hear(event: Exclude<ChatEvent, { readonly type: "start" }>): void {
    if (event.type === "finish") {
      const { choice } = event;
      const stop = this.#stop;
      return this.#say(stop === undefined ? event : { type: "finish", choice, reason: "stop", stop });
    }
    if (this.#stop !== undefined) return;
    if (event.type === "part_start") this.#isText = event.part.type === "text";
    if (!this.#isText) return this.#say(event);
    if (event.type === "delta") return this.#hearText(event);
    if (event.type === "part_end" && this.#held !== "") {
      this.#say({ ...event, type: "delta", text: this.#held });
      this.#held = "";
    }
    this.#say(event);
  }

  #hearText(event: Extract<ChatEvent, { readonly type: "delta" }>): void {
    const text = this.#held + event.text;
    const stop = this.#firstStop(text);
    const end = stop === undefined ? text.length - this.#heldLength(text) : text.indexOf(stop);
    this.#held = text.slice(end);
    if (end > 0) this.#say({ ...event, text: text.slice(0, end) });
    if (stop === undefined) return;
    this.#stop = stop;
    this.#say({ type: "part_end", choice: event.choice, index: event.index });
  }

  /** The one that is whole first, as a model would have ended there, and however the text is cut. */
  #firstStop(text: string): string | undefined {
    const endOf = (stop: string): number => text.indexOf(stop) + stop.length;
    const found = this.#stops.filter((stop) => text.includes(stop));
    return found.toSorted((a, b) => endOf(a) - endOf(b) || b.length - a.length)[0];
  }

  /** How much of the text's end some sequence begins with. */
  #heldLength(text: string): number {
    const lengths = this.#stops.map((stop) => {
      let length = Math.min(stop.length - 1, text.length);
      while (length > 0 && !text.endsWith(stop.slice(0, length))) length -= 1;
      return length;
    });
    return Math.max(0, ...lengths);
  }
}
