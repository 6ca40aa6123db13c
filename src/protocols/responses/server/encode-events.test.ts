import { describe, expect, test } from "bun:test";
import {
  finish,
  type Json,
  part,
  type Said,
  start,
  text,
  thought,
  toolCall,
} from "../../../../test/protocols/chat-events.ts";
import {
  eventsIn,
  itemsOf,
  KEY,
  RESPONSE_CONTEXT,
  RESPONSE_USAGE,
  responseStream,
  wholeResponse,
} from "../../../../test/protocols/response-events.ts";
import type { ChatEvent, FinishReason } from "../../../core/chat.ts";
import { GatewayError } from "../../../core/errors.ts";
import { openCarrier } from "../../carrier.ts";
import type { AnswerContext } from "../../protocol.ts";
import { wireRequest } from "../../../../test/protocols/wire-request.ts";
import { responses } from "../index.ts";
import { responsesServer } from "./index.ts";

const answer = (parts: readonly Said[], reason: FinishReason = "stop", refusal?: string): ChatEvent[] => [
  start,
  ...parts.flatMap((said, i) => part(i, said)),
  { type: "finish", choice: 0, reason, ...(refusal === undefined ? {} : { refusal }) },
];
const typesOf = (items: readonly Json[]): string[] => items.map(({ type }) => type);
const carriedBy = (item: Json): Json => openCarrier(item.encrypted_content, KEY);
/** The context of an answer to this request. */
const asking = (body: object): AnswerContext => ({
  ...RESPONSE_CONTEXT,
  echo:
    responsesServer.decodeRequest(responses.readRequest(wireRequest({ model: "v/m", input: "Go.", ...body })))
      .echo ?? {},
});
const BROKEN = new GatewayError("upstream_error", "It broke.");

describe("items", () => {
  test("are in the order in which the answer came", () => {
    const items = itemsOf(
      answer([
        thought("s1", "hm"),
        text("Look."),
        toolCall("a", "{}"),
        thought("s2", "so"),
        toolCall("b", "{}"),
      ]),
    );
    expect(typesOf(items)).toEqual(["reasoning", "message", "function_call", "reasoning", "function_call"]);
    expect(new Set(items.map(({ id }) => id)).size).toBe(5);
    for (const { id } of items) expect(id).toMatch(/^(rs|msg|fc)_[A-Za-z0-9]{24}$/);
  });

  test("texts with nothing between them are one, and one behind a call is another", () => {
    const items = itemsOf(answer([text("A"), text("B"), toolCall("a"), text("C")]));
    expect(items.map(({ content, arguments: said }) => content?.[0].text ?? said)).toEqual(["AB", "{}", "C"]);
    expect(items[0].content).toHaveLength(1);
  });

  test("parts that say nothing are none", () => {
    expect(itemsOf(answer([text(), thought(undefined), text("A")]))).toHaveLength(1);
  });

  test("thinking carries its text and its signature; without a signature its text", () => {
    const [signed, plain] = itemsOf(answer([thought("SIG", "hm"), thought(undefined, "so")]));
    expect(signed.summary).toEqual([{ type: "summary_text", text: "hm" }]);
    expect(carriedBy(signed)).toEqual({
      kind: "thinking",
      issuer: "anthropic",
      text: "hm",
      signature: "SIG",
    });
    expect(carriedBy(plain)).toEqual({ kind: "thinking", issuer: "anthropic", text: "so" });
  });

  test("what is hidden is an item with an empty summary", () => {
    const redacted: Said = { begun: { type: "redacted_thinking", data: "X", issuer: "anthropic" } };
    const items = itemsOf(answer([thought("SIG"), redacted, text("A")]));
    expect(items.slice(0, 2).map(({ summary }) => summary)).toEqual([[], []]);
    expect(items.slice(0, 2).map(carriedBy)).toEqual([
      { kind: "thinking", issuer: "anthropic", text: "", signature: "SIG" },
      { kind: "redacted", issuer: "anthropic", data: "X" },
    ]);
  });

  test("the signature of a call stands right before it, that of a text behind it", () => {
    const items = itemsOf(
      answer([
        { ...text("A"), signature: "L" },
        { ...toolCall("a", "{}"), signature: "N" },
      ]),
    );
    expect(typesOf(items)).toEqual(["message", "reasoning", "reasoning", "function_call"]);
    expect(carriedBy(items[1])).toMatchObject({ signature: "L", of: "last" });
    expect(carriedBy(items[2])).toMatchObject({ signature: "N", of: "next" });
  });

  test("an image is one of image generation", () => {
    const image: Said = { begun: { type: "image", mediaType: "image/png", data: "AAAA" }, signature: "S" };
    const [reasoning, item] = itemsOf(answer([image]));
    expect(carriedBy(reasoning)).toMatchObject({ signature: "S", of: "next" });
    expect(item).toMatchObject({ type: "image_generation_call", status: "completed", result: "AAAA" });
  });

  test("citations stand by characters of their own text", () => {
    const cited: Said = {
      ...text("B𝄞C"),
      citations: [
        { url: "https://a.example", start: 2, end: 3 },
        { url: "https://b.example", title: "b" },
      ],
    };
    const [, , message] = itemsOf(answer([text("A"), toolCall("a"), cited]));
    expect(message.content[0].annotations).toEqual([
      {
        type: "url_citation",
        start_index: 1,
        end_index: 2,
        url: "https://a.example",
        title: "https://a.example",
      },
      { type: "url_citation", start_index: 0, end_index: 3, url: "https://b.example", title: "b" },
    ]);
    const added = eventsIn(responseStream(answer([cited]))).filter(({ type }) =>
      type.endsWith("annotation.added"),
    );
    expect(added.map(({ annotation_index: at }) => at)).toEqual([0, 1]);
  });

  test("a refusal is a part of its message, in the words of the model or in those of its end", () => {
    const declined: Said = { begun: { type: "refusal" }, deltas: ["No", "."] };
    expect(itemsOf(answer([text("A"), declined]))[0].content[1]).toEqual({ type: "refusal", refusal: "No." });
    const response = wholeResponse(answer([text("A")], "content_filter", "Not this."));
    expect(response).toMatchObject({
      status: "incomplete",
      incomplete_details: { reason: "content_filter" },
    });
    expect(response.output[0].content[1]).toEqual({ type: "refusal", refusal: "Not this." });
  });
});

