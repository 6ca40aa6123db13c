import { type GatewayError, quoted } from "../core/errors.ts";
import { unknownField } from "./meant-field.ts";
import { printable } from "./printable.ts";
import type { Place, PlaceNames } from "./protocol.ts";
import { invalid } from "./request-json.ts";
import { createWarnings } from "./warnings.ts";

/** What a client's format cannot say: where the request has it, and why it is left out, changed or refused. */
export type Loss = Because<typeof SENTENCES, LostPlace>;

interface LostPlace {
  readonly place: Place;
  /** The one of several, as its `at` says. */
  readonly at?: string | undefined;
}

type Sentences<Names> = Readonly<Record<string, (names: Names, facts: never) => string>>;
type Because<Of extends Sentences<never>, Where> = {
  readonly [Why in keyof Of]: Where & { readonly why: Why } & Facts<Parameters<Of[Why]>>;
}[keyof Of];
type Facts<Known> = Known extends readonly [unknown, infer Facts] ? Facts : object;

/** What every sentence can name: the field at fault, others by their place, and the model. */
interface Names {
  readonly it: string;
  readonly names: PlaceNames;
  readonly model: string;
}

interface Effort {
  readonly effort: string;
}

interface Most {
  readonly most: number;
}

interface Counted extends Most {
  readonly count: number;
}

/** What is said of a search, in words that all formats understand. */
const SEARCH_DETAILS = {
  mostUses: "the bound on the number of searches",
  contextSize: "how much of the pages is read",
  location: "the place of the user",
  choice: "that there must be a search: the choice",
} as const;

