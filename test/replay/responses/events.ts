import { messagesEvents, type MessagesEvent } from "../messages/events.ts";
import type { Json } from "../wire-json.ts";

/** Events of which exactly one ends a stream. */
export const LAST = /^response\.(completed|incomplete|failed)$/;

/** The whole events of a stream; a mark of its end that is no event left out. */
export function responsesEvents(text: string): MessagesEvent[] {
  return messagesEvents(text.replaceAll(/^data: ?\[DONE\]\r?$/gm, ""));
}

/** What the gateway puts into every response object of a stream. */
export interface Own {
  readonly model: string;
  /** Members that repeat what the client sent. */
  readonly echo: Json;
}

/** The events that a client must get for recorded ones, when the charge came to `credit`; texts as they are written. */
export function wantedEvents(recorded: string, own: Own, credit: string): string[] {
  const events = responsesEvents(recorded);
  const end = events.findIndex(({ value }) => LAST.test(value.type));
  const told = new Set<number>();
  let added = 0;
  return events.slice(0, end + 1).flatMap(({ data, value }, at) => {
    if (value.type === "keepalive" || value.type === "response.rate_limits.updated") return [];
    const missing = missingDelta(value, told, added);
    if (missing !== undefined) added += 1;
    const spoken =
      value.response === undefined ? data : withOwn(data, value, own, at === end ? credit : undefined);
    const said =
      added === 0
        ? spoken
        : spoken.replace(/"sequence_number":\d+/, `"sequence_number":${value.sequence_number + added}`);
    return [...(missing === undefined ? [] : [missing]), `event: ${value.type}\ndata: ${said}\n\n`];
  });
}

/**
 * The one repair of a stream. A call of which the server told no argument before its end has them all in one delta, for
 * clients that read nothing else. What follows is numbered on.
 */
function missingDelta(value: Json, told: Set<number>, added: number): string | undefined {
  const type = "response.function_call_arguments.delta";
  const { output_index: index, item_id, sequence_number: number, arguments: delta } = value;
  if (value.type === type) told.add(index);
  if (value.type !== "response.function_call_arguments.done" || told.has(index)) return undefined;
  told.add(index);
  const event = { type, item_id, output_index: index, delta, sequence_number: number + added };
  return `event: ${type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** The data of an event with the gateway's own in its response object, which is its last member or followed by a number. */
function withOwn(data: string, { response }: Json, { model, echo }: Own, credit: string | undefined): string {
  let text = data.replace(/"model":(\s*)"[^"]*"/, (_, space) => `"model":${space}${JSON.stringify(model)}`);
  const more: string[] = response.model === undefined ? [`"model":${JSON.stringify(model)}`] : [];
  for (const [name, value] of Object.entries(echo)) {
    const said = JSON.stringify(value);
    if (!(name in response)) more.push(`"${name}":${said}`);
    else if (JSON.stringify(response[name]) !== said)
      text = text.replace(
        new RegExp(`"${name}":(\\s*)(${JSON.stringify(response[name])})`),
        `"${name}":$1${said}`,
      );
  }
  if (credit !== undefined) more.push(`"credit":${credit}`);
  if (more.length === 0) return text;
  return text.replace(
    /(\s*\}(?:,\s*"(?:sequence_number|type)":\s*[^,{}]+)*\s*\}\s*)$/,
    `,${more.join(",")}$1`,
  );
}
