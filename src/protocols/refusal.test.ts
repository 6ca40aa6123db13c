import { describe, expect, test } from "bun:test";
import { ANSWER_CONTEXT } from "../../test/protocols/answer-context.ts";
import type { GatewayError } from "../core/errors.ts";
import type { AnswerContext } from "./protocol.ts";
import { errorWithin, readErrorObject, readRefusal, type RefusalCause } from "./refusal.ts";

const SECRET = "very-secret-credential-0815";

const CONTEXT: AnswerContext = {
  ...ANSWER_CONTEXT,
  native: false,
  secrets: [SECRET],
  nowSec: Date.UTC(2026, 10, 21, 12) / 1_000,
};

function refuse(status: number, body: unknown, retryAfter: string | null = null) {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return readRefusal({ status, body: new TextEncoder().encode(text), retryAfter }, CONTEXT);
}

const BAD = "temperature is too hot";

describe("every vendor's shape of a 400 gives its sentence", () => {
  const shapes = [
    {
      vendor: "OpenAI",
      body: { error: { message: BAD, type: "invalid_request_error", param: "temperature", code: null } },
      param: "temperature",
    },
    { vendor: "xAI, a string", body: { code: "Client specified an invalid argument", error: BAD } },
    {
      vendor: "Mistral, no wrapper",
      body: { object: "error", message: BAD, type: "invalid_request_error", param: null, code: "1" },
    },
    {
      vendor: "Mistral, 422 details",
      status: 422,
      body: { detail: [{ loc: ["body"], msg: BAD, type: "value_error" }] },
    },
    { vendor: "FastAPI, one detail", body: { detail: BAD } },
    { vendor: "Gemini, a list", body: [{ error: { code: 400, message: BAD, status: "INVALID_ARGUMENT" } }] },
    {
      vendor: "DashScope, compatible",
      body: {
        error: { code: "invalid_parameter_error", message: BAD, param: null, type: "x" },
        request_id: "r",
      },
    },
    { vendor: "DashScope, native", body: { code: "InvalidParameter", message: BAD, request_id: "r" } },
    { vendor: "Zhipu, codes as text", body: { error: { code: "1210", message: BAD } } },
    { vendor: "MiniMax", body: { base_resp: { status_code: 2013, status_msg: BAD } } },
  ];
  for (const { vendor, body, status = 400, param } of shapes) {
    test(vendor, () => {
      const error = refuse(status, body);
      expect(error.kind as string).toBe("invalid_request_error");
      expect(error.message).toBe(`${BAD}. (v/m)`);
      expect(error.param).toBe(param);
    });
  }
});

test("a request that alone is more than the credential may use in a minute is too large, without the operator's names", () => {
  const message =
    "Request too large for model `llama-3.1` in organization `org_01kgg5588` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 7000, please reduce your message size.";
  for (const status of [413, 429]) {
    const error = refuse(status, { error: { message, type: "tokens", code: "rate_limit_exceeded" } });
    expect([error.kind as string, error.message.includes("org_")]).toEqual(["input_too_large", false]);
    expect([error.retryAfterSec, error.message.includes("waiting does not help")]).toEqual([undefined, true]);
    expect(error.operatorHint).toContain("tokens per minute");
    expect((error.cause as RefusalCause).beyondLimit).toBe(true);
  }
});

describe("what only the operator can mend is an alarm, also as a 400, and its sentence is shown to nobody", () => {
  const invalid = (message: string, code: string | null = null) => ({
    error: { message, type: "invalid_request_error", code },
  });
  const faults: readonly (readonly [string, number, unknown])[] = [
    ["Anthropic, disabled", 400, invalid("This organization has been disabled.")],
    [
      "Anthropic, its own limit",
      400,
      invalid("You have reached your specified API usage limits. You will regain access on 2026-12-01."),
    ],
    [
      "Anthropic, limit of a workspace",
      400,
      invalid("You have reached your specified workspace API usage limits."),
    ],
    ["Anthropic, balance", 400, invalid("Your credit balance is too low to access the Anthropic API.")],
    ["OpenAI, unverified", 400, invalid("Your organization must be verified to stream this model.")],
    ["Groq, restricted", 400, invalid("Organization has been restricted.", "organization_restricted")],
    [
      "Groq, the model is gone",
      400,
      invalid("The model `x` has been decommissioned.", "model_decommissioned"),
    ],
    [
      "Google, billing",
      400,
      {
        error: {
          message: "Gemini API free tier is not available in your country. Please enable billing.",
          status: "FAILED_PRECONDITION",
        },
      },
    ],
    ["a proxy that wants to be paid or told a password", 407, ""],
  ];
  for (const [name, status, body] of faults) {
    test(name, () => {
      const error = refuse(status, body);
      expect([error.kind as string, error.operatorFault]).toEqual(["upstream_error", true]);
      expect(error.message).toBe("The provider failed to answer this request.");
    });
  }

  test("the same words later in a sentence, which may be the caller's, are an ordinary 400", () => {
    const error = refuse(400, invalid("Bad text: 'Your organization must be verified'"));
    expect([error.kind as string, error.operatorFault]).toEqual(["invalid_request_error", false]);
  });
});

