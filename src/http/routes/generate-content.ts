import { generateContentCounter } from "../../protocols/generate-content/count.ts";
import { generateContent } from "../../protocols/generate-content/index.ts";
import {
  CountTokensAnswerSchema,
  CountTokensRequestSchema,
  GenerateContentAnswerSchema,
  GenerateContentRequestSchema,
} from "../../protocols/generate-content/schema.ts";
import type { Route, RouteAnswer } from "../route.ts";
import { COUNT_ERRORS, COUNT_NOTE, handleCount } from "./count.ts";
import { readGenerateAddress, type Verb } from "./generate-address.ts";
import { handleRelay, RELAY_ERRORS } from "./relay.ts";

function verbRoute(verb: Verb, summary: string, answer: RouteAnswer): Route {
  return {
    method: "post",
    path: `/api/v1/models/:model{.+}:${verb}`,
    readPath(path, method) {
      const address = readGenerateAddress(path, method);
      return address?.verb === verb ? { model: address.model } : undefined;
    },
    access: "key",
    summary,
    tag: "language",
    protocol: generateContent,
    body: GenerateContentRequestSchema,
    answers: { 200: answer },
    errors: RELAY_ERRORS,
    handle: (context) =>
      handleRelay(context, generateContent, {
        address: {
          model: context.params.model ?? "",
          stream: verb === "streamGenerateContent",
        },
      }),
  };
}

/** `POST /api/v1/models/{model}:generateContent`, `:streamGenerateContent` and `:countTokens`. */
export const generateContentRoutes: readonly Route[] = [
  verbRoute("generateContent", "Gemini's format, plain; the slash of the id may be percent-encoded", {
    description: "The answer, with its cost in `credit`",
    schema: GenerateContentAnswerSchema,
  }),
  verbRoute("streamGenerateContent", "Gemini's format, streamed, with or without `alt=sse`", {
    description: "The answer as server-sent events; the last one has usage and `credit`",
    stream: true,
  }),
  {
    ...verbRoute("countTokens", "The input tokens of a request in Gemini's format; free", {
      description: `The count. ${COUNT_NOTE}`,
      schema: CountTokensAnswerSchema,
    }),
    body: CountTokensRequestSchema,
    errors: COUNT_ERRORS,
    handle: (context) =>
      handleCount(context, generateContentCounter, { model: context.params.model ?? "", stream: false }),
  },
];
