/**
 * Whether an MP4 file is whole (ISO/IEC 14496-12): boxes that fill it to the last byte, among them a film with a track
 * of pictures, and the data of it.
 */
export function isWholeFilm(bytes: Uint8Array): boolean {
  const boxes = boxesOf(bytes, 0, bytes.length);
  const film = boxes?.find(({ type }) => type === "moov");
  if (boxes === undefined || film === undefined) return false;
  const hasData = boxes.some(({ type, start, end }) => type === "mdat" && end > start);
  return hasData && tracksOf(bytes, film).some((track) => isOfPictures(bytes, track));
}

interface Box {
  readonly type: string;
  /** Where its contents begin and end. */
  readonly start: number;
  readonly end: number;
}

/** A file has some dozens, fragments included some thousands. */
const MAX_BOXES = 100_000;

/** The boxes that fill a span; `undefined` when they do not fill it exactly. */
function boxesOf(bytes: Uint8Array, from: number, to: number): readonly Box[] | undefined {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const boxes: Box[] = [];
  let at = from;
  while (at < to) {
    if (at + 8 > to || boxes.length >= MAX_BOXES) return undefined;
    const type = String.fromCharCode(...bytes.subarray(at + 4, at + 8));
    let size = view.getUint32(at);
    let head = 8;
    if (size === 1) {
      if (at + 16 > to) return undefined;
      size = Number(view.getBigUint64(at + 8));
      head = 16;
    } else if (size === 0) {
      // To the end of the file.
      size = to - at;
    }
    if (size < head || at + size > to) return undefined;
    boxes.push({ type, start: at + head, end: at + size });
    at += size;
  }
  return boxes;
}

function tracksOf(bytes: Uint8Array, film: Box): readonly Box[] {
  return boxesOf(bytes, film.start, film.end)?.filter(({ type }) => type === "trak") ?? [];
}

/** The handler of a track says what it is of. */
function isOfPictures(bytes: Uint8Array, track: Box): boolean {
  const handler = within(bytes, within(bytes, track, "mdia"), "hdlr");
  if (handler === undefined || handler.end - handler.start < 12) return false;
  return String.fromCharCode(...bytes.subarray(handler.start + 8, handler.start + 12)) === "vide";
}

function within(bytes: Uint8Array, box: Box | undefined, type: string): Box | undefined {
  if (box === undefined) return undefined;
  return boxesOf(bytes, box.start, box.end)?.find((each) => each.type === type);
}
