import { type ByteBuilder, createByteBuilder } from "../core/bytes/byte-builder.ts";
import { type EventForm, MATCHED } from "./event-form.ts";

/** Writes events of one form. */
export interface RepeatWriter {
  /** The event at `[start, end)`, which has just been matched. */
  write(bytes: Uint8Array, start: number, end: number): void;
  /** There are no more in `bytes`. */
  flush(bytes: Uint8Array): void;
}

const NOTHING = new Uint8Array(0);

/**
 * A writer that does to events of this form what `copy` does to the one that the form was learned of. That event stands
 * at `wholeStart` of `source`. `undefined` where a hole is neither kept nor left out whole.
 */
export function openRepeatWriter(
  form: EventForm,
  source: Uint8Array,
  wholeStart: number,
  copy: (into: ByteBuilder) => void,
  out: ByteBuilder,
): RepeatWriter | undefined {
  const recorded = recordCopy(form, source, wholeStart, copy);
  if (recorded === undefined) return undefined;
  return isUnchanged(form, recorded) ? new WholeWriter(out) : new PartWriter(recorded, out);
}

/** Writes events in a row as they came, in one piece. */
class WholeWriter implements RepeatWriter {
  readonly #out: ByteBuilder;
  #from = -1;
  #to = -1;

  constructor(out: ByteBuilder) {
    this.#out = out;
  }

  write(_bytes: Uint8Array, start: number, end: number): void {
    if (this.#from === -1) this.#from = start;
    this.#to = end;
  }

  flush(bytes: Uint8Array): void {
    if (this.#from !== -1) this.#out.lend(bytes, this.#from, this.#to);
    this.#from = -1;
  }
}

/** Writes the fixed pieces, and between them the holes that are kept. */
class PartWriter implements RepeatWriter {
  readonly #copy: RecordedCopy;
  readonly #out: ByteBuilder;

  constructor(copy: RecordedCopy, out: ByteBuilder) {
    this.#copy = copy;
    this.#out = out;
  }

  write(bytes: Uint8Array): void {
    const out = this.#out;
    const { fixed, kept } = this.#copy;
    const { starts, ends } = MATCHED;
    for (let i = 0; i < kept.length; i += 1) {
      const hole = kept[i] as number;
      out.add(fixed[i] as Uint8Array);
      out.add(bytes, starts[hole], ends[hole]);
    }
    out.add(fixed[kept.length] as Uint8Array);
  }

  flush(): void {}
}

interface RecordedCopy {
  /** What is written before each hole that is kept, and after the last. */
  readonly fixed: readonly Uint8Array[];
  /** The holes that are kept, in their order. */
  readonly kept: readonly number[];
}

function recordCopy(
  { holes }: EventForm,
  source: Uint8Array,
  wholeStart: number,
  copy: (into: ByteBuilder) => void,
): RecordedCopy | undefined {
  const fixed: Uint8Array[] = [];
  const kept: number[] = [];
  const piece = createByteBuilder(512);
  let isWhole = true;
  copy({
    add(bytes, start = 0, end = bytes.length) {
      let from = start;
      for (let i = 0; bytes === source && i < holes.length; i += 1) {
        const hole = holes[i] as EventForm["holes"][number];
        const [holeStart, holeEnd] = [wholeStart + hole.start, wholeStart + hole.end];
        if (holeEnd < from || holeStart > end || kept.includes(i)) continue;
        // One without bytes stands on the edge of what is left out as well as of what is kept.
        if (holeStart < from || holeEnd > end) isWhole &&= holeEnd === from || holeStart === end;
        else {
          piece.add(bytes, from, holeStart);
          fixed.push(piece.take() ?? NOTHING);
          kept.push(i);
          from = holeEnd;
        }
      }
      piece.add(bytes, from, end);
    },
    lend() {},
    take: () => undefined,
    length: 0,
  });
  fixed.push(piece.take() ?? NOTHING);
  const isLeftOut = (_: unknown, i: number): boolean => kept.includes(i) || holes[i]?.kind === "cut";
  return isWhole && holes.every(isLeftOut) ? { fixed, kept } : undefined;
}

/** Whether events of the form are written byte for byte as they came. */
function isUnchanged({ holes, bytes }: EventForm, { fixed, kept }: RecordedCopy): boolean {
  if (kept.length !== holes.length) return false;
  return fixed.every((piece, i) => {
    const start = holes[i - 1]?.end ?? 0;
    const end = holes[i]?.start ?? bytes.length;
    return Buffer.compare(piece, bytes.subarray(start, end)) === 0;
  });
}
