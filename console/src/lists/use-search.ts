import { useNavigate, useSearch } from "@tanstack/solid-router";
import type { Search } from "./search.ts";

/** The members of the address that a list has, and how to change them. */
export function useListSearch<Name extends string>() {
  const search = useSearch({ strict: false }) as () => Search<Name>;
  const navigate = useNavigate();
  const change = (next: Search<Name>): void =>
    void navigate({
      to: ".",
      resetScroll: false,
      search: (before: Record<string, unknown>) => ({ ...before, ...emptied(next) }),
    });
  return { search, change };
}

/** An empty text takes its member out of the address. */
function emptied(next: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(next).map(([name, value]) => [name, value === "" ? undefined : value]),
  );
}
