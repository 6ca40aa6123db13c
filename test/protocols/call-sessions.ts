import type { Random } from "./agent-sessions.ts";

// Chat completions of an agent that calls tools and little else. Its sessions grow, part from one another, and go back.
// Now and then they have what the translation tells of, renames or refuses.

type Message = Readonly<Record<string, unknown>>;

/** Bodies of a session and of what parts from it, their steps among one another. */
export function callSessionBodies(modelId: string, random: Random, count: number): Uint8Array[] {
  const below = (most: number): number => Math.floor(random() * most);
  const begun: Message[] = [
    { role: "system", content: "You are a coding agent. ".repeat(60) },
    { role: "user", content: "Mend the tests. ".repeat(1 + below(100)) },
  ];
  const sessions: Message[][] = [begun];
  let calls = 0;
  const step = (session: Message[]): void => {
    const chance = random();
    if (chance < 0.05) sessions.push([...session]);
    else if (chance < 0.1) session.splice(Math.max(2, session.length - 1 - below(6)));
    else if (chance < 0.2) session.push({ role: "user", content: `Go on. ${calls}` });
    else if (chance < 0.215) session.push(ODD[below(ODD.length)]?.(String(calls)) as Message);
    const made = Array.from({ length: 1 + below(2) }, () => `call_${(calls += 1)}`);
    const id = (own: string): string => (random() < 0.003 ? "call_1" : random() < 0.003 ? `${own}.a` : own);
    const ids = made.map(id);
    session.push({
      role: "assistant",
      content: random() < 0.5 ? null : `I read it. ${calls}`,
      tool_calls: ids.map((one) => ({
        id: one,
        type: "function",
        function: { name: "read", arguments: JSON.stringify({ path: `/src/${one}`, offset: calls }) },
      })),
    });
    for (const one of random() < 0.2 ? ids.toReversed() : ids)
      if (random() < 0.995)
        session.push({ role: "tool", tool_call_id: one, content: `${one} has this. `.repeat(below(60)) });
  };
  return Array.from({ length: count }, () => {
    const session = sessions[below(sessions.length)] as Message[];
    // The same request comes again where an answer was lost.
    if (random() < 0.9) step(session);
    const cut = random() < 0.05 ? session.slice(0, -1) : session;
    const body = { model: modelId, max_tokens: 1_000, messages: cut, tools: TOOLS };
    return new TextEncoder().encode(JSON.stringify(body));
  });
}

const TOOLS = Array.from({ length: 4 }, (_, i) => ({
  type: "function",
  function: {
    name: i === 0 ? "read" : `tool_${i}`,
    description: "Reads a file from the disk, from an offset on. ".repeat(10),
    parameters: { type: "object", properties: { path: { type: "string" } } },
  },
}));

const PIXEL =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** Messages that are written in another way, told of, or refused. */
const ODD: readonly ((mark: string) => Message)[] = [
  (mark) => ({ role: "system", content: `Be brief. ${mark}` }),
  (mark) => ({ role: "assistant", content: `Done. ${mark} ` }),
  () => ({ role: "assistant", content: "" }),
  () => ({ role: "assistant", content: " " }),
  (mark) => ({ role: "assistant", content: "", reasoning_content: `Why ${mark}` }),
  () => ({
    role: "user",
    content: [
      { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}`, detail: "high" } },
      { type: "text", text: "Look." },
    ],
  }),
  () => ({
    role: "assistant",
    content: "Here.",
    images: [{ type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } }],
  }),
  (mark) => ({
    role: "user",
    content: [{ type: "text", text: `Keep ${mark}`, cache_control: { type: "ephemeral" } }],
  }),
  () => ({ role: "user", content: [{ type: "input_audio", input_audio: { data: "AAAA", format: "wav" } }] }),
  (mark) => ({ role: "tool", tool_call_id: `call_${mark}`, content: "once more" }),
];
