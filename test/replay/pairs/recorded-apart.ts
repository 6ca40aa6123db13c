/** Where the recordings of one case ask for different things in different wires; the translation keeps what was asked. */
export interface RecordedApart {
  readonly at: RegExp;
  readonly why: string;
  /** Holds for the second turn of a case alone. */
  readonly isSecond?: true;
  /** Holds for these cases alone. */
  readonly cases?: RegExp;
}

/** What the comparison with the recorded request leaves out, where what arrives is what the caller asked for. */
export const RECORDED_APART: readonly RecordedApart[] = [
  {
    at: /^turns\[\d+\]\.parts(\.length|\[\d+\](\.(text|type|id|name|input.*|callId|parts.*|isError|signature))?)$/,
    why: "second turns hold each model's own first answer, with its words, thoughts and calls",
    isSecond: true,
  },
  {
    at: /^turns(\[\d+\]\.role|\.length)$/,
    why: "second turns hold each model's own first answer",
    isSecond: true,
  },
  {
    at: /^turns\[0\]\.parts\[0\]\.text$/,
    why: "the question was worded otherwise in the other wire",
    cases:
      /^(parallelToolCallsDisabled|stopSequences|reasoningSummary|safetyIdentifier|storeDisabled|textFormatJson\w+)Param$/,
  },
  {
    at: /^turns\[1\]\.parts\[0\]\.signature$/,
    why: "the signature was recorded in one wire alone",
    cases: /^googleToolCallThoughtSignatureReplayParam$/,
  },
  { at: /^maxOutputTokens$/, why: "each wire was recorded with a bound of its own, or with none" },
  {
    at: /^thinking(\.(mode|effort|budgetTokens|hidden))?$/,
    why: "each wire was recorded with its own way to ask for thinking, or without",
  },
  { at: /^(temperature|verbosity|user|cacheKey)$/, why: "was recorded in one of the two alone" },
  { at: /^webSearch\.mostUses$/, why: "was recorded in one of the two alone" },
  {
    at: /^(responseFormat(\.schema)?|tools\[\d+\])\.(name|description|strict)$/,
    why: "names, descriptions and strictness were recorded where the wire has them",
  },
  {
    at: /\.additionalProperties$/,
    why: "closed objects were recorded for vendors that ask for them",
  },
  { at: /^toolChoice/, why: "auto was recorded for some, and nothing for others" },
  { at: /\.cache(\.ttl)?$/, why: "how long a prefix is kept was recorded where the wire has it" },
  { at: /^outputModalities$/, why: "text was said where the model could give images" },
];
