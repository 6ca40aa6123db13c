import type { Modality, Model, ProtocolId } from "../core/model.ts";
import { CHAT_PROGRAMS } from "./examples/chat-completions.ts";
import type { LanguagePrograms } from "./examples/example.ts";
import { CONTENT_PROGRAMS } from "./examples/generate-content.ts";
import { MESSAGES_PROGRAMS } from "./examples/messages.ts";
import { RESPONSES_PROGRAMS } from "./examples/responses.ts";
import { CHAT } from "./parameter-tables/chat-completions.ts";
import type { Fields } from "./parameter-tables/field.ts";
import { CONTENT } from "./parameter-tables/generate-content.ts";
import { MESSAGES } from "./parameter-tables/messages.ts";
import { RESPONSES } from "./parameter-tables/responses.ts";
import { translatedNotes } from "./translated-notes.ts";

/** A request format as its readers need to know it. */
export interface Format {
  readonly name: string;
  /** Paths under the service's origin. */
  readonly paths: (id: string) => readonly string[];
  /** The vendor's own client for JavaScript, and where it is pointed. */
  readonly sdkPackage: string;
  readonly sdkOptions: (origin: string) => string;
  /** What its answers and streams are like, a sentence each. */
  readonly notes: (model: Model) => readonly string[];
  readonly errorBody: string;
  /** What OpenAPI calls that body. */
  readonly errorName: string;
  /** Every field of a request, in the order in which pages tell them. */
  readonly fields: Fields;
  /** The field that holds the input, and the one that asks for kinds of output. */
  readonly inputField: string;
  readonly outputField: string;
  /** How a medium is put into a request; a format that has no word for one does not take it. */
  readonly mediaParts: Readonly<Partial<Record<Modality, string>>>;
  readonly programs: LanguagePrograms;
}

const COUNTS =
  "counts the input of such a request, free. With `x-switchyard-estimate: true` the count is an estimate, rather too high than too low, and `warning` says why.";

