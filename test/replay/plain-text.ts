import { type Json, rewrittenText, type Spelling, textOf, writeObject } from "./wire-json.ts";

/** The recorded answer, as bytes in a spelling of its own. */
export function plainText(
  recorded: Json,
  spelling: Spelling,
  modelMember: string | undefined,
  echoed: Readonly<Record<string, Json>> = {},
): { readonly sent: string; readonly wanted: WantedText } {
  const written = writeObject(recorded, spelling);
  return {
    sent: textOf(written),
    wanted: (modelId, credit, added = []) =>
      rewrittenText(written, {
        replace: {
          ...(modelMember === undefined ? {} : { [modelMember]: JSON.stringify(modelId) }),
          ...Object.fromEntries(
            Object.entries(echoed).map(([name, value]: [string, Json]) => [name, JSON.stringify(value)]),
          ),
        },
        append: [
          ...(modelMember === "model" && recorded.model === undefined
            ? [`"model":${JSON.stringify(modelId)}`]
            : []),
          ...added,
          `"credit":${credit}`,
        ],
      }),
  };
}

/** The client's bytes for a model id, a credit, and members that stand before it where the provider had none. */
export type WantedText = (modelId: string, credit: string, added?: readonly string[]) => string;
