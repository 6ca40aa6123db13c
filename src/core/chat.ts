/**
 * A language request and its answer in no format: what the formats are translated through, one ordered list of parts
 * to a turn. A format's own way of saying a thing ends where this begins.
 */
export interface ChatRequest {
  readonly turns: readonly Turn[];
  readonly tools: readonly ToolDefinition[];
  /** One that `tools` has, or a word about them; absent without tools, and where the model decides. */
  readonly toolChoice?: ToolChoice;
  /** Names of the tools that may be called now, where that is not all of `tools`. */
  readonly allowedTools?: readonly string[];
  /** Absent: as the model does by itself. */
  readonly parallelToolCalls?: boolean;
  /** The provider may search the web; absent: it may not. */
  readonly webSearch?: WebSearch;
  /** The most output, thinking included; absent: no bound was set. */
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly presencePenalty?: number;
  readonly frequencyPenalty?: number;
  readonly seed?: number;
  readonly stop: readonly string[];
  /** Answers that were asked for. */
  readonly choices: number;
  /** Absent: not a word was said of it. */
  readonly thinking?: ThinkingWish;
  /** Absent: text. */
  readonly outputModalities?: readonly ("text" | "image")[];
  readonly image?: { readonly aspectRatio?: string; readonly size?: string };
  /** Absent: text without a form. */
  readonly responseFormat?: ResponseFormat;
  /** It shall be told how likely each token was, and `top` others in its place. */
  readonly logprobs?: { readonly top: number };
  /** How wordy the answer shall be, in the caller's word. */
  readonly verbosity?: string;
  /** What requests that begin alike have in common, as the caller names it. */
  readonly cacheKey?: string;
  /** Who the caller says its user is. */
  readonly user?: string;
}

/** What one side says in one go. Results of tools stand in a turn of their own, all that answer the turn before. */
export interface Turn {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly parts: readonly Part[];
}

/**
 * A piece of a turn. Data is base64 as it was sent; a signature is its issuer's, and never changed. Of other parts than
 * thinking only Google's models sign any.
 */
export type Part =
  | { readonly type: "text"; readonly text: string; readonly cache?: CacheMark; readonly signature?: string }
  | ImagePart
  | DocumentPart
  | (Medium & { readonly type: "audio" | "video" })
  | {
      readonly type: "thinking";
      readonly text: string;
      readonly signature?: string;
      /** The signature's issuer, where it is known: no other vendor can read it. */
      readonly issuer?: Issuer;
    }
  | { readonly type: "redacted_thinking"; readonly data: string; readonly issuer?: Issuer }
  | ToolCallPart
  | ToolResultPart;

/** The vendor that signed or sealed its models' thinking, as ids of models begin with it: `anthropic`, `openai`. */
export type Issuer = string;

/** What a medium has of whatever kind. */
interface Medium {
  readonly source: Source;
  /** Where the caller's request has it, in the words of its format: what a sentence about it names. */
  readonly at?: string;
}

/** An image; `signature` is what its model wants back with it. */
export interface ImagePart extends Medium {
  readonly type: "image";
  readonly detail?: string;
  readonly signature?: string;
  readonly cache?: CacheMark;
}

/** A file to be read. */
export interface DocumentPart extends Medium {
  readonly type: "document";
  readonly name?: string;
  readonly cache?: CacheMark;
}

/** A call of a tool that the model made. `input` is JSON text as it was written, "" is none; of a custom tool any text. */
export interface ToolCallPart {
  readonly type: "tool_call";
  readonly id: string;
  readonly name: string;
  readonly input: string;
  readonly custom?: true;
  readonly signature?: string;
}

/** What a tool gave back. */
export interface ToolResultPart {
  readonly type: "tool_result";
  readonly callId: string;
  readonly parts: readonly Part[];
  readonly isError: boolean;
  readonly cache?: CacheMark;
}

/** Where the bytes of a medium are: in the request itself, behind a link, or in a provider's file store. */
export type Source =
  | { readonly kind: "data"; readonly mediaType: string; readonly data: string }
  | { readonly kind: "url"; readonly url: string; readonly mediaType?: string }
  | { readonly kind: "file"; readonly id: string };

/** A breakpoint of the prompt cache, as the caller wrote it. */
export interface CacheMark {
  readonly type: string;
  readonly ttl?: string;
}