/** The formats by the identifiers of the interface. */
export const FORMATS: Readonly<Record<ProtocolId, Format>> = {
  compat_chat_completions: {
    name: "Chat completions",
    paths: () => ["/api/v1/chat/completions"],
    sdkPackage: "openai",
    sdkOptions: (origin) => `baseURL: "${origin}/api/v1"`,
    notes: chatNotes,
    errorBody: '{"error":{"message":"…","type":"…","param":"… or null","code":"…"}}',
    errorName: "Error",
    fields: CHAT,
    inputField: "messages",
    outputField: "modalities",
    mediaParts: {
      text: '{"type":"text","text":"…"}',
      image: '{"type":"image_url","image_url":{"url":"https://… or data:image/png;base64,…"}}',
      audio: '{"type":"audio_url","audio_url":{"url":"https://… or data:audio/wav;base64,…"}}',
      video: '{"type":"video_url","video_url":{"url":"https://… or data:video/mp4;base64,…"}}',
      pdf: '{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,…"}}',
    },
    programs: CHAT_PROGRAMS,
  },
  compat_messages: {
    name: "Messages",
    paths: () => ["/api/v1/messages"],
    sdkPackage: "@anthropic-ai/sdk",
    sdkOptions: (origin) => `baseURL: "${origin}/api"`,
    notes: () => [
      'A stream has the format\'s own events. Before `message_stop` comes one more, `event: credit` with `data: {"type":"ping","credit":N}`; `credit` stands on `message_delta` too, which is where the SDK shows it.',
      "Thinking blocks carry a `signature`. Send the assistant's turn back with every block unchanged and in its order, or the next request is refused.",
      "Every `tool_use` is answered in the next user message by a `tool_result` with the same `tool_use_id`, all of them in that one message and before any text.",
      "The SDK refuses by itself to send a large `max_tokens` without `stream`.",
      "A stream that fails ends with `event: error` and without `message_stop`. `ping` events may come at any time.",
      `\`POST /api/v1/messages/count_tokens\` ${COUNTS}`,
    ],
    errorBody: '{"type":"error","error":{"type":"…","message":"…"},"request_id":"…"}',
    errorName: "MessagesError",
    fields: MESSAGES,
    inputField: "messages",
    outputField: "modalities",
    mediaParts: {
      text: '{"type":"text","text":"…"}',
      image:
        '{"type":"image","source":{"type":"base64","media_type":"image/png","data":"…"}} or {"type":"image","source":{"type":"url","url":"https://…"}}',
      pdf: '{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"…"}}',
    },
    programs: MESSAGES_PROGRAMS,
  },
  compat_generate_content: {
    name: "generateContent",
    paths: (id) => {
      const path = `/api/v1/models/${encodeURIComponent(id)}`;
      return [`${path}:generateContent`, `${path}:streamGenerateContent?alt=sse`];
    },
    sdkPackage: "@google/genai",
    sdkOptions: (origin) => `httpOptions: { baseUrl: "${origin}/api", apiVersion: "v1" }`,
    notes: () => [
      "Whether the answer is streamed is said by the path, not by a field. The slash of the id may be percent-encoded or plain.",
      "A stream has `data:` lines only, no event names and no `[DONE]`. The last chunk has the `finishReason`, the usage and `credit`.",
      "The SDK drops members it does not know, `credit` among them: it is in the JSON, as curl shows.",
      "Parts may carry a `thoughtSignature`. Send the model's turn back with every part unchanged, or the next request is refused.",
      'A stream that fails ends with `data: {"error":{"code","message","status"}}` and without a `finishReason`.',
      `The verb \`countTokens\` ${COUNTS}`,
    ],
    errorBody: '{"error":{"code":400,"message":"…","status":"INVALID_ARGUMENT","type":"…"}}',
    errorName: "GenerateContentError",
    fields: CONTENT,
    inputField: "contents",
    outputField: "generationConfig.responseModalities",
    mediaParts: {
      text: '{"text":"…"}',
      image:
        '{"inlineData":{"mimeType":"image/png","data":"…"}} or {"fileData":{"mimeType":"image/png","fileUri":"https://…"}}',
      audio: '{"inlineData":{"mimeType":"audio/wav","data":"…"}}',
      video:
        '{"inlineData":{"mimeType":"video/mp4","data":"…"}} or {"fileData":{"mimeType":"video/mp4","fileUri":"https://…"}}',
      pdf: '{"inlineData":{"mimeType":"application/pdf","data":"…"}}',
    },
    programs: CONTENT_PROGRAMS,
  },
  compat_responses: {
    name: "Responses",
    paths: () => ["/api/v1/responses"],
    sdkPackage: "openai",
    sdkOptions: (origin) => `baseURL: "${origin}/api/v1"`,
    notes: responsesNotes,
    errorBody: '{"error":{"message":"…","type":"…","param":"… or null","code":"…"}}',
    errorName: "ResponsesError",
    fields: RESPONSES,
    inputField: "input",
    outputField: "modalities",
    mediaParts: {
      text: '{"type":"input_text","text":"…"}',
      image: '{"type":"input_image","image_url":"https://… or data:image/png;base64,…"}',
      audio: '{"type":"input_audio","input_audio":{"data":"…","format":"wav"}}',
      pdf: '{"type":"input_file","filename":"a.pdf","file_data":"data:application/pdf;base64,…"}',
    },
    programs: RESPONSES_PROGRAMS,
  },
};

function responsesNotes({ formats }: Model): readonly string[] {
  return [
    "`credit` is a member of the response: in a stream of that in the last event.",
    "Reasoning items carry `encrypted_content`, whether it was asked for or not. Send the items of an answer back unchanged and in their order.",
    ...(formats.compat_responses === "translation"
      ? [
          "The provider speaks another format: a request is put into that, and the answer back. What has no place there is left out with a `warning` header where it only helps, and is else a 400 that names the field.",
          "Tools that run at the provider are left out, with a warning; custom tools and those of namespaces can be called.",
        ]
      : []),
    "A stream that fails ends with `event: error`, then `response.failed`.",
  ];
}

function chatNotes(model: Model): readonly string[] {
  const { outputModalities } = model;
  return [
    "A stream ends with a chunk that has `usage` and no choices, a chunk that has `credit` (and the usage again) and no choices, and `data: [DONE]`; `stream_options` does not change that. Read `chunk.choices[0]?.` with the question mark.",
    "Assistant messages that came back with `reasoning_details` must be sent back with them unchanged.",
    ...(outputModalities.includes("image")
      ? [
          "Images are in `message.images`, as data URIs. Such a URI may carry a `thought_signature` before `;base64`: send it back byte for byte when you send the turn back.",
          "With `image` in `modalities` the answer is not streamed: `stream: true` is refused.",
        ]
      : []),
    ...translatedNotes(model),
    'A stream that fails has a chunk with `finish_reason` `error`, then usage, credit, `data: {"error":…}` and `[DONE]`. Lines that begin with a colon keep the connection open and mean nothing.',
  ];
}
