import { type Answer, read } from "../../api/client.ts";
import { useQuery } from "../../api/query.ts";
import { sessionQuery } from "../../api/session.ts";

/** The account that an operator's runs are charged to, with what they have spent. */
export type Charged = NonNullable<Answer<"/console/api/playground">>;

/** What runs are charged to: the account that an operator has chosen, or the key of a developer. */
export function useCharged() {
  const session = useQuery(() => sessionQuery);
  const isOperator = (): boolean => session.data?.role === "operator";
  const charged = useQuery(() => ({
    queryKey: ["playground"],
    queryFn: ({ signal }: { signal: AbortSignal }) => read("/console/api/playground", { signal }),
    enabled: isOperator(),
  }));
  return {
    /** What an operator has chosen; `null` where that is nothing yet. */
    charged: (): Charged | null | undefined => (isOperator() ? charged.data : undefined),
    /** Whether an operator has to choose first. */
    isUnchosen: (): boolean => isOperator() && charged.data === null,
    /** The account of a developer's key. */
    account: () => session.data?.account ?? undefined,
  };
}
