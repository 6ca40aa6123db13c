import { MOST_CHAT_STOPS } from "../core/model.ts";

/**
 * What a vendor's chat completions differ in from the reference, on the way up. Every member is one quirk, by
 * evidence of the vendors table; the code knows quirks and no vendors. A quirk that is a model's and not its
 * provider's stands with the model (`ThinkingFacts` in core/model.ts, `ignoredParameters`, `maxTokensField`).
 */
export interface ChatDialect {
  /**
   * Fields that it takes beside those that every server takes, of the reference or its own. Another field of the reference is left out
   * with a warning, or is a 400 where the answer would be another one. Absent: it takes all of the reference.
   */
  readonly takes?: readonly string[];
  /** Fields that it has under another name: `seed` is `random_seed` at Mistral. */
  readonly renames: Readonly<Record<string, string>>;
  /** Whether it knows the role `developer`; else `system` is sent. */
  readonly developerRole: boolean;
  /** Whether `content` may be null beside tool calls; else it is sent as "". */
  readonly nullContent: boolean;
  /** The only members of a message that it takes; absent: it takes any that are not named below. */
  readonly messageFields?: readonly string[];
  /** Members of earlier messages in which it takes its reasoning back as it gave it; all others of the kind are cut. */
  readonly reasoningBack: readonly ReasoningField[];
  /** Whether it takes `reasoning_details` of other issuers too; else only OpenRouter's own items, `reasoning.…`. */
  readonly foreignDetails: boolean;
  /** Whether it takes `images` of earlier answers back. */
  readonly messageImages: boolean;
  /**
   * Whether it takes `thought_signature` in the media type of a data URL; else it is cut and the image stays. A model
   * that puts out images is sent its signatures in any case.
   */
  readonly imageSignatures: boolean;
  /** The fields by which it is asked to think. */
  readonly thinking: ThinkingFields;
  /** Whether the bound on output counts reasoning too; else reasoning comes on top of it. */
  readonly boundsReasoning: boolean;
  /** Choices of tools that it can do: any; any but one by name; not being forced to call one; nor being kept from it. */
  readonly toolChoice: "full" | "words" | "auto_none" | "auto";
  /** What `response_format` may be beside text. */
  readonly jsonSchema: boolean;
  readonly jsonObject: boolean;
  /** Whether `n` may be more than one. */
  readonly manyChoices: boolean;
  /** The most texts of `stop`; more are refused. */
  readonly mostStops: number;
  /** Whether it takes `cache_control` on texts: a vendor that caches by itself is sent none in a translation. */
  readonly cacheMarks: boolean;
  /** Whether `file_data` may be a link; a file behind one is refused in a translation where it may not. */
  readonly fileLinks: boolean;
  /** Types of parts that are its own, beside those of the reference. */
  readonly ownParts: readonly string[];
  readonly customTools: boolean;
  /** Ids of tool calls: as they are, at most 40 characters, or exactly nine letters and digits. */
  readonly toolIds: "any" | "forty" | "nine";
}

/** Members of an assistant message that carry its reasoning. */
export const REASONING_FIELDS = ["reasoning_content", "reasoning", "reasoning_details"] as const;
export type ReasoningField = (typeof REASONING_FIELDS)[number];

/** The fields by which a vendor is asked to think; absent where it has none. */
export interface ThinkingFields {
  /** How much, in a word. */
  readonly effort?: "reasoning_effort" | "reasoning";
  /** Whether at all: `thinking: {type}`, `enable_thinking: boolean`, `reasoning: {enabled}`. */
  readonly toggle?: "thinking" | "enable_thinking" | "reasoning";
  /** How much, in tokens. */
  readonly budget?: "thinking_budget" | "reasoning";
}

/** A server of which nothing is known: it is sent what the caller wrote, and what is ours in the words of the reference. */
export const OPEN_CHAT: ChatDialect = {
  renames: {},
  developerRole: true,
  nullContent: true,
  reasoningBack: REASONING_FIELDS,
  foreignDetails: true,
  messageImages: true,
  imageSignatures: true,
  thinking: { effort: "reasoning_effort" },
  boundsReasoning: true,
  toolChoice: "full",
  jsonSchema: true,
  jsonObject: true,
  manyChoices: true,
  mostStops: MOST_CHAT_STOPS,
  cacheMarks: false,
  fileLinks: true,
  ownParts: [],
  customTools: true,
  toolIds: "any",
};

/** OpenAI's own servers, the reference of the format. */
export const REFERENCE_CHAT: ChatDialect = {
  ...OPEN_CHAT,
  reasoningBack: [],
  foreignDetails: false,
  messageImages: false,
  imageSignatures: false,
  fileLinks: false,
  mostStops: 4,
  toolIds: "forty",
};

/** A vendor that is compatible, in what most of them have in common; each states the rest. */
export const COMPATIBLE_CHAT: ChatDialect & { readonly takes: readonly string[] } = {
  ...REFERENCE_CHAT,
  takes: ["parallel_tool_calls", "presence_penalty", "frequency_penalty"],
  developerRole: false,
  thinking: {},
  mostStops: MOST_CHAT_STOPS,
  customTools: false,
  toolIds: "any",
};
