import { useNavigate, useSearch } from "@tanstack/solid-router";
import { createMemo } from "solid-js";
import { nowSec } from "../design/now.ts";
import {
  drawnRange,
  intervalOf,
  type RangeName,
  rangeOf,
  type RangeSearch,
  type TimeRange,
} from "./range.ts";

/** The range of time that the address names, and how to change it. */
export function useRange() {
  const search = useSearch({ strict: false });
  const navigate = useNavigate();
  const named = (): RangeSearch => search();
  const range = createMemo(() => rangeOf(named(), nowSec()), undefined, {
    equals: (a: TimeRange, b: TimeRange) => a.from === b.from && a.to === b.to,
  });
  const change = (next: RangeSearch): void =>
    void navigate({
      to: ".",
      search: (before: Record<string, unknown>) => ({
        ...before,
        range: undefined,
        from: undefined,
        to: undefined,
        ...next,
      }),
    });
  return {
    range,
    named,
    choose: (name: RangeName) => change({ range: name }),
    /** Shows what was drawn over a chart of this range. */
    zoom: (from: number, to: number) => change(drawnRange({ from, to }, intervalOf(range()))),
  };
}
