const TEXT =
  "You are the assistant of a small online shop. Answer in the customer's language, name the order's number, and do not promise a date that the carrier has not confirmed. When a parcel is late, say what is known of it and what the customer can do now. ";
const QUESTION =
  "My order 20931 was to come last Tuesday, and the tracking page has said “in transit” since then. Can you tell me where it is, and what I can do if it does not come before the weekend?";

/** A chat completion's body of about 1 KB: a system text, a turn that was answered, and a question. */
export function chatBody(model: string, more: Readonly<Record<string, unknown>> = {}): Uint8Array {
  const messages = [
    { role: "system", content: TEXT.repeat(2).trim() },
    { role: "user", content: "Hello! Is this the right place for a question about a delivery?" },
    { role: "assistant", content: "It is. Please tell me the number of your order and what happened." },
    { role: "user", content: QUESTION },
  ];
  const settings = { max_completion_tokens: 256, user: "customer-4711" };
  return Buffer.from(JSON.stringify({ model, messages, ...settings, ...more }));
}
