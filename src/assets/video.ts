import { type ByteReader, nameAt, type Steps, viewOf } from "./byte-reader.ts";

/**
 * Whether an MP4 file is whole (ISO/IEC 14496-12). Boxes must fill it to the last byte, among them a movie with a video
 * track, and its data, in any order.
 */
export function* isWholeVideo(file: ByteReader): Steps<boolean> {
  const found = { data: false, video: false };
  const fills = yield* walkBoxes({ file, boxes: 0 }, Infinity, {
    *mdat(length) {
      const from = file.at;
      yield* file.pass(length);
      found.data ||= file.at > from;
    },
    moov: inside({
      trak: inside({
        mdia: inside({
          *hdlr(length) {
            const head = length < 12 ? undefined : yield* file.take(12);
            found.video ||= head !== undefined && nameAt(head, 8) === "vide";
          },
        }),
      }),
    }),
  });
  return fills && found.data && found.video;
}

/** Handles the contents of a box of `length` bytes; what it leaves unread is skipped. */
type Visit = (length: number, walk: Walk) => Steps<unknown>;
type Visits = Readonly<Record<string, Visit>>;

interface Walk {
  readonly file: ByteReader;
  /** How many boxes there were. */
  boxes: number;
}

/** A file has some dozens, fragments included some thousands. */
const MAX_BOXES = 100_000;

/** A box that holds boxes; anything else within it is skipped. */
function inside(visits: Visits): Visit {
  return (length, walk) => walkBoxes(walk, length, visits);
}

/** Goes over the boxes of a span and tells whether they fill it exactly. Reads nothing behind it. */
function* walkBoxes(walk: Walk, length: number, visits: Visits): Steps<boolean> {
  const { file } = walk;
  const end = file.at + length;
  while (file.at < end) {
    if (end === Infinity && (yield* file.peek(1)).length === 0) return true;
    walk.boxes += 1;
    if (end - file.at < 8 || walk.boxes > MAX_BOXES) return false;
    const start = file.at;
    const head = yield* file.take(8);
    if (head === undefined) return false;
    const type = nameAt(head, 4);
    let size = viewOf(head).getUint32(0);
    // To the end of the span.
    if (size === 0) size = end - start;
    else if (size === 1) {
      const long = end - file.at < 8 ? undefined : yield* file.take(8);
      if (long === undefined) return false;
      size = Number(viewOf(long).getBigUint64(0));
    }
    if (start + size < file.at || start + size > end) return false;
    const visit = Object.hasOwn(visits, type) ? visits[type] : undefined;
    if (visit !== undefined) yield* visit(start + size - file.at, walk);
    if (!(yield* file.pass(start + size - file.at))) return false;
  }
  return true;
}
