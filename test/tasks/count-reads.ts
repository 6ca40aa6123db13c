import type { KyselyPlugin, QueryId } from "kysely";
import type { Store } from "../../src/ledger/store.ts";

/** The same database, and how many of its queries have no result yet. A query that fails stays one of them. */
export function countReads(database: Store["database"]) {
  const underWay = new Set<QueryId>();
  const counting: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      underWay.add(queryId);
      return node;
    },
    async transformResult({ result, queryId }) {
      underWay.delete(queryId);
      return result;
    },
  };
  return { database: database.withPlugin(counting), underWay: () => underWay.size };
}
