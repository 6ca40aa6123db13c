import type { Assets } from "../../assets/assets.ts";
import type { Limiter } from "../../limits/limiter.ts";
import { checkCancelled } from "../media/task.ts";
import { readStore } from "../store-read.ts";
import type { AccountView, AccountAdmin } from "./accounts.ts";
import type { KeyAdmin, KeyView, KeyWithCredit } from "./keys.ts";
import { closeAccount, type ClosingParts } from "./closing.ts";
import { readStatus, type StatusParts, type StatusView } from "./status.ts";
import { readTask, type TaskDetail } from "./task.ts";
import { notFound } from "./views.ts";

/** A key as it is shown alone. */
export interface KeyDetail extends KeyWithCredit {
  /** What this process has counted in the last minute, and runs now; null where there is no limit. */
  readonly limits_used: KeyView["limits"];
}

/** The operator's use cases that need more than the books: tasks and their files, and the whole gateway. */
export interface Operations {
  /** Closes an account for ever; one that is closed stays so. */
  closeAccount(id: string): Promise<AccountView>;
  /** A key, what it uses of its limits, and what it may still spend. */
  key(id: string): Promise<KeyDetail>;
  task(id: string): Promise<TaskDetail>;
  /** Cancels a pending task. Throws a 409 once it has begun, as its client would get. */
  cancelTask(id: string): Promise<void>;
  status(): Promise<StatusView>;
}

/** What they are made of. */
export interface OperationsParts extends ClosingParts {
  readonly admin: Pick<AccountAdmin & KeyAdmin, "account" | "key">;
  readonly limiter: Pick<Limiter, "usedOf">;
  readonly assets: Pick<Assets, "urlOf">;
  readonly status: StatusParts;
}

/** Operations over the books, the tasks and their files. */
export function createOperations(parts: OperationsParts): Operations {
  const { admin, limiter, database, read, tasks, assets, clock, status } = parts;
  return {
    async closeAccount(id) {
      await closeAccount(parts, id);
      return admin.account(id);
    },

    async key(id) {
      const view = await admin.key(id);
      const { requests_per_minute, tokens_per_minute, concurrency } = view.limits;
      const used = limiter.usedOf(id, {
        requestsPerMinute: requests_per_minute,
        tokensPerMinute: tokens_per_minute,
        concurrency,
      });
      return {
        ...view,
        limits_used: {
          requests_per_minute: used.requestsPerMinute,
          tokens_per_minute: used.tokensPerMinute,
          concurrency: used.concurrency,
        },
      };
    },

    async task(id) {
      const found = await read(() => readTask(database, id, { assets, steadyMs: clock.steadyMs() }));
      if (found === undefined) throw notFound("task", id);
      return found;
    },

    async cancelTask(id) {
      const row = await read(() =>
        database.selectFrom("tasks").select(["kind", "account_id"]).where("id", "=", id).executeTakeFirst(),
      );
      if (row === undefined) throw notFound("task", id);
      checkCancelled(await readStore(tasks.cancel(row.kind, id, row.account_id)));
    },

    status: () => read(() => readStatus(status)),
  };
}
