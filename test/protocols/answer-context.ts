import type { AnswerContext } from "../../src/protocols/protocol.ts";

/** What an answer is read against, of a provider whose bytes are trusted as they are. */
export const ANSWER_CONTEXT: AnswerContext = {
  model: "v/m",
  native: true,
  padding: [],
  secrets: [],
  requestId: "req_1",
  nowSec: 1_700_000_000,
  choices: 1,
  expectedInput: 1,
};