describe("what is meant decides, not the number alone", () => {
  const said = (message: string, more: object = {}): unknown => ({ error: { message, ...more } });
  const cases: readonly (readonly [string, number, unknown, string])[] = [
    ["OpenAI context", 400, said("x", { code: "context_length_exceeded" }), "input_too_large"],
    [
      "DeepSeek context",
      400,
      said("This model's maximum context length is 65536 tokens."),
      "input_too_large",
    ],
    ["Anthropic context", 400, said("prompt is too long: 210000 tokens > 200000 maximum"), "input_too_large"],
    ["413", 413, "", "input_too_large"],
    [
      "Azure moderation",
      400,
      said("x", { code: "content_filter", innererror: { code: "ResponsibleAIPolicyViolation" } }),
      "content_moderation",
    ],
    ["OpenAI moderation", 400, said("x", { code: "content_policy_violation" }), "content_moderation"],
    ["DashScope moderation", 400, said("x", { code: "data_inspection_failed" }), "content_moderation"],
    ["OpenRouter moderation", 403, said("Your chosen model requires moderation"), "content_moderation"],
    ["451", 451, "", "content_moderation"],
    ["422", 422, "", "invalid_request_error"],
    [
      "our key",
      401,
      said("Incorrect API key provided: sk-abc***", { code: "invalid_api_key" }),
      "upstream_error",
    ],
    [
      "our key as a 400",
      400,
      [{ error: { message: "API key not valid.", status: "INVALID_ARGUMENT" } }],
      "upstream_error",
    ],
    ["our permission", 403, said("x", { status: "PERMISSION_DENIED" }), "upstream_error"],
    ["our balance", 402, said("Insufficient Balance"), "upstream_error"],
    ["our quota", 429, said("x", { code: "insufficient_quota" }), "upstream_error"],
    ["the model is gone", 404, said("x", { code: "model_not_found" }), "upstream_error"],
    ["408", 408, "", "upstream_error"],
    ["409", 409, "", "upstream_error"],
    ["425", 425, "", "upstream_error"],
    ["429", 429, said("slow"), "overloaded_error"],
    ["500", 500, said("x"), "upstream_error"],
    ["502", 502, "<html>", "upstream_error"],
    ["503", 503, "", "overloaded_error"],
    ["504", 504, "", "timeout_error"],
    ["529", 529, said("x", { type: "overloaded_error" }), "overloaded_error"],
    ["999", 999, "", "upstream_error"],
  ];
  for (const [name, status, body, kind] of cases) {
    test(`${name} is ${kind}`, () => {
      const error = refuse(status, body);
      expect(error.kind as string).toBe(kind);
      // A provider's 401, 402 and 403 are never the client's.
      expect([401, 402, 403, 404, 429]).not.toContain(error.status);
    });
  }
});