describe("calls come back as the caller's tools", () => {
  const fn = (name: string) => ({ type: "function", name, parameters: { type: "object" } });
  const called = (name: string, input: string, custom?: true): Said => ({
    begun: { type: "tool_call", id: "c", name, ...(custom === undefined ? {} : { custom }) },
    deltas: [input],
  });

  test("with the namespace and the bare name", () => {
    const context = asking({
      tools: [
        { type: "namespace", name: "a", tools: [fn("search")] },
        { type: "namespace", name: "b", tools: [fn("search")] },
      ],
    });
    const said = answer([called("b__search", "{}")]);
    const item = { type: "function_call", call_id: "c", namespace: "b", name: "search", arguments: "{}" };
    expect(itemsOf(said, context)[0]).toMatchObject(item);
    const events = eventsIn(responseStream(said, { context }));
    expect(events.find(({ type }) => type.endsWith("arguments.done"))).toMatchObject({ name: "search" });
    expect(events.find(({ type }) => type.endsWith("item.added")).item).toMatchObject({
      ...item,
      arguments: "",
    });
  });

  test("custom ones with their text as it is", () => {
    const [item] = itemsOf(answer([called("sql", 'SELECT "a\n";', true)]));
    expect(item).toMatchObject({
      type: "custom_tool_call",
      name: "sql",
      input: 'SELECT "a\n";',
      status: "completed",
    });
    expect(item.id).toMatch(/^ctc_/);
  });

  test("those that run at the caller's as the items that it knows", () => {
    const tools = ["shell", "apply_patch", "local_shell"].map((type) => ({ type }));
    const context = asking({ tools: [...tools, { type: "tool_search", execution: "client" }] });
    const [shell, patch, local, search, odd] = itemsOf(
      answer([
        called("shell", '{"commands":["ls"]}'),
        called("apply_patch", '{"type":"delete_file","path":"a"}'),
        called("local_shell", '{"command":["ls"]}'),
        called("tool_search", '{"query":"mail"}'),
        called("shell", "ls"),
      ]),
      context,
    );
    expect(shell).toMatchObject({
      type: "shell_call",
      call_id: "c",
      action: { commands: ["ls"], timeout_ms: null },
    });
    expect(patch).toMatchObject({ type: "apply_patch_call", operation: { type: "delete_file", path: "a" } });
    expect(local).toMatchObject({ type: "local_shell_call", action: { type: "exec", command: ["ls"] } });
    expect(search).toMatchObject({
      type: "tool_search_call",
      execution: "client",
      arguments: { query: "mail" },
    });
    // What the model got wrong is for the caller to tell it.
    expect(odd).toMatchObject({ type: "function_call", name: "shell", arguments: "ls" });
  });

  test("a call without arguments has an empty object, and a delta that says so", () => {
    const events = eventsIn(responseStream(answer([toolCall("a")], "tool_calls")));
    expect(events.filter(({ type }) => type.endsWith("arguments.delta")).map(({ delta }) => delta)).toEqual([
      "{}",
    ]);
    expect(events.at(-1).response.output[0].arguments).toBe("{}");
  });
});

