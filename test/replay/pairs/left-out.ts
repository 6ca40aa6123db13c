import type { Json } from "../wire-json.ts";

/** A difference between what was asked and what the other format says, that is the formats' and not a fault. */
export interface LeftOut {
  /** The formats of caller and provider that it is of; absent: any. */
  readonly from?: string;
  readonly to?: string;
  /** The place that differs. */
  readonly at: RegExp;
  readonly why: string;
  /** Whether the caller is told. */
  readonly told?: true;
  /** Holds only for such values: what was asked, and what arrives. */
  readonly where?: (asked: Json, arrived: Json) => boolean;
}

const [CHAT, MESSAGES, GEMINI, RESPONSES] = ["chat completions", "messages", "generateContent", "Responses"];

const isAbsent = (value: Json): boolean => value === undefined;
const arrivesAlone = (asked: Json): boolean => isAbsent(asked);
const isLost = (_: Json, arrived: Json): boolean => isAbsent(arrived);

/** Whether two turns say the same but for thoughts, and for where their text is cut. */
function saysTheSame(asked: Json, arrived: Json): boolean {
  return Bun.deepEquals(saidBy(asked), saidBy(arrived));
}

function saidBy(parts: readonly Json[]): Json[] {
  const said: Json[] = [];
  for (const part of parts) {
    if (part.type === "thinking" || part.type === "redacted_thinking") continue;
    const last = said.at(-1);
    if (part.type === "text" && last?.type === "text") last.text += part.text;
    else said.push(part.type === "text" ? { type: "text", text: part.text } : part);
  }
  for (const part of said) if (part.type === "text") part.text = part.text.replaceAll(/\s+/g, "");
  return said;
}

