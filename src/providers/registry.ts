import { google } from "./google/index.ts";
import { openai } from "./openai/index.ts";
import type { ProviderDefinition } from "./provider.ts";

/** Every provider that is built in. A further one is a folder and a line here, or a section of switchyard.yaml. */
export const PROVIDERS: readonly ProviderDefinition[] = [openai, google];
