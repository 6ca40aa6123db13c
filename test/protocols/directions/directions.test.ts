import { describe, expect, test } from "bun:test";
import { TranslatedWay } from "../translated-way.ts";
import { type Format, NARROWED, SCHEMA } from "./asked.ts";
import { CALLERS } from "./callers.ts";
import { TARGETS } from "./targets.ts";

// What a request may ask for beside words, from a caller of each format to a provider of each other one. It is there in
// the provider's words, or a 400 names the caller's field, or what it lost is told.

const FORMATS = Object.keys(CALLERS) as readonly Format[];
const PAIRS = FORMATS.flatMap((from) => FORMATS.filter((to) => to !== from).map((to) => [from, to] as const));

describe.each(PAIRS)("from %s to %s", (from, to) => {
  const caller = CALLERS[from];
  const target = TARGETS[to];
  const [protocol, at] = target.provider();
  const way = new TranslatedWay(caller.id, [protocol, at]);
  // Claude binds by no bounds: it is told them in words, and the caller is told that.
  const isNarrow = to === "messages";

  test("a form of the answer binds, and what it lost is named", () => {
    const { up, warnings } = way.sent(caller.ask(caller.form));
    expect(target.formIn(up)).toEqual(isNarrow ? NARROWED : SCHEMA);
    expect(warnings.some((warning) => warning.includes("without minimum"))).toBe(isNarrow);
  });

  test("a tool's schema goes up, and what a strict one lost is named", () => {
    const { up, warnings } = way.sent(caller.ask(caller.tools));
    const isBound = isNarrow && caller.tools.tools[0].functionDeclarations === undefined;
    expect(target.toolIn(up)).toEqual(isBound ? NARROWED : SCHEMA);
    expect(warnings.some((warning) => warning.includes("without minimum"))).toBe(isBound);
  });

  test("a function without a name is refused where it stands", () => {
    expect(way.refusalOf(caller.ask(caller.nameless.body))[0]).toBe(caller.nameless.field);
  });

  test("a name that the provider does not take is refused where it stands", () => {
    const tools = JSON.parse(JSON.stringify(caller.tools).replace('"name":"f"', '"name":"a b"'));
    expect(way.refusalOf(caller.ask(tools))[0]).toBe(caller.nameless.field);
  });

  const { stop, choices } = caller;
  if (stop === undefined)
    test("stop sequences are no field of the caller's format", () => {
      expect(way.refusalOf(caller.ask({ stop: ["END"] }))[0]).toBe("stop");
    });
  else
    test("stop sequences go up, or end the answer here where the provider has none", () => {
      const { up, context } = way.sent(caller.ask(stop));
      const isHere = to === "responses";
      expect(target.stopIn(up)).toEqual(isHere ? undefined : ["END"]);
      const answer = way.plain(target.answer({ text: "One END two." }), context);
      expect(caller.textIn(answer)).toBe(isHere ? "One " : "One END two.");
      if (from === "messages" && isHere)
        expect(answer).toMatchObject({ stop_reason: "stop_sequence", stop_sequence: "END" });
    });

  if (choices !== undefined)
    test("several answers are asked for, or refused by name", () => {
      const body = caller.ask(choices.body);
      const { choicesIn } = target;
      if (choicesIn === undefined) expect(way.refusalOf(body)[0]).toBe(choices.field);
      else expect(choicesIn(way.sent(body).up)).toBe(2);
    });

  for (const [medium, { part, field }] of Object.entries(caller.media))
    test(`of ${medium}: it is there, or refused where it stands`, () => {
      const body = caller.ask({}, [part]);
      const wanted = target.media[medium as keyof typeof target.media];
      if (wanted === undefined) expect(way.refusalOf(body)[0]).toStartWith(field);
      else expect(target.partsIn(way.sent(body).up)).toMatchObject([wanted]);
    });

  test("a search of the web is the provider's where it has a price, else refused by name", () => {
    const body = caller.ask(caller.search.body);
    expect(way.refusalOf(body)[0]).toBe(caller.search.field);
    const model = { ...at.model, prices: { web_search: { default: 1 } } } as unknown as typeof at.model;
    const priced = new TranslatedWay(caller.id, [protocol, { ...at, model }]);
    const { searchIn } = target;
    if (searchIn === undefined) expect(priced.refusalOf(body)[0]).toBe(caller.search.field);
    else expect(searchIn(priced.sent(body).up)).toMatch(/^(web_search|googleSearch)/);
  });

  test("another tool that would run at the provider is refused where it stands", () => {
    expect(way.refusalOf(caller.ask(caller.hosted.body))[0]).toBe(caller.hosted.field);
  });

  test("the pages of an answer are told where the caller's format has a word for them, and its text always", () => {
    const { context } = way.sent(caller.ask({}));
    const answer = way.plain(target.answer({ text: "Wet.", page: "https://a.example" }), context);
    expect(caller.textIn(answer)).toBe("Wet.");
    expect(caller.pagesIn?.(answer) ?? []).toEqual(caller.pagesIn === undefined ? [] : ["https://a.example"]);
  });

  test("an answer that the model declined to give says so, in the model's words", () => {
    const { context } = way.sent(caller.ask({}));
    const answer = way.plain(target.answer({ text: "I cannot.", declined: true }), context);
    expect(caller.declinedIn(answer)).toEqual(caller.declined);
  });
});
