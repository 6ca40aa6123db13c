import type { BegunPart, ChatEvent } from "../../core/chat.ts";

/** Tells the parts of one choice, one after another. */
export interface PartWriter {
  /** More text or thinking: by the part that is open when it is of that kind, else by a new one. */
  add(kind: "text" | "thinking", delta: string): void;
  /** The signature of a text or of thinking. A text has no place for it where it goes: it comes as thinking behind. */
  signText(signature: string): void;
  /** A part that is there all at once. */
  whole(part: BegunPart, signature: string | undefined, delta?: string): void;
  close(): void;
  /** Parts so far. */
  readonly count: number;
  /** The whole text, and the index of the last part of it; -1 where there is none. */
  readonly text: string;
  readonly lastText: number;
}

/** A writer for one choice that hands its events to `say`. */
export function createPartWriter(choice: number, say: (event: ChatEvent) => void): PartWriter {
  let count = 0;
  let open: "text" | "thinking" | undefined;
  let text = "";
  let lastText = -1;

  const close = (): void => {
    if (open === undefined) return;
    say({ type: "part_end", choice, index: count - 1 });
    open = undefined;
  };

  const begin = (part: BegunPart): void => {
    close();
    say({ type: "part_start", choice, index: count, part });
    count += 1;
  };

  const sign = (signature: string | undefined): void => {
    if (signature !== undefined) say({ type: "signature", choice, index: count - 1, signature });
  };

  return {
    add(kind, delta) {
      if (delta === "") return;
      if (open !== kind) {
        begin(kind === "text" ? { type: "text" } : { type: "thinking", issuer: "google" });
        open = kind;
      }
      if (kind === "text") {
        text += delta;
        lastText = count - 1;
      }
      say({ type: "delta", choice, index: count - 1, text: delta });
    },
    signText(signature) {
      if (open !== "thinking") begin({ type: "thinking", issuer: "google" });
      open = "thinking";
      sign(signature);
      close();
    },
    whole(part, signature, delta) {
      begin(part);
      if (delta !== undefined) say({ type: "delta", choice, index: count - 1, text: delta });
      sign(signature);
      say({ type: "part_end", choice, index: count - 1 });
    },
    close,
    get count() {
      return count;
    },
    get text() {
      return text;
    },
    get lastText() {
      return lastText;
    },
  };
}
