import type { BegunPart, ChatEvent, Citation } from "../core/chat.ts";

/** Tells the parts of one choice, one after another. */
export type PartWriter = ReturnType<typeof openPartWriter>;

/**
 * A writer for one choice that hands its events to `say`. A part ends where the next one begins; text and signatures
 * that come while none is open belong to no part, and are not told.
 */
export function openPartWriter(choice: number, say: (event: ChatEvent) => void) {
  let index = -1;
  let open: BegunPart["type"] | undefined;
  let isEmpty = true;
  let signature = "";

  const end = (): void => {
    if (open === undefined) return;
    if (signature !== "") say({ type: "signature", choice, index, signature });
    say({ type: "part_end", choice, index });
    open = undefined;
    signature = "";
  };

  return {
    begin(part: BegunPart): void {
      end();
      index += 1;
      open = part.type;
      isEmpty = true;
      say({ type: "part_start", choice, index, part });
    },
    /** More of the open part. */
    add(text: string): void {
      if (open === undefined || text === "") return;
      isEmpty = false;
      say({ type: "delta", choice, index, text });
    },
    /** More of the open part's signature, which is told whole. */
    sign(more: string): void {
      if (open !== undefined) signature += more;
    },
    /** A page that a text rests on: the last part, or an earlier one. */
    cite: (citation: Citation, at = index): void => say({ type: "citation", choice, index: at, citation }),
    end,
    /** The type of the open part. */
    get open() {
      return open;
    },
    /** Whether nothing has come of the open part yet. */
    get isEmpty() {
      return isEmpty;
    },
    /** Parts so far. */
    get count() {
      return index + 1;
    },
  };
}
