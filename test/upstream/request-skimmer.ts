/** What a skimmer saw of one whole request: a POST to the path it was told, another, or none that it can read. */
export type Skimmed = "asked" | "other" | "unreadable";

/** Counts whole requests in a byte stream and reads no more of them than it must. */
export interface RequestSkimmer {
  push(bytes: Uint8Array): Skimmed[];
}

const CONTENT_LENGTH = /\r\ncontent-length:[ \t]*(\d+)[ \t]*\r\n/i;
const NOTHING = Buffer.alloc(0);

/** Makes a skimmer for one connection; `path` is a path with its query. It knows Content-Length only: chunked requests are unreadable to it. */
export function createRequestSkimmer(path: string): RequestSkimmer {
  const wanted = `POST ${path} HTTP/1.1\r\n`;
  let rest: Buffer = NOTHING;
  let bodyLeft = 0;
  let current: Skimmed = "other";

  const skipBody = (seen: Skimmed[]) => {
    const skipped = Math.min(bodyLeft, rest.length);
    bodyLeft -= skipped;
    rest = rest.subarray(skipped);
    if (bodyLeft === 0) seen.push(current);
  };

  return {
    push(bytes) {
      const seen: Skimmed[] = [];
      rest = rest.length === 0 ? asBuffer(bytes) : Buffer.concat([rest, bytes]);
      if (bodyLeft > 0) skipBody(seen);
      while (bodyLeft === 0 && rest.length > 0) {
        const headEnd = rest.indexOf("\r\n\r\n");
        if (headEnd < 0) break;
        const head = rest.toString("latin1", 0, headEnd + 2);
        rest = rest.subarray(headEnd + 4);
        bodyLeft = Number(CONTENT_LENGTH.exec(head)?.[1] ?? 0);
        current = kindOf(head, wanted);
        skipBody(seen);
      }
      // The runtime may use its read buffer again: only what is kept is copied.
      rest = rest.length === 0 ? NOTHING : Buffer.from(rest);
      return seen;
    },
  };
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

function kindOf(head: string, wanted: string): Skimmed {
  if (/\r\ntransfer-encoding:/i.test(head)) return "unreadable";
  return head.startsWith(wanted) ? "asked" : "other";
}
