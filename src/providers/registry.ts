import { anthropic } from "./anthropic/index.ts";
import { ark } from "./ark/index.ts";
import { dashscope } from "./dashscope/index.ts";
import { deepseek } from "./deepseek/index.ts";
import { fal } from "./fal/index.ts";
import { groq } from "./groq/index.ts";
import { midjourney } from "./midjourney/index.ts";
import { mistral } from "./mistral/index.ts";
import { moonshot } from "./moonshot/index.ts";
import { google } from "./google/index.ts";
import { openai } from "./openai/index.ts";
import { openrouter } from "./openrouter/index.ts";
import { wavespeed } from "./wavespeed/index.ts";
import { xai } from "./xai/index.ts";
import { zai } from "./zai/index.ts";
import type { ProviderDefinition } from "./provider.ts";

export { createSandbox, sandboxRoutes } from "./sandbox/index.ts";
export { SANDBOX } from "./sandbox/name.ts";

/** Every vendor that is built in. A further one is a folder and a line here, or a section of switchyard.yaml. */
export const PROVIDERS: readonly ProviderDefinition[] = [
  openai,
  anthropic,
  ark,
  dashscope,
  deepseek,
  fal,
  google,
  groq,
  midjourney,
  mistral,
  moonshot,
  openrouter,
  wavespeed,
  xai,
  zai,
];