describe("a 403 or 404 to a request that names what the provider stores is the request's own", () => {
  const google = (code: number, status: string, message: string) => ({ error: { code, status, message } });
  const anthropic = (type: string, message: string) => ({ type: "error", error: { type, message } });
  const openai = (message: string, code: string | null = null) => ({
    error: { message, type: "invalid_request_error", param: null, code },
  });
  const rows: readonly (readonly [name: string, status: number, body: unknown, whose: string])[] = [
    ["nothing said, 403", 403, {}, "request"],
    ["nothing said, 404", 404, {}, "request"],
    [
      "Google, no such file",
      403,
      google(
        403,
        "PERMISSION_DENIED",
        "You do not have permission to access the File abc or it may not exist.",
      ),
      "request",
    ],
    [
      "Google, no such cache",
      403,
      google(403, "PERMISSION_DENIED", "CachedContent not found (or permission denied)"),
      "request",
    ],
    ["Anthropic, no such file", 404, anthropic("not_found_error", "File not found: file_1"), "request"],
    ["OpenAI, no such file", 404, openai("No such File object: file-1"), "request"],
    [
      "Google, the model",
      404,
      google(404, "NOT_FOUND", "models/x is not found for API version v1beta"),
      "model",
    ],
    ["Anthropic, the model", 404, anthropic("not_found_error", "model: claude-9"), "model"],
    ["OpenAI, the model", 404, openai("The model `x` does not exist", "model_not_found"), "model"],
    [
      "OpenAI, the project's models",
      403,
      openai("Project `p` does not have access", "model_not_found"),
      "access",
    ],
    [
      "Google, the key",
      403,
      google(403, "PERMISSION_DENIED", "Your API key was reported as leaked. Please use another API key."),
      "credential",
    ],
    ["a key that is not known", 401, {}, "credential"],
  ];
  const faultOf = (status: number, body: unknown, namesStored: boolean) => {
    const bytes = new TextEncoder().encode(JSON.stringify(body));
    const error = readRefusal({ status, body: bytes, retryAfter: null }, { ...CONTEXT, namesStored });
    const { fault } = error.cause as RefusalCause;
    expect(error.operatorFault).toBe(fault !== undefined);
    return error.kind === "invalid_request_error" ? "request" : fault;
  };
  for (const [name, status, body, whose] of rows)
    test(`${name}: ${whose}`, () => {
      expect(faultOf(status, body, true)).toBe(whose as "request");
      const otherwise = whose === "request" ? (status === 403 ? "access" : "model") : whose;
      expect(faultOf(status, body, false)).toBe(otherwise as "access");
    });
});

describe("words in a message do not decide where the status and the code say otherwise", () => {
  const quoted = [
    "messages[0]: the text 'insufficient_quota' is no role",
    "Unknown parameter: 'billing'. See our billing page.",
    "tool content_filter is not defined",
    "Invalid value 'moderation' for 'mode'",
    "invalid schema: property 'rate_limit_exceeded' has no type",
    "Function f: 'prompt is too long' is no description",
    'Tool call validation failed: {"text":"maximum context length is 5 tokens"}',
    "the model_not_found enum is empty",
  ];
  for (const message of quoted) {
    test(message, () => {
      for (const status of [400, 422]) {
        const error = refuse(status, { error: { message, type: "invalid_request_error", code: null } });
        expect(error.kind as string).toBe("invalid_request_error");
        expect(error.operatorFault).toBe(false);
        expect(error.message).toStartWith(message.slice(0, 20));
      }
      expect(refuse(429, { error: { message } }).kind as string).toBe("overloaded_error");
      expect(refuse(500, { error: { message } }).kind as string).toBe("upstream_error");
      expect(refuse(401, { error: { message } })).toMatchObject({
        kind: "upstream_error",
        operatorFault: true,
      });
    });
  }
});

describe("faults that only the operator can mend are marked, and no others", () => {
  const cases: readonly (readonly [string, number, unknown, boolean])[] = [
    ["a wrong key", 401, {}, true],
    ["no balance", 402, {}, true],
    ["no permission", 403, {}, true],
    ["a model that is gone", 404, {}, true],
    ["a quota", 429, { error: { code: "insufficient_quota" } }, true],
    ["a quota as a type", 429, { error: { type: "insufficient_quota", code: null } }, true],
    ["a quota, Moonshot", 429, { error: { type: "exceeded_current_quota_error" } }, true],
    ["a balance, Zhipu", 429, { error: { code: "1113", message: "x" } }, true],
    [
      "a balance, MiniMax",
      200,
      { base_resp: { status_code: 1008, status_msg: "insufficient balance" } },
      true,
    ],
    ["a balance, DashScope", 400, { code: "Arrearage", message: "x" }, true],
    [
      "a balance, Anthropic",
      400,
      {
        type: "error",
        error: {
          type: "invalid_request_error",
          message: "Your credit balance is too low to access the Anthropic API.",
        },
      },
      true,
    ],
    ["a rate", 429, { error: { code: "rate_limit_exceeded" } }, false],
    [
      "a rate, Google",
      429,
      {
        error: {
          code: 429,
          status: "RESOURCE_EXHAUSTED",
          message: "You exceeded your current quota, please check your plan and billing details.",
        },
      },
      false,
    ],
    ["a rate, MiniMax", 200, { base_resp: { status_code: 1002, status_msg: "rate limit" } }, false],
    [
      "moderation as a 403",
      403,
      { code: "x", error: "Content violates usage guidelines. Failed check: BIO" },
      false,
    ],
    ["a 500", 500, {}, false],
    ["a 400", 400, { error: { message: BAD } }, false],
  ];
  for (const [name, status, body, marked] of cases) {
    test(name, () => expect(refuse(status, body).operatorFault).toBe(marked));
  }
});

