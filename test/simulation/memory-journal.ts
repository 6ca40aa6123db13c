import type { JournalFile, JournalHome, JournalRecord } from "../../src/ledger/sqlite/journal-file.ts";

/** Records that each of the two files has room for: one, so that they are turned often. */
const MOST_RECORDS = 1;

/** A journal in memory that goes by the rules of the files. `onWrite` may throw before and after a record is there. */
export function memoryJournal(onWrite: (when: "before" | "after") => Promise<void> | void): JournalHome {
  let made: { readonly id: string; files: [JournalRecord[], JournalRecord[]] } | undefined;
  return {
    read: () =>
      made === undefined
        ? undefined
        : { id: made.id, records: made.files.flat().toSorted((one, two) => one.number - two.number) },
    open(id): JournalFile {
      if (made?.id !== id) made = { id, files: [[], []] };
      const { files } = made;
      let [current, other] = [0, 1];
      /** Records of this run: what an earlier one has left is written over. */
      let own = 0;
      let lastOfOther = 0;
      let isTorn = false;
      return {
        id,
        isTooLong: () => false,
        hasRoom: () => own < MOST_RECORDS,
        isHalfFull: () => false,
        lastOfOther: () => lastOfOther,
        async mend() {
          if (isTorn) files[current] = (files[current] ?? []).slice(0, own);
          isTorn = false;
        },
        turn() {
          lastOfOther = files[current]?.[own - 1]?.number ?? 0;
          [current, other] = [other, current];
          own = 0;
        },
        async write(number, bytes) {
          isTorn = true;
          await onWrite("before");
          // What stood behind it is of an earlier turn, and has lower numbers: no reader comes to it.
          files[current] = [...(files[current] ?? []).slice(0, own), { number, text: bytes.toString() }];
          await onWrite("after");
          isTorn = false;
          own += 1;
        },
        close() {},
      };
    },
  };
}
