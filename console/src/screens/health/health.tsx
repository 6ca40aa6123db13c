import { Show } from "solid-js";
import { useQuery } from "../../api/query.ts";
import { Badge } from "../../design/badge.tsx";
import { Columns, Page } from "../../design/layout.tsx";
import { AuditPanel } from "./audit-panel.tsx";
import { statusQuery } from "./reads.ts";
import { RoutesPanel } from "./routes-panel.tsx";
import { GatewayPanel, ProvidersPanel, SettingsPanel } from "./status-panels.tsx";

/** Can I trust it? */
export function Health() {
  const status = useQuery(() => statusQuery);
  return (
    <Page
      title="Health"
      aside={
        <Show when={status.isRefetchError}>
          <Badge tone="bad">Not refreshed: the gateway cannot be read</Badge>
        </Show>
      }
    >
      <Columns>
        <GatewayPanel status={status} />
        <ProvidersPanel status={status} />
      </Columns>
      <AuditPanel status={status} />
      <RoutesPanel />
      <SettingsPanel status={status} />
    </Page>
  );
}