/** The sentence for each reason, in the words of whichever format the caller wrote. */
const SENTENCES = {
  // Left out, or said otherwise.
  untaken: ({ it }) => `${it} was left out: the provider does not take it`,
  no_field: ({ it }) => `${it} was left out: this model's provider has no such field`,
  no_switch: ({ it }) => `${it} was left out: this model has no such switch`,
  no_word: ({ it }) => `${it} was left out: this model has no such word for one image`,
  blank: ({ it }) => `${it} was left out where it is white space only: it is not taken`,
  too_long: ({ it }, { most }: Most) => `${it} was left out: the provider takes ${most} characters`,
  not_32_bits: ({ it }) => `${it} was left out: this model takes an integer of 32 bits`,
  no_image_asked: ({ it, names }) => `${it} was left out: ${names.outputModalities} do not ask for an image`,
  instruction: ({ it, names }) =>
    `${it} became an instruction: the provider binds its models by ${names.jsonSchema} only`,
  caches_itself: ({ it }) => `${it} was left out: this model's provider caches by itself`,
  too_many_marks: ({ it }, { most }: Most) =>
    `${it} was left out in all but the last ${most} places: no more are taken`,
  not_forced: ({ it }) => `${it} became auto: while the model thinks no call can be forced`,
  not_single: ({ it }) => `${it} was left out: this model may call more than one tool at once`,

  schema_told: ({ it }) =>
    `${it} became an instruction: this model's provider binds it to a JSON object, and to no schema`,
  optional_members: ({ it }) =>
    `${it} does not bind the model: its provider binds by schemas that have no member which may be left out`,
  told_in_words: ({ it }, { keywords }: { readonly keywords: readonly string[] }) =>
    `${it} binds the model without ${listed(keywords)}: this model's provider has that told to it in words only`,
  search_left: ({ it, model }) => `${it} was left out: ${model} cannot be asked to search the web here`,
  search_in_part: ({ it }, { detail }: { readonly detail: keyof typeof SEARCH_DETAILS }) =>
    `${SEARCH_DETAILS[detail]} of ${it} was left out: this model's provider takes none`,
  narrowed: ({ it }) => `${it} became the list of tools: this model's provider has no such choice`,

  hidden_alone: ({ it, names }) => `${it} was left out: nothing else was said of ${names.thinking}`,
  thinking_lost: ({ it, names }) =>
    `${it} was switched off for this request: the answer that called tools came back without its ${names.thinkingParts}`,
  always_thinks: ({ model }) => `thinking was not switched off: ${model} always thinks`,
  thinks_least: ({ model }, { effort }: Effort) =>
    `thinking was not switched off: ${model} always thinks, and was told to at its least, ${effort}`,
  no_off: () => "thinking was not switched off: this model cannot be told to",
  no_amount: () => "how much to think was left out: this model cannot be told that",
  no_budget: (_, { effort }: Effort) =>
    `the thinking budget became the level ${effort}: this model is told no number`,
  unknown_effort: ({ model }, { effort }: Effort) =>
    `the effort ${printable(effort)} was left out: ${model} does not know it`,
  nearest_effort: ({ model }, { effort, nearest }: Effort & { readonly nearest: string }) =>
    `the effort ${effort} became ${nearest}: ${model} has no other`,

  unsigned_thinking: ({ it }) => `${it} without a signature were left out: the provider takes none such`,
  led_nowhere: ({ it }) =>
    `${it} that no text and no call follow were left out: the provider takes none such`,
  thinking_untaken: ({ it }) => `${it} were left out: this model's provider does not take them back`,
  others_thinking: ({ it }) =>
    `${it} of another vendor's model were left out: only their own model can read them`,
  signed_by_others: ({ it }) =>
    `${it} was left out in part: thinking that another vendor's model has signed cannot be read by this one`,
  not_base64: ({ it }) => `a ${it} that is not base64 was left out: this model's provider did not make it`,
  unsigned_call: ({ it }) => `${it} is missing: the model goes on without what it thought`,
  unsigned_image: ({ it, names }) =>
    `${it} has no ${names.signature}: the model goes on without what it thought of the image`,
  system_alone: ({ it }) => `${it} has a system message alone: it was sent as the user's`,
  system_asks: ({ it }) =>
    `${it} of the role system were sent as a user's: this model wants something to answer`,
  system_amid: ({ it }) =>
    `${it} has a system message amid the conversation: it was sent in its place as the user's`,
  images_last: ({ it }) =>
    `${it}: the images of the last answer were left out, as no turn of the user follows`,
  call_first: ({ it }) =>
    `${it} begin with a call: the model is told that what was said before it is not there`,
  no_result: ({ it }, { name }: { readonly name: string }) =>
    `${it} have no result of a call of ${printable(name)}: the model is told that there is none`,
  second_result: ({ it }) => `${it} have a second result of one call: it was left out`,

  // Refused.
  no_search: ({ it, model }) => `${it} was chosen, and ${model} cannot be asked to search the web here`,
  no_logprobs: ({ it, model }) => `${it} cannot be had: ${model} does not tell how likely its tokens are`,
  one_answer: ({ it, model }) => `${it} must be 1: ${model} gives one answer`,
  too_many_answers: ({ it, model }, { count, most }: Counted) =>
    `${it} is ${count}, and ${model} gives at most ${most} at once`,
  too_many_stops: ({ it, model }, { count, most }: Counted) =>
    `${it} has ${count} sequences, and ${model} takes at most ${most}`,
  too_many_turns: ({ it, model }, { count, most }: Counted) =>
    `${it} have ${count} turns, the results of calls among them, and ${model} takes at most ${most}`,
  too_many_parts: ({ it, model }, { count, most }: Counted) =>
    `${it} have ${count} parts in one turn, and ${model} takes at most ${most}`,
  no_images: ({ it, model }) => `${it} must be text: ${model} puts out no images`,
  no_audio_in: ({ it }) => `${it} holds audio, which this model does not take`,
  no_video_in: ({ it }) => `${it} holds a video, which this model does not take`,
  image_type: ({ it }, { mediaType }: { readonly mediaType: string }) =>
    `${it} holds an image of type ${quoted(mediaType)}: send JPEG, PNG, GIF or WebP`,
  file_type: ({ it }, { mediaType }: { readonly mediaType: string }) =>
    `${it} holds a file of type ${quoted(mediaType)}: send a PDF or a text`,
  not_utf8: ({ it }) => `${it} holds a text file that is not UTF-8 in base64`,
  not_fetched: ({ it }, { schemes }: { readonly schemes: string }) =>
    `${it} must be an ${schemes} or data address: this model's provider fetches no other`,
  file_link: ({ it }) =>
    `${it} is a link to a file, and this model's provider fetches none: send the file's data`,
  others_file: ({ it }) =>
    `${it} names a file of another vendor's store: send the file's data, or a link to it`,
  no_such_file: ({ it, names }) =>
    `${it} names a file that this model's provider does not have: send it as ${names.fileData}, or name it as files/<id>`,
  misplaced: ({ it }, { type }: { readonly type: string }) =>
    `${it} holds a part of type ${type} where it cannot stand`,
  text_only: ({ names }) => `A system message in ${names.turns} may hold text only`,
  nothing_to_read: ({ it }) => `${it} holds nothing for the model to read`,
  no_object: (_, { name }: { readonly name: string }) =>
    `The arguments of the call of ${quoted(name)} must be a JSON object, written as text`,
  no_call: ({ it, names }, { id }: { readonly id: string }) =>
    `${names.turns} have a result for the ${it} "${printable(id)}", and no call before it has that id: send the assistant's message with it`,
  tool_name: ({ it }, { pattern }: { readonly pattern: string }) =>
    `${it} must match ${pattern} for this model`,
} satisfies Sentences<Names>;

