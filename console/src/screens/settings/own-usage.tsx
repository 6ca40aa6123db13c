import { Columns } from "../../design/layout.tsx";
import { intervalOf } from "../../shell/range.ts";
import { useRange } from "../../shell/use-range.ts";
import { RequestsChart, SpendChart } from "../overview/chart-panels.tsx";

/** What the key of a developer's session spends and calls in the page's range. */
export function OwnUsage(props: { readonly id: string }) {
  const { range, zoom } = useRange();
  const step = () => intervalOf(range());
  const whose = () => ({ key_id: props.id });
  return (
    <Columns>
      <SpendChart range={range()} step={step()} zoom={zoom} whose={whose()} />
      <RequestsChart range={range()} step={step()} zoom={zoom} whose={whose()} />
    </Columns>
  );
}
