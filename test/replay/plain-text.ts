import { type Json, rewrittenText, type Spelling, textOf, writeObject } from "./wire-json.ts";

/** The recorded answer, as bytes in a spelling of its own. */
export function plainText(
  recorded: Json,
  spelling: Spelling,
  modelMember: string | undefined,
): { readonly sent: string; readonly wanted: WantedText } {
  const written = writeObject(recorded, spelling);
  return {
    sent: textOf(written),
    wanted: (modelId, credit) =>
      rewrittenText(written, {
        replace: modelMember === undefined ? {} : { [modelMember]: JSON.stringify(modelId) },
        append: [
          ...(modelMember === "model" && recorded.model === undefined
            ? [`"model":${JSON.stringify(modelId)}`]
            : []),
          `"credit":${credit}`,
        ],
      }),
  };
}

/** The client's bytes for a model id and a credit. */
export type WantedText = (modelId: string, credit: string) => string;
