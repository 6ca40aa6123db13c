import { useQuery } from "../../api/query.ts";
import { Columns, Page } from "../../design/layout.tsx";
import { NotCurrent } from "../../lists/parts.tsx";
import { AuditPanel } from "./audit-panel.tsx";
import { statusQuery } from "./reads.ts";
import { RoutesPanel } from "./routes-panel.tsx";
import { GatewayPanel, ProvidersPanel, SettingsPanel } from "./status-panels.tsx";

/** Can I trust it? */
export function Health() {
  const status = useQuery(() => statusQuery);
  return (
    <Page title="Health" aside={<NotCurrent of={status} />}>
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
