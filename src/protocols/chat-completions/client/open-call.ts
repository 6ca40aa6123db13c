/** A call as its fragments tell it. */
export interface OpenCall {
  readonly id: string;
  readonly name: string;
  readonly custom: boolean;
  /** What came of its input before its part was begun. */
  held: string;
  signature: string;
  state: "waits" | "open" | "ended";
  readonly input: ReturnType<typeof openInputEnd>;
}

/** Finds the end of the JSON object that a call is called with, when somebody wants to know it: each character once. */
export function openInputEnd() {
  let unread = "";
  let depth = 0;
  let inString = false;
  let isEscaped = false;
  let hasEnded = false;

  const step = (code: number): void => {
    if (inString) {
      if (isEscaped) isEscaped = false;
      else if (code === BACKSLASH) isEscaped = true;
      else if (code === QUOTE) inString = false;
    } else if (code === QUOTE) inString = true;
    else if (code === OPEN_OBJECT || code === OPEN_LIST) depth += 1;
    else if (code === CLOSE_OBJECT || code === CLOSE_LIST) {
      depth -= 1;
      hasEnded = depth <= 0;
    }
  };

  return {
    add(text: string): void {
      unread += text;
    },
    /** Whether the object has been closed. */
    get hasEnded(): boolean {
      const text = unread;
      unread = "";
      for (let i = 0; i < text.length && !hasEnded; i += 1) step(text.charCodeAt(i));
      return hasEnded;
    },
  };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
