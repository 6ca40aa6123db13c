/** Places where a test can make the process die or throw; each is named for the moment it stands at. */
export const FAILPOINTS = [
  "migrate.before_statement",
  "request.authenticated",
  "hold.before_submit",
  "hold.after_commit",
  "upstream.after_headers",
  "upstream.before_retry",
  "stream.after_chunk",
  "settle.before_submit",
  "settle.after_commit",
  "answer.before_end",
  "writer.before_commit",
  "writer.after_commit",
  "note.before_write",
  "note.after_write",
  "notes.begun_anew",
  "journal.before_write",
  "journal.after_write",
  "journal.turned",
  "replay.before_move",
  "replay.after_move",
  "tables.before_move",
  "tables.after_move",
  "tables.before_mark",
  "allotment.before_take",
  "allotment.after_take",
  "allotment.before_save",
  "allotment.after_save",
  "task.before_submit",
  "task.after_submit",
  "task.claimed",
  "task.attempted",
  "task.moved",
  "task.sent",
  "task.refused",
  "task.job_noted",
  "task.polled",
  "task.downloading",
  "task.file_stored",
  "task.before_finish",
  "task.after_finish",
  "task.before_fail",
  "task.before_cancel",
  "task.sweeping",
  "files.forgotten",
  "usage.before_mark",
  "usage.before_rollups",
  "usage.before_commit",
  "usage.after_commit",
] as const;

export type FailpointName = (typeof FAILPOINTS)[number];

/** Called at a failpoint. In a running gateway it does nothing. */
export type Failpoint = (name: FailpointName) => void;

/** The failpoint that never fires. */
export const noFailpoint: Failpoint = () => {};

/**
 * Reads `name:action[:nth]` (actions `kill` and `throw`; `nth` counts passes from 1). The point fires on its
 * nth pass only. Throws a sentence when the text is not of that form.
 */
export function parseFailpoint(text: string, kill: () => void): Failpoint {
  const [name, action, nth = "1"] = text.split(":");
  if (
    !FAILPOINTS.includes(name as FailpointName) ||
    (action !== "kill" && action !== "throw") ||
    !/^[1-9]\d*$/.test(nth)
  ) {
    throw new Error(
      `The failpoint "${text}" is not name:kill or name:throw with one of ${FAILPOINTS.join(", ")}.`,
    );
  }
  let remaining = Number(nth);
  return (passed) => {
    if (passed !== name) return;
    remaining -= 1;
    if (remaining !== 0) return;
    if (action === "kill") kill();
    throw new Error(`failpoint ${name}`);
  };
}
