import { expect, test } from "bun:test";
import { IMAGE_FORMATS } from "./media/media.ts";
import {
  CATEGORIES,
  EFFORTS,
  LISTED_PROTOCOLS,
  MODALITIES,
  MOST_CHAT_CHOICES,
  MOST_CHAT_STOPS,
  PROTOCOLS,
  ROUTE_ORDERS,
} from "./model.ts";

// Words of the interface, which clients send and are sent.

test("the categories of models, in the order in which they are listed", () => {
  expect(CATEGORIES.join()).toBe("language,image,video,audio,embedding");
});

test("the efforts of thinking, the least first", () => {
  expect(EFFORTS.join()).toBe("none,minimal,low,medium,high,xhigh,max");
});

test("the formats of requests, and what goes in and comes out", () => {
  expect(LISTED_PROTOCOLS.join()).toBe("compat_chat_completions,compat_messages,compat_generate_content");
  expect(PROTOCOLS.filter((id) => !LISTED_PROTOCOLS.some((listed) => listed === id))).toEqual([
    "compat_responses",
  ]);
  expect(MODALITIES.join()).toBe("text,image,audio,video,pdf");
  expect(IMAGE_FORMATS.join()).toBe("png,jpeg,webp");
});

test("the ways to choose among routes", () => {
  expect(ROUTE_ORDERS.join()).toBe("order,weight,cost,latency");
});

test("a chat completion has at most 128 choices and 16 stop sequences", () => {
  expect([MOST_CHAT_CHOICES, MOST_CHAT_STOPS]).toEqual([128, 16]);
});
