import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { foldEvents } from "../../test/protocols/folded-events.ts";
import { finish, part, start } from "../../test/protocols/chat-events.ts";
import { runsOf } from "../../test/runs.ts";
import type { ChatEvent, ChatRequest, ToolCallPart, ToolDefinition } from "../core/chat.ts";
import { backToCustom, customNames, noteCustom, withoutCustom } from "./custom-tools.ts";

const RUNS = runsOf(300);
const TOOL: ToolDefinition = {
  name: "patch",
  description: "Patches.",
  custom: { grammar: { syntax: "lark", definition: "start: /x/" } },
};
const CALL: ToolCallPart = { type: "tool_call", id: "a", name: "patch", input: 'say "hi"\n', custom: true };
const CHAT: ChatRequest = {
  turns: [
    { role: "user", parts: [{ type: "text", text: "Go." }] },
    { role: "assistant", parts: [CALL] },
  ],
  tools: [TOOL, { name: "f" }],
  stop: [],
  choices: 1,
};

/** What a client hears of calls whose JSON comes in these pieces. */
function heard(pieces: readonly string[], name = "patch"): readonly ChatEvent[] {
  const events: ChatEvent[] = [];
  const hear = backToCustom(noteCustom(undefined, ["patch"]), (event) => void events.push(event));
  const call = { begun: { type: "tool_call", id: "a", name }, deltas: pieces } as const;
  for (const event of [start, ...part(0, call), finish("tool_calls")]) hear(event);
  return events;
}

const textOf = (events: readonly ChatEvent[]): string =>
  events.flatMap((event) => (event.type === "delta" ? [event.text] : [])).join("");

/** A text in pieces that begin at these places. */
const cut = (text: string, places: readonly number[]): readonly string[] => {
  const ends = [0, ...places.map((place) => place % text.length).sort((a, b) => a - b), text.length];
  return ends.slice(1).map((end, i) => text.slice(ends[i], end));
};

describe("a custom tool where there is none", () => {
  test("is a function of one text, which is told its grammar", () => {
    const [tool, other] = withoutCustom(CHAT).tools;
    expect(tool).toMatchObject({
      name: "patch",
      parameters: { properties: { input: { type: "string" } }, required: ["input"] },
    });
    expect(tool).not.toHaveProperty("custom");
    for (const told of ["Patches.", "Raw text, not JSON", "start: /x/"])
      expect(tool?.description).toContain(told);
    expect(other).toBe(CHAT.tools[1] as ToolDefinition);
    expect(customNames(CHAT)).toEqual(["patch"]);
  });

  test("has its earlier calls as calls of that function", () => {
    const [, turn] = withoutCustom(CHAT).turns;
    expect(turn?.parts).toEqual([
      { type: "tool_call", id: "a", name: "patch", input: JSON.stringify({ input: CALL.input }) },
    ]);
  });

  test("leaves a request without any as it is", () => {
    const plain = { ...CHAT, tools: [{ name: "f" }], turns: CHAT.turns.slice(0, 1) };
    expect(withoutCustom(plain)).toBe(plain);
    const say = (): void => {};
    expect(backToCustom(undefined, say)).toBe(say);
  });
});

describe("what its model calls", () => {
  test("comes back as the text, however the JSON was cut", () => {
    fc.assert(
      fc.property(
        fc.string({ unit: "binary" }),
        fc.array(fc.nat(), { maxLength: 6 }),
        fc.boolean(),
        (text, places, ascii) => {
          const plain = JSON.stringify({ input: text });
          const json = ascii
            ? plain.replaceAll(
                /[\u0080-\uffff]/g,
                (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
              )
            : plain;
          const events = heard(cut(json, places));
          expect(textOf(events)).toBe(text);
          if (ascii && text.isWellFormed())
            for (const event of events)
              if (event.type === "delta") expect(event.text.isWellFormed()).toBe(true);
          expect(foldEvents(events).choices.get(0)).toBeDefined();
        },
      ),
      RUNS,
    );
  });

  test("is told while it comes", () => {
    const deltas = heard(['{ "input": "one', " two", '"}']).flatMap((event) =>
      event.type === "delta" ? [event.text] : [],
    );
    expect(deltas).toEqual(["one", " two"]);
  });

  test("in another form than it was told is its only text, else all that was written", () => {
    expect(textOf(heard(['{"patch":"*** Begin"}']))).toBe("*** Begin");
    expect(textOf(heard(['{"a":1,"input":"x"}']))).toBe("x");
    expect(textOf(heard(['{"a":"x","b":"y"}']))).toBe('{"a":"x","b":"y"}');
    expect(textOf(heard(["*** Begin Patch"]))).toBe("*** Begin Patch");
    expect(textOf(heard(["{}"]))).toBe("");
    expect(textOf(heard([]))).toBe("");
  });

  test("a call of another tool stays what it is", () => {
    const events = heard(['{"input":"x"}'], "f");
    expect(textOf(events)).toBe('{"input":"x"}');
    expect(events[1]).toMatchObject({ part: { name: "f" } });
  });

  test("a call that is custom already stays so", () => {
    const events: ChatEvent[] = [];
    const hear = backToCustom(noteCustom({}, ["patch"]), (event) => void events.push(event));
    const call = {
      begun: { type: "tool_call", id: "a", name: "patch", custom: true },
      deltas: ["{x"],
    } as const;
    for (const event of part(0, call)) hear(event);
    expect(textOf(events)).toBe("{x");
  });
});
