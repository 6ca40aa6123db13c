import type { Environment } from "../../src/environment.ts";
import { UPSTREAM_KEY } from "../gateway/gateway.ts";
import { type Answer, jsonAnswer } from "./answer.ts";
import { chatAnswer, chatStreamAnswer } from "./chat-bytes.ts";
import { startUpstreamDouble, type UpstreamDouble } from "./double.ts";
import { geminiPlain, geminiStream } from "./gemini-bytes.ts";
import { messageAnswer, messageStreamAnswer } from "./messages-bytes.ts";
import type { SeenRequest } from "./seen-request.ts";
import { strictGenerateContent } from "./strict-gemini.ts";
import { strictMessages } from "./strict-messages-format.ts";
import { strictChatCompletions, type StrictCheck } from "./strict.ts";
import { STRICT } from "./strict-profiles.ts";

/** Vendors that refuse what the real ones refuse, and answer all else with a few words. */
export interface StrictVendors {
  /** The variables that make them a gateway's own. */
  readonly environment: Environment;
  /** Base addresses by vendor. */
  readonly urls: Readonly<Record<VendorName, string>>;
  close(): Promise<void>;
}

type VendorName = keyof typeof VENDORS;

interface StrictVendor {
  readonly variable: string;
  readonly path: string;
  readonly strict: StrictCheck;
  readonly answer: (request: SeenRequest) => Answer;
}

const KEYS = { keys: [UPSTREAM_KEY] };

const isStreamed = (request: SeenRequest): boolean =>
  (request.json() as { stream?: unknown }).stream === true;

const chatVendor = (variable: string, profile: keyof typeof STRICT): StrictVendor => ({
  variable,
  path: "/v1",
  strict: strictChatCompletions({ ...STRICT[profile], ...KEYS }),
  answer: (request) => (isStreamed(request) ? chatStreamAnswer() : chatAnswer()),
});

const VENDORS = {
  openai: chatVendor("OPENAI", "openai"),
  dashscope: chatVendor("DASHSCOPE", "dashscope"),
  moonshot: chatVendor("MOONSHOT", "moonshot"),
  deepseek: chatVendor("DEEPSEEK", "deepseek"),
  zai: chatVendor("ZAI", "zhipu"),
  xai: chatVendor("XAI", "xai"),
  anthropic: {
    variable: "ANTHROPIC",
    path: "",
    strict: strictMessages(KEYS),
    answer: (request) => (isStreamed(request) ? messageStreamAnswer() : messageAnswer()),
  },
  google: {
    variable: "GEMINI",
    path: "",
    strict: strictGenerateContent(KEYS),
    answer: (request) => (request.target.includes(":stream") ? geminiStream() : geminiPlain()),
  },
} satisfies Readonly<Record<string, StrictVendor>>;

/** Starts a double for each. */
export async function startStrictVendors(): Promise<StrictVendors> {
  const doubles: UpstreamDouble[] = [];
  const environment: Record<string, string> = {};
  const urls: Record<string, string> = {};
  for (const [name, vendor] of Object.entries<StrictVendor>(VENDORS)) {
    const double = await startUpstreamDouble();
    double.handle((request) => count(request) ?? vendor.strict(request) ?? vendor.answer(request));
    doubles.push(double);
    urls[name] = `${double.url}${vendor.path}`;
    environment[`${vendor.variable}_API_KEY`] = UPSTREAM_KEY;
    environment[`${vendor.variable}_BASE_URL`] = `${double.url}${vendor.path}`;
  }
  return {
    environment,
    urls: urls as Record<VendorName, string>,
    close: async () => void (await Promise.all(doubles.map((double) => double.close()))),
  };
}

/** What a vendor's counting call says, which none of the checks is about. */
function count({ target }: SeenRequest): Answer | undefined {
  if (target.includes("/count_tokens")) return jsonAnswer(200, { input_tokens: 9 });
  return target.includes(":countTokens") ? jsonAnswer(200, { totalTokens: 9 }) : undefined;
}