test("Google's RetryInfo says when to try again, where no header does", () => {
  const body = [
    {
      error: {
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "16.2s" }],
      },
    },
  ];
  expect(refuse(429, body).retryAfterSec).toBe(17);
  expect(refuse(429, body, "3").retryAfterSec).toBe(3);
});

describe("a body that says nothing still gives a sentence", () => {
  for (const body of [
    "",
    "<html><body>Bad</body></html>",
    "null",
    "[]",
    "[[]]",
    '"x"',
    "5",
    "{}",
    '{"error":{}}',
    '{"error":{"message":5}}',
    "\u0000",
  ]) {
    test(JSON.stringify(body), () => {
      expect(refuse(400, body).message).toBe("The provider refused the request as invalid.");
      expect(refuse(500, body).message).not.toContain("html");
    });
  }
});

describe("what must not be shown is not", () => {
  const leaks = [
    `the key ${SECRET} is not allowed`,
    `the key ${SECRET.slice(0, 10)}… is not allowed`,
    "use sk-abcdefgh1234",
    "Bearer abc",
    "header xai-AbCdEf123456 refused",
    `blob ${"QUJD".repeat(30)}`,
  ];
  for (const message of leaks) {
    test(message.slice(0, 40), () => {
      expect(refuse(400, { error: { message } }).message).toBe(
        "The provider refused the request as invalid.",
      );
    });
  }

  test("control characters, and more than 500 of the rest", () => {
    const { message } = refuse(400, { error: { message: `a\r\nset-cookie: x\u0000${"y ".repeat(5_000)}` } });
    expect(message).toMatch(/^a set-cookie: x [y ]+\. \(v\/m\)$/);
    expect(message.length).toBeLessThan(520);
  });

  test("the provider's words where its failure is no fault of the request", () => {
    for (const status of [401, 403, 404, 429, 500, 503, 504]) {
      const error = refuse(status, { error: { message: "internal host db-7 at 10.0.0.3" } });
      expect(error.message).not.toContain("db-7");
      // The cause goes to the log, where no text of a provider belongs: it may quote the prompt.
      expect((error.cause as Error).message).not.toContain("db-7");
    }
  });

  test("a param that holds our credential", () => {
    expect(refuse(400, { error: { message: BAD, param: SECRET } }).param).toBeUndefined();
  });
});

describe("Retry-After is between 1 and 60 seconds", () => {
  const cases = [
    ["1", 1],
    ["2.3", 3],
    ["60", 60],
    ["999999999", 60],
    ["0", 1],
    ["-5", 1],
    ["Wed, 21 Oct 2015 07:28:00 GMT", 1],
    ["Sat, 21 Nov 2026 12:00:07 GMT", 7],
    ["Mon, 21 Dec 2026 12:00:00 GMT", 60],
    ["soon", 1],
    ["", 1],
    [null, 1],
    ["1e9", 60],
    ["Infinity", 1],
  ] as const;
  for (const [header, seconds] of cases) {
    test(`${header} is ${seconds}`, () => expect(refuse(429, "", header).retryAfterSec).toBe(seconds));
  }
});

describe("an error within a good answer", () => {
  const cases: readonly (readonly [unknown, string])[] = [
    [{ message: "x", code: 429 }, "overloaded_error"],
    [{ message: "x", code: "503" }, "overloaded_error"],
    [{ message: "x", code: 502 }, "upstream_error"],
    [{ message: "x", type: "rate_limit_error" }, "overloaded_error"],
    [{ message: "x", type: "invalid_request_error" }, "invalid_request_error"],
    [{ message: "x", code: "server_error" }, "upstream_error"],
    [{ message: "x", code: 1026 }, "upstream_error"],
    ["boom", "upstream_error"],
    [5, "upstream_error"],
    [[], "upstream_error"],
  ];
  for (const [error, kind] of cases) {
    test(`${JSON.stringify(error)} is ${kind}`, () => {
      expect(readErrorObject(error, CONTEXT).kind as string).toBe(kind);
    });
  }

  const silent = [
    {
      error: { code: "data_inspection_failed", message: "Output may be inappropriate" },
      kind: "content_moderation",
    },
    { error: { code: "context_length_exceeded", message: "x" }, kind: "input_too_large" },
  ];
  for (const { error, kind } of silent) {
    test(`${error.code} without a status is ${kind}`, () => {
      expect(readErrorObject(error, CONTEXT).kind as string).toBe(kind);
    });
  }

  test("is found as error and as base_resp, and only where there is one", () => {
    expect(errorWithin({ error: "x" })).toBe("x");
    expect(errorWithin({ base_resp: { status_code: 1004, status_msg: "m" } })).toEqual({
      message: "m",
      type: "base_resp",
      code: 1004,
    });
    for (const good of [{}, { error: null }, { base_resp: { status_code: 0 } }, { base_resp: null }]) {
      expect(errorWithin(good)).toBeUndefined();
    }
  });
});

