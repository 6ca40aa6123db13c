import type { Recording } from "../upstream/recordings.ts";

/** Vendors whose members of a chunk are padding by their own documentation. */
const PADDING: Readonly<Record<string, readonly string[]>> = {
  openai: ["obfuscation"],
  azure: ["obfuscation"],
  mistral: ["p"],
};

/**
 * Who really answered. A few recordings are filed under the vendor whose address stood in the test, but the answer is
 * OpenRouter's. It names the provider that served it, and its reason in the model's own words.
 */
export function vendorOf(recording: Recording): string {
  if (recording.provider === "openai" && /"provider": ?"/.test(bodyText(recording))) return "openrouter";
  return recording.provider;
}

/** Padding in the recording's format that the gateway takes out; a relay of Responses leaves it in. */
export function paddingOf(recording: Recording): readonly string[] {
  return recording.protocol === "chat-completions" ? (PADDING[vendorOf(recording)] ?? []) : [];
}

/** Where a recording stands apart from the folder it is filed in. */
export function isMisfiled(recording: Recording): boolean {
  return vendorOf(recording) !== recording.provider;
}

function bodyText({ response }: Recording): string {
  return typeof response.body === "string" ? response.body : JSON.stringify(response.body);
}
