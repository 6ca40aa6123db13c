import { change } from "../../api/client.ts";

/** What operators' calls of the playground are charged to. */
export interface Playground {
  readonly account_id: string;
  readonly key_id: string;
  readonly budget: number | null;
  readonly spent: number;
}

/** Changes the account and the budget of the playground, as `change` does. */
export function putPlayground(body: Pick<Playground, "account_id" | "budget">): Promise<Playground> {
  const untyped = change as unknown as (method: "put", path: string, options: object) => Promise<Playground>;
  return untyped("put", "/console/api/playground", { body });
}