/** A tool of the caller's that the model may call. */
export interface ToolDefinition {
  readonly name: string;
  /** Where the caller's request has the name, in the words of its format. */
  readonly at?: string;
  readonly description?: string;
  /** JSON Schema of the input; absent: it takes none. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  readonly strict?: boolean;
  /** Set on a custom tool, which is called with a free text in place of `parameters`. */
  readonly custom?: CustomInput;
  readonly cache?: CacheMark;
}

/** The text that a custom tool is called with. */
export interface CustomInput {
  /** Absent: any text. */
  readonly grammar?: { readonly syntax: string; readonly definition: string };
}

/** Searches that the provider makes itself, and charges for. */
export interface WebSearch {
  /** It is what must be called. */
  readonly forced?: true;
  /** Without it the answer would be another one, whether or not the caller offers tools beside it. */
  readonly needed?: true;
  readonly mostUses?: number;
  readonly allowedDomains?: readonly string[];
  readonly blockedDomains?: readonly string[];
  /** How much of the pages goes into the context, in the caller's word. */
  readonly contextSize?: string;
  readonly location?: {
    readonly city?: string;
    readonly region?: string;
    readonly country?: string;
    readonly timezone?: string;
  };
}

export type ToolChoice =
  | { readonly type: "none" | "auto" | "required" }
  | { readonly type: "tool"; readonly name: string };

/** How the caller wants the model to think. */
export interface ThinkingWish {
  /** `auto`: as much as the model finds right. Absent: only how much was said. */
  readonly mode?: "on" | "off" | "auto";
  readonly budgetTokens?: number;
  readonly effort?: string;
  /** The thinking shall not be shown. */
  readonly hidden?: boolean;
}

export type ResponseFormat =
  | { readonly type: "json_object" }
  | {
      readonly type: "json_schema";
      readonly name: string;
      readonly schema: Readonly<Record<string, unknown>>;
      readonly description?: string;
      readonly strict?: boolean;
    };

/** Why an answer ended. */
export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "error";

/**
 * What a running answer says. For each choice: `part_start (delta* signature?) part_end` for one part after another, at
 * indexes that count up from 0, then one `finish`. Parts of different choices may mix; those of one never do.
 */
export type ChatEvent =
  | { readonly type: "start"; readonly id?: string }
  | { readonly type: "part_start"; readonly choice: number; readonly index: number; readonly part: BegunPart }
  /** More text, thinking, or JSON text of a call's input, by the part that is open. */
  | { readonly type: "delta"; readonly choice: number; readonly index: number; readonly text: string }
  /** The signature of the open part, whole. */
  | {
      readonly type: "signature";
      readonly choice: number;
      readonly index: number;
      readonly signature: string;
    }
  | {
      readonly type: "citation";
      readonly choice: number;
      readonly index: number;
      readonly citation: Citation;
    }
  /** How likely the tokens of the text were that was told since such an event. */
  | { readonly type: "logprobs"; readonly choice: number; readonly tokens: readonly TokenLogprob[] }
  | { readonly type: "part_end"; readonly choice: number; readonly index: number }
  | {
      readonly type: "finish";
      readonly choice: number;
      readonly reason: FinishReason;
      /** The model's own words about a refusal. */
      readonly refusal?: string;
      /** The stop sequence that the answer ended before, where that is known. */
      readonly stop?: string;
    };

/** A part at its beginning: what follows as deltas is not in it yet. */
export type BegunPart =
  | { readonly type: "text" }
  /** The model declines, in these words. */
  | { readonly type: "refusal" }
  /** Without an issuer it has no signature. */
  | { readonly type: "thinking"; readonly issuer?: Issuer }
  | { readonly type: "redacted_thinking"; readonly data: string; readonly issuer: Issuer }
  | { readonly type: "tool_call"; readonly id: string; readonly name: string; readonly custom?: true }
  | { readonly type: "image"; readonly mediaType: string; readonly data: string };

/**
 * A place on the web that a text rests on. Offsets are characters of the choice's whole text; without them it stands for
 * all text of its part.
 */
export interface Citation {
  readonly url: string;
  readonly title?: string;
  readonly start?: number;
  readonly end?: number;
}

/** A token, and how likely its model found it. */
export interface TokenChance {
  readonly token: string;
  readonly logprob: number;
  /** Absent: those of its characters. A character may have several tokens. */
  readonly bytes?: readonly number[];
}

/** A token of an answer, and the likeliest ones in its place. */
export interface TokenLogprob extends TokenChance {
  readonly top: readonly TokenChance[];
}
