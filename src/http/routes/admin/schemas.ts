import { type TSchema, Type } from "typebox";
import { ACCOUNT_STATUSES } from "../../../gateway/admin/accounts.ts";

const closed = { additionalProperties: false };
const NullableSeconds = Type.Union([Type.Integer({ minimum: 0, maximum: 253_402_300_799 }), Type.Null()], {
  description: "Unix time in seconds",
});
const Name = Type.String({ minLength: 1, maxLength: 200 });
const Models = Type.Union([Type.Array(Type.String({ minLength: 1 }), { maxItems: 1000 }), Type.Null()], {
  description: "Models the key may use; null for all",
});

const Budget = Type.Union([Type.Number(), Type.Null()], {
  description: "Credits the key may spend in all; null for no bound of its own",
});

const Limit = (description: string) =>
  Type.Union([Type.Integer({ minimum: 1, maximum: 1_000_000_000_000 }), Type.Null()], { description });
const LIMITS = {
  requests_per_minute: Limit("Requests in any 60 seconds; null for no limit"),
  tokens_per_minute: Limit("Tokens counted in any 60 seconds; null for no limit"),
  concurrency: Limit("Requests under way at once; null for no limit"),
};

/** Limits of a body: an absent one is not changed. */
const Limits = Type.Union([Type.Partial(Type.Object(LIMITS), closed), Type.Null()], {
  description: "What the key may use in a minute and at once; null for none of them",
});

const Routes = Type.Boolean({ description: "Whether its requests may ask for a route" });

/** Queries of lists. */
export const PAGE_QUERY: Readonly<Record<string, TSchema>> = {
  after: Type.String({ description: "`next` of the page before" }),
  limit: Type.Integer({ minimum: 1, maximum: 1000, default: 100 }),
};

export const AccountSchema = Type.Object(
  {
    id: Type.String(),
    name: Type.String(),
    status: Type.Enum([...ACCOUNT_STATUSES], { description: "`closed` is for ever" }),
    balance: Type.Number({ description: "Credits, held ones included" }),
    held: Type.Number({ description: "Credits set aside for requests under way" }),
    created_at: Type.Number({ description: "Unix time in seconds, to the millisecond" }),
  },
  { title: "Account" },
);

export const KeySchema = Type.Object(
  {
    id: Type.String(),
    account_id: Type.String(),
    name: Type.String(),
    hint: Type.String({ description: "Beginning and end of the key" }),
    models: Models,
    budget: Budget,
    limits: Type.Object(LIMITS),
    routes: Routes,
    spent: Type.Number({ description: "Credits the key was charged so far" }),
    held: Type.Number({ description: "Credits set aside for its requests under way" }),
    expires_at: NullableSeconds,
    revoked_at: NullableSeconds,
    created_at: Type.Integer(),
  },
  { title: "Key" },
);

const Used = Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]);

export const KeyDetailSchema = Type.Object(
  {
    ...KeySchema.properties,
    limits_used: Type.Object(
      { requests_per_minute: Used, tokens_per_minute: Used, concurrency: Used },
      {
        description:
          "What the process that answers has counted in the last 60 seconds, and has under way; null without such " +
          "a limit. Each process counts for itself",
      },
    ),
    available: Type.Object(
      {
        amount: Type.Number({ description: "In credits" }),
        bound: Type.Enum(["balance", "budget"], { description: "Which of the two is less" }),
      },
      {
        description:
          "What its next request may hold: the account's balance less what is held, or what is left of the " +
          "key's budget",
      },
    ),
  },
  { title: "KeyDetail" },
);

export const IssuedKeySchema = Type.Object(
  { ...KeySchema.properties, key: Type.String({ description: "The key itself; shown this once" }) },
  { title: "IssuedKey" },
);

export const EntrySchema = Type.Object(
  {
    id: Type.String(),
    kind: Type.String(),
    amount: Type.Number(),
    balance_after: Type.Union([Type.Number(), Type.Null()]),
    request_id: Type.Union([Type.String(), Type.Null()]),
    reason: Type.Union([Type.String(), Type.Null()]),
    created_at: Type.Integer(),
  },
  { title: "LedgerEntry" },
);

/** A page of `item`. */
export function pageSchema(item: TSchema): TSchema {
  return Type.Object({ data: Type.Array(item), next: Type.Union([Type.String(), Type.Null()]) });
}

export const NewAccountSchema = Type.Object({ name: Name }, closed);

export const CreditsSchema = Type.Object(
  {
    amount: Type.Number({ description: "Credits to give; negative takes back" }),
    reason: Type.String({ minLength: 1, maxLength: 500 }),
    idempotency_key: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
  },
  closed,
);

/** What a key may and for how long, as far as it is said. */
const KEY_TERMS = {
  models: Type.Optional(Models),
  budget: Type.Optional(Budget),
  limits: Type.Optional(Limits),
  routes: Type.Optional(Routes),
  expires_at: Type.Optional(NullableSeconds),
};

export const NewKeySchema = Type.Object({ account_id: Type.String(), name: Name, ...KEY_TERMS }, closed);

export const KeyChangeSchema = Type.Object({ name: Type.Optional(Name), ...KEY_TERMS }, closed);