/** What the comparison of requests leaves out. */
const LEFT_OUT: readonly LeftOut[] = [
  {
    to: MESSAGES,
    at: /^maxOutputTokens$/,
    why: "the format wants a bound: the model's own",
    where: arrivesAlone,
  },
  {
    to: RESPONSES,
    at: /^maxOutputTokens$/,
    why: "OpenAI takes no bound below 16",
    told: true,
    where: (asked, arrived) => asked < 16 && arrived === 16,
  },
  {
    at: /^outputModalities$/,
    why: "text is said where the model could give images",
    where: (asked, arrived) => (asked ?? arrived).join() === "text",
  },
  {
    at: /^(tools\[\d+\]\.description)$/,
    why: "an empty description is none",
    where: (asked) => asked === "",
  },
  {
    at: /^tools\[\d+\]\.parameters$/,
    why: "a function without parameters is one of none",
    where: arrivesAlone,
  },
  {
    at: /\.detail$/,
    why: "auto is what a model does by itself",
    where: (asked, arrived) => (asked ?? arrived) === "auto",
  },
  // Thinking is said in levels, budgets or efforts.
  { to: GEMINI, at: /^thinking$/, why: "thoughts are shown to those who ask for them", where: arrivesAlone },
  {
    from: GEMINI,
    at: /^thinking(\.hidden)?$/,
    why: "hiding thoughts is said of thoughts alone",
    where: isLost,
  },
  {
    at: /^thinking(\.(mode|budgetTokens|effort|hidden))?$/,
    why: "a budget, a level, an effort and a switch stand for one another",
    where: (asked) => asked !== "off" && asked?.mode !== "off",
  },
  { at: /^thinking(\.mode)?$/, why: "a model that cannot be kept from thinking", told: true },
  { to: GEMINI, at: /^tools\[\d+\]\.strict$/, why: "the format has no such switch", where: isLost },
  { at: /^tools\[\d+\]\.strict$/, why: "false says the same as nothing", where: (asked) => asked === false },
  {
    to: RESPONSES,
    at: /^tools\[\d+\]\.strict$/,
    why: "nothing would say the opposite there",
    where: (asked, arrived) => isAbsent(asked) && arrived === false,
  },
  {
    to: RESPONSES,
    at: /^(responseFormat|tools\[\d+\])\.?.*\.additionalProperties$/,
    why: "an object that binds is closed",
    where: (_, arrived) => arrived === false,
  },
  { to: RESPONSES, at: /^stop\.length$/, why: "the answer ends before them on its way to the client" },
  // Forms of answers.
  {
    at: /^responseFormat\.name$/,
    why: "forms have no name there",
    where: (_, arrived) => arrived === "response",
  },
  {
    to: GEMINI,
    at: /^responseFormat\.(strict|description)$/,
    why: "the format has no such member",
    where: isLost,
  },
  { to: MESSAGES, at: /^responseFormat\.strict$/, why: "the format always binds" },
  {
    at: /^responseFormat\.strict$/,
    why: "false says the same as nothing",
    where: (asked) => asked === false,
  },
  {
    to: MESSAGES,
    at: /^responseFormat(\.schema)?\.description$/,
    why: "the description of a form stands in its schema",
  },
  {
    to: MESSAGES,
    at: /^(responseFormat|tools\[\d+\])\.?.*\.additionalProperties$/,
    why: "an object that binds is closed",
    where: (_, arrived) => arrived === false,
  },
  {
    to: MESSAGES,
    at: /^responseFormat\.schema\..*(minItems|maxItems|description|property_ordering)$/,
    why: "bounds are told in the description",
  },
  {
    to: MESSAGES,
    at: /^(responseFormat|turns\.length)$/,
    why: "any JSON is asked for in a system message",
    told: true,
  },
  {
    to: MESSAGES,
    at: /^turns\[0\]\.parts\.length$/,
    why: "any JSON is asked for in a system message",
    told: true,
  },
  // Choices of tools.
  {
    to: MESSAGES,
    at: /^toolChoice$/,
    why: "one call at a time is said beside a choice",
    where: (_, arrived) => arrived?.type === "auto",
  },
  { to: MESSAGES, at: /^toolChoice\.(type|name)$/, why: "no call can be forced while it thinks", told: true },
  { to: GEMINI, at: /^parallelToolCalls$/, why: "the format has no such switch", told: true },
  {
    to: GEMINI,
    at: /^webSearch\.(location|mostUses|contextSize|forced)$/,
    why: "the search takes no members",
    told: true,
  },
  { to: MESSAGES, at: /^webSearch\.contextSize$/, why: "the search has no such member", told: true },
  {
    to: MESSAGES,
    at: /^webSearch\.mostUses$/,
    why: "a bound goes up always, as credit is held for it",
    where: (sent) => sent === undefined,
  },
  { at: /^webSearch\.needed$/, why: "what is meant by asking is said by chat completions alone" },
  { at: /^webSearch$/, why: "a search is left out where no price or no client end has it", told: true },
  // Custom tools are functions of one text where there are none.
  { at: /^tools\[\d+\]\.(custom|parameters|description)$/, why: "a custom tool is a function of one text" },
  {
    at: /^turns\[\d+\]\.parts\[\d+\]\.(input|custom)$/,
    why: "a call of a custom tool is one of a function of one text",
  },
  // Hints that a format has no place for.
  { to: GEMINI, at: /\.cache$/, why: "the provider caches by itself", told: true },
  { to: RESPONSES, at: /\.cache$/, why: "the vendor caches by itself", told: true },
  { to: CHAT, at: /\.cache$/, why: "the vendor caches by itself", told: true },
  {
    at: /^(user|topK|seed|presencePenalty|frequencyPenalty|temperature|topP)$/,
    why: "a hint that the format, or the vendor, does not take",
    told: true,
    where: isLost,
  },
  {
    at: /^(cacheKey|verbosity)$/,
    why: "a hint that costs nothing where it is not heard",
    told: true,
    where: isLost,
  },
  { at: /^user$/, why: "one that is too long goes up as its hash" },
  { to: MESSAGES, at: /^stop\.length$/, why: "texts of white space are not taken", told: true },
  // What was thought goes back to its own vendor alone.
  { at: /\.signature$/, why: "a signature goes back to its issuer alone" },
  {
    at: /^turns\[\d+\]\.parts\.length$/,
    why: "thoughts go back to their issuer alone; texts of one turn are joined",
    where: saysTheSame,
  },
  // Media say what they are in other ways.
  { at: /\.source\.mediaType$/, why: "what a link or a data URL is, is said by itself" },
  { at: /\.name$/, why: "names of files have no place, or must be given" },
  {
    at: /\.parts\[\d+\]\.(type|source|text)$/,
    why: "a text file is text, and an image in a file store is a file",
  },
  {
    at: /^turns\.length$/,
    why: "media of a result come in a turn behind it; a system message amid turns is the user's",
  },
  { at: /^turns\[\d+\]\.role$/, why: "a system message that stands alone is the user's", told: true },
  {
    from: RESPONSES,
    at: /\.parts\[\d+\]\.parts(\.length|\[\d+\])/,
    why: "results that are JSON are objects there, without the white space",
  },
];

/** A difference as the comparison met it. */
export interface MetDifference {
  readonly from: string;
  readonly to: string;
  readonly path: string;
  readonly asked: Json;
  readonly arrived: Json;
  readonly warnings: readonly string[];
}

/** The entry that a difference is left out by; `undefined` for a fault. */
export function leftOutBy({ from, to, path, asked, arrived, warnings }: MetDifference): LeftOut | undefined {
  return LEFT_OUT.find(
    (entry) =>
      (entry.from ?? from) === from &&
      (entry.to ?? to) === to &&
      entry.at.test(path) &&
      (entry.told !== true || warnings.length > 0) &&
      entry.where?.(asked, arrived) !== false,
  );
}