describe("the cause says what was meant, for whoever may try again", () => {
  const said = (error: GatewayError): unknown => {
    const { status, fault, retryAfterSec } = error.cause as RefusalCause;
    return { status, fault, retryAfterSec };
  };
  const refusals: readonly (readonly [string, number, unknown, string | null, object])[] = [
    ["a key", 401, "", null, { status: 401, fault: "credential" }],
    [
      "a key, as a 400",
      400,
      { error: { message: "API key not valid. Pass another." } },
      null,
      { status: 400, fault: "credential" },
    ],
    [
      "a quota, as a 429",
      429,
      { error: { code: "insufficient_quota" } },
      null,
      { status: 429, fault: "credential" },
    ],
    ["a model", 404, "", null, { status: 404, fault: "model" }],
    [
      "a model, as a 403",
      403,
      { error: { code: "model_not_found" } },
      null,
      { status: 403, fault: "access" },
    ],
    ["no permission", 403, {}, null, { status: 403, fault: "access" }],
    [
      "a model, as a 400",
      400,
      { error: { message: "Model Not Exist" } },
      null,
      { status: 400, fault: "model" },
    ],
    ["a pause", 503, "", "7", { status: 503, retryAfterSec: 7 }],
    ["no pause", 429, "", "soon", { status: 429 }],
    [
      "a status within a 200",
      200,
      { error: { code: 401, type: "x" } },
      null,
      { status: 401, fault: "credential" },
    ],
  ];
  for (const [name, status, body, header, meant] of refusals)
    test(name, () =>
      expect(said(refuse(status, body, header))).toEqual({
        fault: undefined,
        retryAfterSec: undefined,
        ...meant,
      }),
    );

  test("a code of an error without a status", () => {
    const meant = (type: string): unknown =>
      (readErrorObject({ type }, CONTEXT).cause as RefusalCause).status;
    expect(["rate_limit_error", "Throttling.RateQuota", "overloaded_error", "api_error"].map(meant)).toEqual([
      429, 429, 0, 0,
    ]);
  });
});

describe("the cause says whether signatures of earlier answers are refused", () => {
  const about = (status: number, error: object): boolean =>
    (refuse(status, { error }).cause as RefusalCause).aboutSignatures;
  const sentences = [
    ["Anthropic, signature", "messages.1.content.0: Invalid `signature` in `thinking` block"],
    ["Anthropic, redacted", "messages.3.content.0: Invalid `data` in `redacted_thinking` block"],
    ["Anthropic, without its path", "Invalid `signature` in `thinking` block"],
    ["Anthropic, none", "messages.1.content.0.thinking.signature: Field required"],
    ["Gemini, another's", "Corrupted thought signature."],
    [
      "Gemini, none",
      "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly.",
    ],
    [
      "Vertex, none",
      "Unable to submit request because function call `default_api:look` in the 2. content block is missing a `thought_signature`. Learn more.",
    ],
  ] as const;
  for (const [name, message] of sentences)
    test(name, () => {
      expect(about(400, { message, type: "invalid_request_error" })).toBe(true);
      expect(about(500, { message })).toBe(false);
      expect(about(400, { message: `Bad text: "${message}"` })).toBe(false);
    });

  test("OpenAI, by its code", () => {
    const error = {
      message: "The encrypted content could not be verified.",
      code: "invalid_encrypted_content",
    };
    expect([about(400, error), about(422, error)]).toEqual([true, false]);
  });

  test("not by another field that is required", () =>
    expect(about(400, { message: "messages.1.content.0.text: Field required" })).toBe(false));
});
