import type { JsonObject } from "../../../core/json/json-value.ts";

/** Told of the events of one answer, of those between its beginning and its end. */
export interface ItemSink {
  /** An event of this type, with these members behind its number. */
  write(type: string, members: JsonObject): void;
  /** More text, by how the deltas of what is open are written. */
  writeDelta(form: DeltaForm, text: string): void;
}

/** What stands before a delta's number, between that and the text, and behind the text. */
export interface DeltaForm {
  readonly head: string;
  readonly before: string;
  readonly after: string;
}

/** An event up to its number. */
export function eventHead(type: string): string {
  return `event: ${type}\ndata: {"type":"${type}","sequence_number":`;
}

/** How deltas of a type are written that have these members before the text, and `after` behind it. */
export function deltaForm(type: string, members: JsonObject, after = "}\n\n"): DeltaForm {
  return { head: eventHead(type), before: `,${JSON.stringify(members).slice(1, -1)},"delta":`, after };
}
