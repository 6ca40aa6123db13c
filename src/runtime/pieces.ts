/** Bytes in one piece. */
const PIECE_BYTES = 64 * 1024;

/** What a sender learns of its body. */
export interface PieceWatch {
  /** The client has taken a piece; `left` bytes are still here. */
  onTaken(left: number): void;
  /** Nothing is held any more: the client took all of it, or wants no more. */
  onGone(): void;
}

/** A body that is sent in pieces. */
export interface PiecewiseBody {
  /** The body from its beginning; again only where nothing was taken. */
  open(): ReadableStream<Uint8Array>;
  /** Lets go of what is left: the client does not always cancel. */
  letGo(): void;
}

/**
 * The bytes as the body of a request, whose `content-length` must be among its headers. Measured on Bun 1.4.5: the HTTP
 * client takes the first piece when it is connected, TLS included. It takes no more than 4 MiB that the server does not
 * read. Of any other body it keeps a copy until the answer has ended.
 */
export function inPieces(bytes: Uint8Array, { onTaken, onGone }: PieceWatch): PiecewiseBody {
  let left: Uint8Array | undefined = bytes;
  const letGo = (): void => {
    if (left === undefined) return;
    left = undefined;
    onGone();
  };
  const pull = (controller: ReadableStreamDefaultController<Uint8Array>): void => {
    if (left === undefined) return;
    controller.enqueue(left.subarray(0, PIECE_BYTES));
    left = left.subarray(PIECE_BYTES);
    onTaken(left.length);
    if (left.length > 0) return;
    letGo();
    controller.close();
  };
  // Without a piece in advance: what was taken is the client's.
  return { open: () => new ReadableStream({ pull, cancel: letGo }, { highWaterMark: 0 }), letGo };
}