/** The losses of one request, as sentences that name the caller's own fields. */
export interface Losses {
  /** What is left out or said otherwise. */
  note(loss: Loss): void;
  /** The 400 for what would change the answer's meaning. */
  refusal(loss: Loss): GatewayError;
  readonly warnings: ReadonlySet<string>;
}

/**
 * For a request to a model, whose caller calls each place by these names. Of the loss of what is `unsaid`, which the
 * caller's format fills by itself, no warning tells.
 */
export function openLosses(names: PlaceNames, model: string, unsaid: readonly Place[] = []): Losses {
  const warnings = createWarnings();
  const nameOf = ({ at, place }: Loss): string => at ?? names[place];
  const sentence = (loss: Loss): string => {
    const say = SENTENCES[loss.why] as (names: Names, facts: Loss) => string;
    return say({ it: nameOf(loss), names, model }, loss);
  };
  return {
    note(loss) {
      if (!unsaid.includes(loss.place)) warnings.add(sentence(loss));
    },
    refusal: (loss) => invalid(`${sentence(loss)}.`, nameOf(loss)),
    warnings,
  };
}

/** Names that a sentence lists; a header has no room for any number of them. */
const MOST_LISTED = 8;

function listed(names: readonly string[]): string {
  const told = names.slice(0, MOST_LISTED).map(printable).join(", ");
  return names.length > MOST_LISTED ? `${told} and others` : told;
}

/** What a target does not take of a request in its own format. */
export type TargetLoss = Because<typeof TARGET_SENTENCES, TargetField>;

/** A field of the target's format, and the place that it has in a request of no format. */
interface TargetField {
  readonly field: string;
  /** Absent: no request of another format leads to it. */
  readonly place?: Place | undefined;
}

/** What a sentence about a target can name: the field at fault, others, and the model. */
interface TargetNames {
  readonly it: string;
  readonly nameOf: (field: TargetField) => string;
  readonly model: string;
}

/** The sentence for each of them, whose caller wrote the target's own format or another one. */
const TARGET_SENTENCES = {
  unknown: ({ it }, { format, meant }: { readonly format: string; readonly meant: string | undefined }) =>
    unknownField(it, format, meant),
  not_taken: ({ it, model }) => `${it} was left out: ${model} does not take it`,
  not_at_provider: ({ it, model }) => `${it} was left out: the provider of ${model} does not take it`,
  no_such_field: ({ it }) => `${it} was left out: this model's provider has no such field`,
  not_while_thinking: ({ it, model }) => `${it} was left out: ${model} does not take it while it thinks`,
  not_together: ({ it, nameOf, model }, { other }: { readonly other: TargetField }) =>
    `${it} was left out: ${model} does not take it together with ${nameOf(other)}`,
  most_output: ({ it, model }, { most }: Most) => `${it} was lowered to ${most}: ${model} puts out no more`,
  most_taken: ({ it, model }, { most }: Most) => `${it} was lowered to ${most}: ${model} takes no more`,
  least_taken: ({ it, model }, { least }: { readonly least: number }) =>
    `${it} was raised to ${least}: ${model} takes no less`,
  always_thinks: ({ it, model }) => `${it} was left out: ${model} cannot be kept from thinking`,
  no_room: ({ it, nameOf }, { bound, least }: { readonly bound: TargetField; readonly least: number }) =>
    `${it} was left out: ${nameOf(bound)} leaves no room for a budget of ${least}`,
  budget_given: ({ it, model }, { budget }: { readonly budget: number }) =>
    `${it} was given a budget of ${budget} tokens: ${model} needs one that fits`,
  no_budget: ({ it, model }, { effort }: { readonly effort: string | undefined }) =>
    `${it} was changed to adaptive${effort === undefined ? "" : ` with effort ${effort}`}: ${model} takes no budget`,
} satisfies Sentences<TargetNames>;

/**
 * Says what a model does not take in the words of its caller. With `names` it says what the caller's format calls the
 * place. Without them the caller's format is the target's own, and it says the field itself.
 */
export function targetSentences(model: string, names?: PlaceNames): (loss: TargetLoss) => string {
  const nameOf = ({ field, place }: TargetField): string =>
    names === undefined || place === undefined ? printable(field) : names[place];
  return (loss) => {
    const say = TARGET_SENTENCES[loss.why] as (names: TargetNames, facts: TargetLoss) => string;
    return say({ it: nameOf(loss), nameOf, model }, loss);
  };
}