describe("the response", () => {
  test("repeats the request, has usage, and says nothing of why a call ended it", () => {
    const context = asking({ store: false, metadata: { a: "b" }, temperature: 0.5 });
    const response = wholeResponse(answer([toolCall("a")], "tool_calls"), context);
    expect(response).toMatchObject({
      object: "response",
      status: "completed",
      model: "v/m",
      store: false,
      metadata: { a: "b" },
      temperature: 0.5,
      usage: RESPONSE_USAGE,
      error: null,
      incomplete_details: null,
    });
    expect(response.id).toMatch(/^resp_[A-Za-z0-9]{24}$/);
    expect(JSON.stringify(response)).not.toContain("finish");
  });

  test("an answer that was cut short is incomplete, and so is its last item", () => {
    const {
      status,
      incomplete_details: details,
      output,
    } = wholeResponse(answer([text("A"), toolCall("a", "{")], "length"));
    expect({ status, details }).toEqual({ status: "incomplete", details: { reason: "max_output_tokens" } });
    expect(output.map((item: Json) => item.status)).toEqual(["completed", "incomplete"]);
    expect(eventsIn(responseStream(answer([text("A")], "length"))).at(-1).type).toBe("response.incomplete");
  });

  test("an answer that its model broke off fails in every form", () => {
    const said = answer([text("A")], "error");
    expect(() => wholeResponse(said)).toThrow(GatewayError);
    expect(typesOf(eventsIn(responseStream(said))).slice(-2)).toEqual(["error", "response.failed"]);
  });

  test("a broken stream ends in the two events that every client reads, with what came till then", () => {
    const cut = [
      start,
      ...part(0, thought("s", "hm")),
      ...part(1, toolCall("a", '{"a"', ":1}")).slice(0, -1),
    ];
    const limited = new GatewayError("rate_limit_error", "Wait.");
    const [error, failed] = eventsIn(responseStream(cut, { broken: limited })).slice(-2);
    const words = { type: "rate_limit_exceeded", code: "rate_limit_exceeded", message: "Wait.", param: null };
    expect(error).toMatchObject({ code: "rate_limit_exceeded", message: "Wait.", param: null, error: words });
    expect(failed.response).toMatchObject({
      status: "failed",
      error: words,
      credit: 12,
      usage: RESPONSE_USAGE,
    });
    expect(failed.response.output).toMatchObject([
      { type: "reasoning", status: "completed" },
      { type: "function_call", status: "incomplete", arguments: '{"a":1}' },
    ]);
  });

  test("a context that is full is told by the word at which agents stop", () => {
    const broken = new GatewayError("input_too_large", "It is too long.");
    const [, , error, failed] = eventsIn(responseStream([], { broken }));
    expect([error.code, failed.response.error.code]).toEqual(Array(2).fill("context_length_exceeded"));
  });

  test("a stream that broke before it began is a whole one too", () => {
    expect(typesOf(eventsIn(responseStream([], { broken: BROKEN })))).toEqual([
      "response.created",
      "response.in_progress",
      "error",
      "response.failed",
    ]);
  });

  test("state stands in the end of its item alone", () => {
    const events = eventsIn(responseStream(answer([thought("s", "hm"), thought("t")])));
    const added = events.filter(({ type }) => type === "response.output_item.added");
    expect(added.map(({ item }) => "encrypted_content" in item)).toEqual([false, false]);
    const done = events.filter(({ type }) => type === "response.output_item.done");
    expect(done.map(({ item }) => carriedBy(item).signature)).toEqual(["s", "t"]);
  });
});

describe("a hand-over summary", () => {
  const context = asking({ input: [{ role: "user", content: "Go." }, { type: "compaction_trigger" }] });

  test("is exactly one compaction item, which holds the model's words", () => {
    const said = answer([thought("s", "hm"), text("So ", "far.")]);
    const [item, ...others] = itemsOf(said, context);
    expect(others).toEqual([]);
    expect(item).toMatchObject({ type: "compaction", id: expect.stringMatching(/^cmp_/) });
    expect(carriedBy(item)).toEqual({ kind: "compaction", text: "So far." });
    const events = eventsIn(responseStream(said, { context }));
    expect(typesOf(events)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.output_item.done",
      "response.completed",
    ]);
  });

  test("fails where the model has no words", () => {
    expect(() => wholeResponse(answer([toolCall("a")]), context)).toThrow(GatewayError);
  });
});

test("a second answer has no place", () => {
  expect(itemsOf([...answer([text("A")]), ...part(0, text("B"), 1), finish("stop", 1)])).toHaveLength(1);
});
