import { expect, test } from "bun:test";
import { GatewayError } from "../core/errors.ts";
import { encodeError as encodeChat } from "./chat-completions/error-body.ts";
import { encodeError as encodeGenerate } from "./generate-content/error-body.ts";
import { encodeError as encodeMessages } from "./messages/error-body.ts";

test("an error's code stands where each format has room for one, and its type where it has none", () => {
  const error = new GatewayError("invalid_request_error", "No such model.", { code: "model_not_found" });
  expect(encodeChat(error)).toMatchObject({
    error: { type: "invalid_request_error", code: "model_not_found" },
  });
  expect(encodeMessages(error, "req_1")).toMatchObject({
    error: { type: "invalid_request_error", code: "model_not_found" },
  });
  expect(encodeGenerate(error)).toMatchObject({
    error: {
      code: 400,
      details: [
        {
          "@type": "type.googleapis.com/google.rpc.ErrorInfo",
          reason: "MODEL_NOT_FOUND",
          domain: "switchyard",
        },
      ],
    },
  });
  expect(encodeChat(new GatewayError("auth_error", "No."))).toMatchObject({ error: { code: "auth_error" } });
});
