import type { Model, TranslatedChat } from "../core/model.ts";

/** What chat completions are like where they are put into another format, a sentence each; none where they are not. */
export function translatedNotes(model: Model): readonly string[] {
  const translated = model.chatLimits?.translated;
  return translated === undefined ? [] : NOTES[translated.into](model);
}

/** What is said of a search, where the provider makes one and has a price for it. */
function searchNotes({ prices }: Model, beside: string): readonly string[] {
  if (prices.web_search === undefined) return [];
  return [
    `\`web_search_options\` has the provider search the web${beside}. Pages come as \`annotations\`; each search is charged.`,
  ];
}

/** By the format of the provider. */
const NOTES: Readonly<Record<TranslatedChat["into"], (model: Model) => readonly string[]>> = {
  compat_messages: messagesNotes,
  compat_generate_content: contentNotes,
  compat_responses: responsesNotes,
};

const REFUSED =
  "What it cannot say is a 400 that names the field where the answer would be another one (`n` beyond the table, `functions`, `audio`), and is left out with a `warning` header where it only helps";

function detailNote(format: string): string {
  return `\`reasoning_content\` is the text of the thinking, for people. \`reasoning_details\` is what goes back: \`{"type":"thinking","thinking","signature","format":"${format}","index"}\` for each piece, in a stream all of them in one chunk before the finish reason. \`index\` is the place of the piece in the answer, and \`text_before\` the length of the text before it where it parted the text. Items of another vendor's \`format\` are left out, with a warning.`;
}

function messagesNotes(model: Model): readonly string[] {
  const { thinking, sampling, systemTurns } = model;
  return [
    `The provider speaks messages: a request is put into that format, and the answer back. ${REFUSED}. \`logprobs\` are a 400.`,
    detailNote("anthropic-claude-v1"),
    "Redacted thinking has an empty `thinking` and a `signature` that begins with `redacted:`. Signatures are not looked into: whatever comes back changed is refused by the provider.",
    ...(thinking?.style === "budget"
      ? [
          "Where an answer that called tools comes back without its `reasoning_details`, thinking is switched off for that request, with a warning.",
        ]
      : []),
    "While it thinks on request no call can be forced: `tool_choice` then becomes `auto`, with a warning.",
    ...(sampling?.fixedWhileThinking === true
      ? ["While it thinks on request `temperature`, and a `top_p` below 0.95, are left out, with a warning."]
      : []),
    "A `json_schema`, and a tool with `strict`, binds the model; bounds, lengths and patterns in it are told to it in words. `json_object` becomes an instruction, with a warning.",
    "Names of tools have letters, digits, `_` and `-` alone.",
    "`cache_control` on parts, messages and tools goes up, at most four of them.",
    ...searchNotes(model, ", at most ten times"),
    ...(systemTurns === true
      ? []
      : ["A system message amid the conversation is sent in its place as the user's, with a warning."]),
  ];
}

function contentNotes(model: Model): readonly string[] {
  const { outputModalities, chatLimits } = model;
  return [
    `The provider speaks generateContent: a request is put into that format, and the answer back. ${REFUSED}.`,
    detailNote("google-gemini-v1"),
    "A signature of a text comes as an item with an empty `thinking`. That of a call is `tool_calls[].extra_content.google.thought_signature`, in a stream in the first fragment of the call, or in a later one where the provider sends it late. A call that comes back without it goes on without what the model thought, with a warning.",
    `\`stop\` takes at most ${chatLimits?.mostStops} texts. Names of functions begin with a letter or an underscore. \`strict\` of a tool and \`cache_control\` are left out, with a warning.`,
    "A system message amid the conversation is sent in its place as the user's.",
    ...searchNotes(model, "; beside functions it is a 400"),
    "It always thinks: `none` and `disabled` become the least that it has, with a warning.",
    ...(outputModalities.includes("image")
      ? [
          "Without `image` in `modalities` it answers in text. An image that comes back without its `thought_signature` is sent with a placeholder, with a warning.",
        ]
      : []),
  ];
}

function responsesNotes(): readonly string[] {
  return [
    `The provider speaks Responses: a request is put into that format, and the answer back. ${REFUSED}.`,
    "`reasoning_content` is the provider's summary of the thinking, which is asked for where the request says how to think. `reasoning_details` is what goes back.",
    "It knows no `stop`: an answer ends before the first of these texts on its way to you, and what the model wrote behind it is charged.",
    "A tool binds the model only with `strict`, and only where its schema leaves no member out.",
  ];
}
